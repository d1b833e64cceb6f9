#!/bin/sh
# `bench kernels` and `bench sparse_programs` on small sizes: our programs, NumPy's or SciPy's, and the loops by hand agree. No time is asked.
set -u
[ "$TDSL_TEST_PRESET" = release ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
for comparison in kernels sparse_programs; do
    case "bench $comparison" in *"$TDSL_TEST_FILTER"*) ;; *) continue ;; esac
    if "$TDSL_SOURCE_DIR/tools/bench/bench" "$comparison" --tdslc "$TDSLC" --scale 0.001 --pairs 1 --repeats 2; then
        echo "PASS bench $comparison"
    else
        echo "FAIL bench $comparison"
    fi
done
