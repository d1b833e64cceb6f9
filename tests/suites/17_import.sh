#!/bin/sh
# The importer of NumPy functions: snippets, refusals, its command line and random programs.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
case "$TDSL_TEST_MODE" in quick) count=10 every=16 ;; ci) count=10 every=8 ;; long) count=500 every=1 ;; esac
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/import/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" --generated "$count" --every "$every"
