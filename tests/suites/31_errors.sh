#!/bin/sh
# Mistakes of users: exit codes, messages, nothing left behind.
set -u
limit=60
if [ "$TDSL_TEST_PRESET" != release ]; then
    limit=180
fi
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/errors.py" --limit "$limit" --filter "$TDSL_TEST_FILTER"
