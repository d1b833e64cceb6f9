#!/bin/sh
# `bench kernels`, `bench everyday`, `bench series`, `bench sparse_programs`, the papers' sparse experiments, some of `bench scaling` and of `bench regret`, and of `bench suite` where NPBench
# is, at small sizes: the results of TDSL, NumPy or SciPy, and hand-written loops, those of several numbers of ranks, and those of imposed decisions agree. Times are not checked.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
for comparison in $(/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/turns.py" 4 kernels sparse_programs papers scaling everyday series regret suite); do
    case "bench $comparison" in *"$TDSL_TEST_FILTER"*) ;; *) continue ;; esac
    case $comparison in
        papers) sizes="--tiny --only sparse" ;;
        scaling)
            sizes="--tiny --local --counts 1,3"
            for name in binary_network qr_indirect svd sparse_factorisation als_factorisation llama_layer largest csv; do sizes="$sizes --only $name"; done
            ;;
        everyday) sizes="--scale 0.01 --only rk4 --only cg" ;;
        regret) sizes="--scale 0.001 --repeats 2 --only kernels/attention --only transcribed/csr_for --only samples/kmeans" ;;
        suite)
            [ -d "${TDSL_NPBENCH:-$TDSL_SOURCE_DIR/../shared/npbench}/bench_info" ] || { echo "SKIP bench_suite without NPBench"; continue; }
            sizes="--tiny --peer none --only symm --only covariance --only trisolv"
            ;;
        series) sizes="--records 3 --mb 0.1" ;;
        *) sizes="--scale 0.001 --repeats 2" ;;
    esac
    # shellcheck disable=SC2086  # several options
    if "$TDSL_SOURCE_DIR/tools/bench/bench" "$comparison" --tdslc "$TDSLC" --pairs 1 $sizes; then
        echo "PASS bench $comparison"
    else
        echo "FAIL bench $comparison"
    fi
done
