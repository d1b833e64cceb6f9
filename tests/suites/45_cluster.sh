#!/bin/sh
# Alone: nothing is built concurrently. Slurm and Open MPI on four simulated hosts: correct results, errors in starting
# programs, killed ranks.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
here=$TDSL_SOURCE_DIR/tests/cluster
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
long=""
[ "$TDSL_TEST_MODE" = long ] && long=--long
reason=""
if [ "$(id -u)" -ne 0 ]; then
    reason="needs root"
elif ! unshare --mount --net --uts --ipc --pid --fork true 2>/dev/null; then
    reason="needs name spaces of its own"
fi
if [ -n "$reason" ]; then
    /usr/bin/python3 "$here/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long --list | sed "s/^/SKIP /; s/\$/ $reason/"
    exit 0
fi
[ -n "$(/usr/bin/python3 "$here/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long --list)" ] || exit 0
exec "$here/lab" /usr/bin/python3 "$here/run.py" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER" $long
