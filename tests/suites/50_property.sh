#!/bin/sh
# Random programs: compiled and run on several ranks, compared with the evaluator. CI uses a fixed seed, so that results
# depend on the change only, and commits take turns: seeds 1 to 30 and 31 to 60. --quick and --long choose a seed and
# print it: `tests/property/run.py --seed N` generates the same programs again.
set -u
property="$TDSL_SOURCE_DIR/tests/property"
found="$TDSL_BUILD_DIR/test-logs/property-found"
optimise=-O0
case "$TDSL_TEST_MODE" in
    quick) count=10; ranks=2; launches=1; batch=10; shrink=0 ;;
    ci) count=60; ranks=1,2,3; launches=1; batch=15; shrink=60; seed=1 ;;
    long) count=500; ranks=1,2,3; launches=4; batch=50; shrink=300; optimise=-O1 ;;
esac
# Instrumented programs run several times slower, and memory errors do not depend on comparisons at every number of
# ranks.
if [ "$TDSL_TEST_PRESET" != release ]; then
    count=$((count / 12))
    [ "$TDSL_TEST_MODE" = long ] || ranks=2
elif [ -n "${TDSL_TEST_TURN:-}" ]; then
    count=$((count / 2))
    seed=$((seed + TDSL_TEST_TURN % 2 * count))
fi
name=property/programs
seed=${TDSL_PROPERTY_SEED:-${seed:-}}
case "$name" in
    *"$TDSL_TEST_FILTER"*) ;;
    *) exit 0 ;;
esac
if "$property/run.py" --tdslc "$TDSLC" --count "$count" --ranks "$ranks" --launches "$launches" --batch "$batch" --shrink "$shrink" --optimise="$optimise" \
    --found "$found" ${seed:+--seed "$seed"}; then
    echo "PASS $name"
else
    echo "FAIL $name"
fi
