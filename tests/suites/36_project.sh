#!/bin/sh
# The source tree of `tdslc emit --project`: it is complete, and each part compiles as one file. Building it takes two
# minutes of CPU time, so only in long runs.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
chosen() { echo "$1" | grep -qF -e "$TDSL_TEST_FILTER"; }
code=0
if chosen project/names; then /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/project/names.py" || code=1; fi
if chosen project/layers; then /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/project/layers.py" || code=1; fi
if chosen project/rules; then /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/project/rules.py" || code=1; fi
if chosen project/tree; then /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/project/run.py" --tdslc "$TDSLC" || code=1; fi
if [ "$TDSL_TEST_MODE" = long ] && chosen project/builds; then
    /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/project/run.py" --long --tdslc "$TDSLC" || code=1
fi
exit "$code"
