#!/bin/sh
# Planted bugs, one at a time: the random programs must find each. Only with --long; otherwise it is only checked that
# each can still be planted.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
case "property/planted" in
    *"$TDSL_TEST_FILTER"*) ;;
    *) exit 0 ;;
esac
if [ "$TDSL_TEST_MODE" = long ]; then
    exec "$TDSL_SOURCE_DIR/tests/property/planted.py"
fi
exec "$TDSL_SOURCE_DIR/tests/property/planted.py" --check
