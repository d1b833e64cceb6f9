#!/bin/sh
# `bench kernels` on small sizes: our programs, NumPy's and the loops by hand agree. No time is asked.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
case "bench kernels" in *"$TDSL_TEST_FILTER"*) ;; *) exit 0 ;; esac
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
if "$TDSL_SOURCE_DIR/tools/bench/bench" kernels --tdslc "$TDSLC" --scale 0.001 --pairs 1 --repeats 2; then
    echo "PASS bench kernels"
else
    echo "FAIL bench kernels"
fi
