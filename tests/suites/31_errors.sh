#!/bin/sh
# Mistakes of users: exit codes, messages, nothing left behind.
set -u
limit=60
ranks=
if [ "$TDSL_TEST_PRESET" != release ]; then
    limit=180
    ranks="--ranks 3"
fi
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
# shellcheck disable=SC2086 # no ranks is no word
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/errors.py" --limit "$limit" $ranks --filter "$TDSL_TEST_FILTER"
