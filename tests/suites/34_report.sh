#!/bin/sh
# --profile, --trace and the page of `tdslc report`, in headless Chromium if it is installed.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
long=""
[ "$TDSL_TEST_MODE" = long ] && long=--long
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/report/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long
