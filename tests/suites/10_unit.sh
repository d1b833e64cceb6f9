#!/bin/sh
# Unit tests of the compiler and the planner, one line per test case.
set -u
# Full stacks at every allocation are for leaks in MPI's libraries, which these tests do not load: they cost minutes.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:fast_unwind_on_malloc=1"
"$TDSL_BUILD_DIR/bin/tdsl_unit_tests" --no-colors ${TDSL_TEST_FILTER:+"--test-case=*$TDSL_TEST_FILTER*"}
