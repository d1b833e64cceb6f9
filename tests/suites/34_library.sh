#!/bin/sh
# Programs as libraries, called from C, Python and Fortran; directories of tiles. ThreadSanitizer: the callers are
# single-threaded.
set -u
sanitize=""
case $TDSL_TEST_PRESET in
    tsan) exit 0 ;;
    asan) sanitize="address,undefined" ;;
esac
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
status=0
[ -n "$sanitize" ] || /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/tensor_files.py" --filter "$TDSL_TEST_FILTER" || status=1
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/library.py" --sanitize "$sanitize" --filter "$TDSL_TEST_FILTER" || status=1
if [ -z "$sanitize" ] && [ "$TDSL_TEST_MODE" != quick ]; then
    /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/fortran.py" --mode "$TDSL_TEST_MODE" --filter "$TDSL_TEST_FILTER" || status=1
fi
exit "$status"
