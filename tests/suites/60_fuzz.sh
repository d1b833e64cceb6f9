#!/bin/sh
# Damaged programs through the whole compiler, for some seconds; with --long for minutes, and the frontend fuzzer for an
# hour. The unit tests replay earlier findings.
set -u
wanted() {
    case "$1" in
        *"$TDSL_TEST_FILTER"*) return 0 ;;
        *) return 1 ;;
    esac
}
result() {
    if [ "$2" -eq 0 ]; then
        echo "PASS $1"
    else
        echo "FAIL $1: $3"
    fi
}
if wanted fuzz/mutations; then
    # Fixed seed by default, a chosen one in long runs; TDSL_FUZZ_SEED overrides it.
    seed=1
    [ "$TDSL_TEST_MODE" != long ] || seed=$(date +%s)
    seed=${TDSL_FUZZ_SEED:-$seed}
    case "$TDSL_TEST_MODE" in
        quick) count=2000 ;;
        ci) count=20000 ;;
        long) count=500000 ;;
    esac
    # Scalar loops are limited to a million iterations: 1.5 s, with sanitizers 27 s and more on a busy machine.
    limit=30
    first=0
    if [ "$TDSL_TEST_PRESET" != release ]; then
        count=$((count / 40))
        limit=100
    elif [ -n "${TDSL_TEST_TURN:-}" ]; then # commits take turns
        count=$((count / 2))
        first=$((TDSL_TEST_TURN % 2 * count))
    fi
    found="$TDSL_BUILD_DIR/test-logs/mutations-found"
    "$TDSL_BUILD_DIR/bin/tdsl_mutations" "$TDSL_SOURCE_DIR" "$found" --seed "$seed" --first "$first" --count "$count" --limit "$limit" --jobs "$(nproc)"
    result fuzz/mutations $? "cases in $found"
fi
if [ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" = long ] && wanted fuzz/frontend; then
    "$TDSL_SOURCE_DIR/tests/fuzz/run" 3600
    result fuzz/frontend $? "inputs in build/fuzz/found"
fi
if [ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" = long ] && wanted fuzz/readers; then
    "$TDSL_SOURCE_DIR/tests/fuzz/run" 3600 readers
    result fuzz/readers $? "inputs in build/fuzz/found"
fi
exit 0
