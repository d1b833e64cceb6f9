#!/bin/sh
# `--reproducible`: the same bits for every number of ranks and threads.
set -u
if [ "$TDSL_TEST_PRESET" != release ]; then
    exit 0
fi
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/reproducible.py" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER"
