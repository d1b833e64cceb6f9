#!/bin/sh
# `bench kernels`, `bench sparse_programs` and the papers' sparse experiments at small sizes: the results of TDSL, NumPy
# or SciPy, and hand-written loops agree. Times are not checked.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
for comparison in $(/usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/turns.py" 3 kernels sparse_programs papers); do
    case "bench $comparison" in *"$TDSL_TEST_FILTER"*) ;; *) continue ;; esac
    case $comparison in
        papers) sizes="--tiny --only sparse" ;;
        *) sizes="--scale 0.001 --repeats 2" ;;
    esac
    # shellcheck disable=SC2086  # several options
    if "$TDSL_SOURCE_DIR/tools/bench/bench" "$comparison" --tdslc "$TDSLC" --pairs 1 $sizes; then
        echo "PASS bench $comparison"
    else
        echo "FAIL bench $comparison"
    fi
done
