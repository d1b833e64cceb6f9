#!/bin/sh
# The build time of programs: counts of kernels and their versions; with --long, times.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
long=""
if [ "$TDSL_TEST_MODE" = long ]; then long=--long; fi
# shellcheck disable=SC2086 # nothing is no word
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/budget/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long
