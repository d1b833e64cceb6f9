#!/bin/sh
# Tests of the runtime at 1, 2, 3 and 4 ranks, one line per test case and rank count. What knows nothing of ranks (kernels, files, sparse blocks,
# options, what simulates its ranks) runs on one.
set -u
status=0
# Sanitizers are slow: there two rank counts stand for all but in long mode.
counts="1 2 3 4"
limit=180
without_ranks="*/kernels_*,*/io_*,*/sparse_test.cpp,*/app_cores_*,*/app_launch_check_*,*/app_limits_*,*/app_number_format_*,*/app_options_*,*/app_panels_*,*/app_tile_entries_*"
if [ "$TDSL_TEST_MODE" = long ]; then
    # 20,000 simulated runs, once; 500 programs on real ranks.
    export TDSL_TEST_SIMULATIONS=1:5000 TDSL_TEST_SIZED=1:100 TDSL_TEST_PROGRAMS=1:170
    limit=1800
fi
if [ "$TDSL_TEST_PRESET" != release ]; then
    if [ "$TDSL_TEST_MODE" != long ]; then
        counts="1 3"
        export TDSL_TEST_PROGRAMS=1:12 TDSL_TEST_SIMULATIONS=1:12 TDSL_TEST_SIZED=1:2
        limit=800
    else
        export TDSL_TEST_PROGRAMS=1:40 TDSL_TEST_SIMULATIONS=1:300 TDSL_TEST_SIZED=1:20
    fi
elif [ "$TDSL_TEST_MODE" != long ]; then
    export TDSL_TEST_SIMULATIONS=1:60
fi
# With AddressSanitizer random programs and simulated ranks run by themselves, with short stack traces at every allocation:
# ten times faster, beside the others. Without whole traces leaks of MPI's cannot be told from ours; the others look for them.
random="engine: random programs agree*"
apart=""
if [ "$TDSL_TEST_PRESET" = asan ] && [ -z "$TDSL_TEST_FILTER" ]; then
    apart="engine: random programs*,engine: sized blocks in simulation,engine: random owner tables*,engine: what products send*,engine: what enters a node*,engine: the ranks of a node*,tile entries*,stored: in as little memory*,stored: the same on simulated*,stored ranks: tensors*"
fi
run() {
    programs=${TDSL_TEST_PROGRAMS:-}
    # Random programs take turns: each runs at one number of ranks; with --long there are more of them, at every number.
    if [ -z "$programs" ]; then
        case "$ranks" in 2) programs=1:13 ;; 3) programs=14:27 ;; 4) programs=28:40 ;; *) programs=1:12 ;; esac
    fi
    files=""
    [ "$ranks" -eq 1 ] || files=$without_ranks
    TDSL_TEST_PROGRAMS=$programs timeout --kill-after=5 "$limit" mpiexec -q -n "$ranks" "$TDSL_BUILD_DIR/bin/tdsl_runtime_tests" --no-colors \
        ${1:+"--test-case=$1"} ${exclude:+"--test-case-exclude=$exclude"} ${files:+"--source-file-exclude=$files"}
    code=$?
    if [ "$code" -ne 0 ]; then
        status=1
    fi
    # 1 is doctest's, and its FAIL lines have been printed.
    if [ "$code" -gt 1 ]; then
        echo "FAIL runtime at $ranks: exit code $code (124: stopped after $limit s)"
    fi
}
beside=""
if [ -n "$apart" ]; then
    beside_folder=$(mktemp -d)
    trap 'rm -rf "$beside_folder"' EXIT
    log=$beside_folder/log
    # Launchers beside each other need session folders of their own.
    ( status=0 exclude=""
      export ASAN_OPTIONS=fast_unwind_on_malloc=1:detect_leaks=0 OMPI_MCA_orte_tmpdir_base="$beside_folder"
      for ranks in $counts; do
          # One process simulates its ranks.
          if [ "$ranks" -eq 1 ]; then run "$apart"; else run "$random"; fi
      done
      exit "$status" ) >"$log" 2>&1 &
    beside=$!
fi
for ranks in $counts; do
    exclude=$apart
    run "${TDSL_TEST_FILTER:+*$TDSL_TEST_FILTER*}"
done
if [ -n "$beside" ]; then
    wait "$beside" || status=1
    cat "$log"
fi
# Trees take five ranks and more.
if [ "$TDSL_TEST_PRESET" = release ] && [ -z "$TDSL_TEST_FILTER" ]; then
    ranks=7 exclude=""
    export TDSL_TEST_PROGRAMS=1:12
    run "engine*"
fi
exit "$status"
