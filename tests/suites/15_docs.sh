#!/bin/sh
# The documents against the repository.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_check.py" "$TDSL_TEST_FILTER"
