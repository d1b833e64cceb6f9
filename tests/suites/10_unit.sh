#!/bin/sh
# Unit tests of the compiler and the planner, in two processes, which halves their minutes.
set -u
# Nothing here loads MPI, whose leaks are recognised by full stacks.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:fast_unwind_on_malloc=1"
tests="$TDSL_BUILD_DIR/bin/tdsl_unit_tests"
if [ -n "$TDSL_TEST_FILTER" ]; then
    exec "$tests" --no-colors ${TDSL_TEST_FILTER:+"--test-case=*$TDSL_TEST_FILTER*"}
fi
half=$(($("$tests" --no-colors --count | sed -n 's/.*filters: *//p') / 2))
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$tests" --no-colors --last="$half" >"$log" 2>&1 &
"$tests" --no-colors --first="$((half + 1))"
second=$?
wait $!
first=$?
cat "$log"
[ "$first" -eq 0 ] && [ "$second" -eq 0 ]
