#!/bin/sh
# Structural facts: equal plans of equal programs, bytes as predicted, the same random numbers and the same bits everywhere.
set -u
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/facts.py" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER"
