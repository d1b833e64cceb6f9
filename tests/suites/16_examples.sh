#!/bin/sh
# Compiles and runs every example of the documents, or checks the message it demonstrates.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_examples.py" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER"
