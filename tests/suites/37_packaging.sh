#!/bin/sh
# An installation of the release build, moved and used; with --long, the packages made of it.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
if [ "$TDSL_TEST_MODE" = long ]; then set -- --long; else set --; fi
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/packaging/run.py" --build "$TDSL_BUILD_DIR" --filter "$TDSL_TEST_FILTER" "$@"
