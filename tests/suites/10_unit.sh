#!/bin/sh
# Unit tests of the compiler and the planner, two processes at a time.
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
# Slices of the cases, two at a time: some take much longer than others.
slices=8
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
count=$("$tests" --no-colors --count ${exclude:+"--test-case-exclude=$exclude"} | sed -n 's/.*filters: *//p')
export tests exclude slices logs count
# shellcheck disable=SC2016 # expanded by the shell of each slice
seq 0 $((slices - 1)) | xargs -n 1 -P 2 sh -c '"$tests" --no-colors ${exclude:+"--test-case-exclude=$exclude"} \
    --first=$(($1 * count / slices + 1)) --last=$((($1 + 1) * count / slices)) >"$logs/$1" 2>&1 || exit 1' slice
status=$?
cat "$logs"/*
exit "$status"
