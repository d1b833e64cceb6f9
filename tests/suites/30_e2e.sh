#!/bin/sh
# Samples and end-to-end cases over ranks, tiles, threads, windows and delays, compared with `tdslc eval` and NumPy.
set -u
mode=$TDSL_TEST_MODE
limit=120
if [ "$TDSL_TEST_PRESET" != release ]; then
    mode=sanitizer
    limit=180
fi
# Executables of unchanged programs are cached between test runs, for a day.
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
find "$XDG_CACHE_HOME" -mindepth 2 -maxdepth 2 -mtime +0 -exec rm -rf {} + 2>/dev/null
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/run.py" --mode "$mode" --limit "$limit" --filter "$TDSL_TEST_FILTER"
