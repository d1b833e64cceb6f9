#!/bin/sh
# The first minutes: README's transcript, `tdslc new`, `--explain`, ranges of ranks, doctor, manual pages and completions.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/start/run.py" --tdslc "$TDSLC" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER"
