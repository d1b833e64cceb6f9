#!/bin/sh
# The fuzzer of the frontend, for an hour, only with --long. Otherwise the unit tests replay what it found.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" = long ] || exit 0
case "fuzz/frontend" in
    *"$TDSL_TEST_FILTER"*) ;;
    *) exit 0 ;;
esac
if "$TDSL_SOURCE_DIR/tests/fuzz/run" 3600; then
    echo "PASS fuzz/frontend"
else
    echo "FAIL fuzz/frontend: inputs in build/fuzz/found"
fi
