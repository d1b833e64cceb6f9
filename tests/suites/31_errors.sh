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
status=0
# shellcheck disable=SC2086 # no ranks is no word
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/errors.py" --limit "$limit" $ranks --filter "$TDSL_TEST_FILTER" || status=1
# ThreadSanitizer keeps signals back until a thread calls a library.
[ "$TDSL_TEST_PRESET" = tsan ] ||
    /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/endings.py" --limit "$limit" --filter "$TDSL_TEST_FILTER" || status=1
exit "$status"
