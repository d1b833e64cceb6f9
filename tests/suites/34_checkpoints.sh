#!/bin/sh
# Interrupted programs resume.
set -u
limit=60
[ "$TDSL_TEST_PRESET" = release ] || limit=240
# ThreadSanitizer delays signals until a thread calls a library.
[ "$TDSL_TEST_PRESET" = tsan ] && exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/checkpoints.py" --limit "$limit" --filter "$TDSL_TEST_FILTER"
