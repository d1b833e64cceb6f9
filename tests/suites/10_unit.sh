#!/bin/sh
# Unit tests of the compiler and the planner, in two processes, which halves the time.
set -u
tests="$TDSL_BUILD_DIR/bin/tdsl_unit_tests"
# Random plans: fixed seed by default; long runs choose and print one.
[ "$TDSL_TEST_MODE" = long ] || export TDSL_TEST_SEED="${TDSL_TEST_SEED:-1}"
if [ -n "$TDSL_TEST_FILTER" ]; then
    exec "$tests" --no-colors ${TDSL_TEST_FILTER:+"--test-case=*$TDSL_TEST_FILTER*"}
fi
# Counting and searching at conclusive sizes, and the C++ compiler: in release only; other tests cover the code they
# call.
exclude=""
if [ "$TDSL_TEST_PRESET" != release ] && [ "$TDSL_TEST_MODE" != long ]; then
    exclude="fusion plans: pruned and exhaustive search*,column map: every rank count*,algebra oracle: diag(X + Y)*,algebra planner: no plan that*"
    exclude="$exclude,codegen sites: every recording place*,trees: where a rank asks*,plan/search: *five hundred variables*"
    exclude="$exclude,codegen emit: emitted code compiles*,codegen emit: loops and branches compile*,codegen emit stored: emitted code compiles*"
    exclude="$exclude,algebra rules: every rule holds*,passes: random loop nests*,homes: tensors on disk*,homes: a program that does not fit*"
    exclude="$exclude,growth: sums of many scalars*,plan work: 500 operations*,product of 10^6 cubes*"
fi
half=$(($("$tests" --no-colors --count ${exclude:+"--test-case-exclude=$exclude"} | sed -n 's/.*filters: *//p') / 2))
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$tests" --no-colors ${exclude:+"--test-case-exclude=$exclude"} --last="$half" >"$log" 2>&1 &
"$tests" --no-colors ${exclude:+"--test-case-exclude=$exclude"} --first="$((half + 1))"
second=$?
wait $!
first=$?
cat "$log"
[ "$first" -eq 0 ] && [ "$second" -eq 0 ]
