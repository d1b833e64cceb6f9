#!/bin/sh
# User errors: exit codes, messages, cleanup.
set -u
limit=60
slow=
if [ "$TDSL_TEST_PRESET" != release ]; then
    limit=180
    slow="--ranks 3"
    [ "$TDSL_TEST_MODE" = long ] || slow="$slow --every 40"
fi
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
if [ "$TDSL_TEST_MODE" = quick ] && [ -z "$TDSL_TEST_FILTER" ]; then slow="--ranks 3 --every 4"; fi
status=0
# shellcheck disable=SC2086 # several words, or none
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/errors.py" --limit "$limit" $slow --filter "$TDSL_TEST_FILTER" || status=1
# ThreadSanitizer delays signals until a thread calls a library.
[ "$TDSL_TEST_PRESET" = tsan ] || { [ "$TDSL_TEST_PRESET" != release ] && [ "$TDSL_TEST_MODE" != long ] && [ -z "$TDSL_TEST_FILTER" ]; } ||
    /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/endings.py" --limit "$limit" --filter "$TDSL_TEST_FILTER" || status=1
exit "$status"
