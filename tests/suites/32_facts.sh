#!/bin/sh
# Structural facts: equal plans for equivalent programs, bytes as predicted, reproducible random numbers and bits.
set -u
mode=$TDSL_TEST_MODE
if [ "$TDSL_TEST_PRESET" != release ]; then
    mode=sanitizer
fi
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/facts.py" --mode "$mode" --filter "$TDSL_TEST_FILTER"
