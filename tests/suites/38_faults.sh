#!/bin/sh
# Alone: nothing is built beside it.
# Faults at random instants. ThreadSanitizer keeps signals back until a thread calls a library; with AddressSanitizer nothing can be loaded before it.
# CI injects the faults of one seed, so that a change is judged by what it changed; --long chooses one and prints it.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
faults="--count 20 --seed 7"
[ "$TDSL_TEST_MODE" = long ] && faults="--count 200"
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
# shellcheck disable=SC2086  # several options
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/faults.py" $faults --filter "$TDSL_TEST_FILTER"
