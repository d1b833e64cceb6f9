#!/bin/sh
# MPI libraries of several families under the same executables. Tests that need MPICH (tools/install_packages.sh mpi) are skipped without it.
set -u
[ "$TDSL_TEST_PRESET" = release ] && [ "$TDSL_TEST_MODE" != quick ] || exit 0
export XDG_CACHE_HOME="$TDSL_BUILD_DIR/test-cache"
exec /usr/bin/python3 "$TDSL_SOURCE_DIR/tests/e2e/mpi_families.py" --mode "$TDSL_TEST_MODE" --tdslc "$TDSLC" --filter "$TDSL_TEST_FILTER"
