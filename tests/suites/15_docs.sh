#!/bin/sh
# Checks the documents against the repository, and the format of the C++ files.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
status=0
case format in
    *"$TDSL_TEST_FILTER"*)
        if "$TDSL_SOURCE_DIR/tools/format" --check; then echo "PASS format"; else echo "FAIL format: tools/format mends it"; status=1; fi
        ;;
esac
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_check.py" "$TDSL_TEST_FILTER" || status=1
/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/docs_site.py" "$TDSL_TEST_FILTER" || status=1
exit "$status"
