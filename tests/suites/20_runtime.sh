#!/bin/sh
# Tests of the runtime at 1, 2, 3 and 4 ranks, one line per test case and rank count. Tests independent of ranks
# (kernels, files, sparse blocks, options, simulated ranks) run on one.
set -u
status=0
# CI: counts above one take turns. With sanitizers, except in long mode, every case runs once, those that depend on ranks on two; files take turns.
turns() { /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/turns.py" 2 "$@"; }
counts="1 $(turns "2 4" 3)"
others=""
once=0
limit=180
kernels="*/kernels/*"
part=""
without_ranks="$kernels,*/io/*,*/sparse/sparse_test.cpp,*/app/cores_*,*/app/launch_check_*,*/app/limits_*,*/app/memory_*,*/app/number_format_*,*/app/options_*,*/app/panels_*,*/app/tile_entries_*"
if [ "$TDSL_TEST_MODE" = long ]; then
    # 20,000 simulated runs, once; 500 programs on real ranks.
    export TDSL_TEST_SIMULATIONS=1:5000 TDSL_TEST_SIZED=1:100 TDSL_TEST_PROGRAMS=1:170
    limit=1800
fi
if [ "$TDSL_TEST_PRESET" != release ]; then
    if [ "$TDSL_TEST_MODE" != long ]; then
        limit=1400
        counts="1 2"
        [ -n "$TDSL_TEST_FILTER" ] || once=1
        if [ -n "${TDSL_TEST_TURN:-}" ]; then
            # shellcheck disable=SC2046 # many files
            others=$(cd "$TDSL_SOURCE_DIR" && TDSL_TEST_TURN=$((TDSL_TEST_TURN + 1)) turns $(find tests/runtime -name '*_test.cpp' | sort) | sed 's/ /,*/g; s/^/,*/')
        fi
        export TDSL_TEST_PROGRAMS=1:6 TDSL_TEST_SIMULATIONS=1:5 TDSL_TEST_SIZED=1:1
    else
        export TDSL_TEST_PROGRAMS=1:40 TDSL_TEST_SIMULATIONS=1:300 TDSL_TEST_SIZED=1:20
    fi
elif [ "$TDSL_TEST_MODE" = quick ]; then
    counts="1 3"
    export TDSL_TEST_PROGRAMS=1:6 TDSL_TEST_SIMULATIONS=1:10
elif [ "$TDSL_TEST_MODE" != long ]; then
    export TDSL_TEST_SIMULATIONS=1:60
fi
run() {
    programs=${TDSL_TEST_PROGRAMS:-}
    # Random programs alternate: each runs at one number of ranks; with --long there are more, at every number.
    if [ -z "$programs" ]; then
        case "$ranks" in 2) programs=1:13 ;; 3) programs=14:27 ;; 4) programs=28:40 ;; *) programs=1:12 ;; esac
    fi
    files=$others only=""
    [ "$ranks" -eq 1 ] || files=$without_ranks$others
    [ "$once" -eq 0 ] || [ "$ranks" -ne 1 ] || only=${part:-${without_ranks#*,}}
    TDSL_TEST_PROGRAMS=$programs timeout --kill-after=5 "$limit" mpiexec -q -n "$ranks" "$TDSL_BUILD_DIR/bin/tdsl_runtime_tests" --no-colors \
        ${1:+"--test-case=$1"} ${large:+"--test-case-exclude=$large"} ${files:+"--source-file-exclude=$files"} ${only:+"--source-file=$only"}
    code=$?
    if [ "$code" -ne 0 ]; then
        status=1
    fi
    # 1 is doctest's code for failures, whose FAIL lines have been printed.
    if [ "$code" -gt 1 ]; then
        echo "FAIL runtime at $ranks: exit code $code (124: stopped after $limit s)"
    fi
}
# Products and reductions of large blocks, which spend nearly all time in BLIS or in elementwise checks.
large=""
[ "$TDSL_TEST_PRESET" = release ] || [ "$TDSL_TEST_MODE" = long ] || large="progress: BLIS calls*,progress: register-blocked*,sums of products: the kernel*,kernels: blocked reductions give*"
# With sanitizers half the time is spent on kernels; the other tests run concurrently.
beside=""
if [ "$once" -ne 0 ]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    (ranks=1 part=$kernels; run ""; exit "$status") >"$log" 2>&1 &
    beside=$!
fi
for ranks in $counts; do
    run "${TDSL_TEST_FILTER:+*$TDSL_TEST_FILTER*}"
done
if [ -n "$beside" ]; then
    wait "$beside" || status=1
    cat "$log"
fi
# Reduction trees need five ranks and more.
if [ "$TDSL_TEST_PRESET" = release ] && [ -z "$TDSL_TEST_FILTER" ]; then
    ranks=7
    export TDSL_TEST_PROGRAMS=1:12
    run "engine*"
fi
exit "$status"
