#!/bin/sh
# The Python module: functions under jit, programs, the cache, magics, the lexer; with --long the wheel, types, and the importer's snippets.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
long=""
if [ "$TDSL_TEST_MODE" = long ]; then long=--long; fi
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/python/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long
