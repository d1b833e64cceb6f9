#!/bin/sh
# --picture and `tdslc plot`.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/pictures/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER"
