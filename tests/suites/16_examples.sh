#!/bin/sh
# Compiles and runs every example of the documents, or checks the message it demonstrates; evaluates the table of NumPy's lines.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
status=0
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_from_numpy.py" --tdslc "$TDSL_BUILD_DIR/bin/tdslc" --filter "$TDSL_TEST_FILTER" || status=1
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_examples.py" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER" || status=1
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_pages.py" --tdslc "$TDSL_BUILD_DIR/bin/tdslc" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER" || status=1
exit $status
