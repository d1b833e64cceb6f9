#!/bin/sh
# Unit tests of the compiler and the planner, one line per test case.
set -u
"$TDSL_BUILD_DIR/bin/tdsl_unit_tests" --no-colors ${TDSL_TEST_FILTER:+"--test-case=*$TDSL_TEST_FILTER*"}
