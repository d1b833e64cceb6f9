#!/bin/sh
# Alone: nothing is built concurrently. Faults at random times. Excluded: ThreadSanitizer, which delays signals until a
# thread calls a library, and AddressSanitizer, before which no library can be preloaded. CI uses a fixed seed, so that
# results depend on the change only; --long chooses one and prints it.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
faults="--count 20 --seed 7"
[ "$TDSL_TEST_MODE" = long ] && faults="--count 200"
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
# shellcheck disable=SC2086  # several options
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/faults.py" $faults --filter "$TDSL_TEST_FILTER"
