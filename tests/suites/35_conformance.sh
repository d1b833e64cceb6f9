#!/bin/sh
# The language page, sentence by sentence: the evaluator compared with NumPy, and compiled programs with the evaluator.
set -u
mode=$TDSL_TEST_MODE
limit=60
case "$TDSL_TEST_PRESET" in
    release) ;;
    tsan) exit 0 ;;
    *) mode=sanitizer limit=180 ;;
esac
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec "$TDSL_SOURCE_DIR/tests/conformance/run.py" --mode "$mode" --limit "$limit" --filter "$TDSL_TEST_FILTER"
