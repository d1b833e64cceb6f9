#!/bin/sh
# Samples and end-to-end cases over ranks, tiles, threads, windows and delays: against `tdslc eval` and NumPy.
set -u
mode=$TDSL_TEST_MODE
limit=60
if [ "$TDSL_TEST_PRESET" != release ]; then
    mode=sanitizer
    limit=180
fi
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/run.py" --mode "$mode" --limit "$limit" --filter "$TDSL_TEST_FILTER"
