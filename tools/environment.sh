# shellcheck shell=sh
# Sourced by the scripts: how Open MPI and the sanitizers are run on one machine. Values the user has set are kept.

# As root, and with more ranks than cores: Open MPI refuses both unless told.
export OMPI_ALLOW_RUN_AS_ROOT="${OMPI_ALLOW_RUN_AS_ROOT:-1}"
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="${OMPI_ALLOW_RUN_AS_ROOT_CONFIRM:-1}"
export OMPI_MCA_rmaps_base_oversubscribe="${OMPI_MCA_rmaps_base_oversubscribe:-1}"
# Waiting ranks leave their core to others: several launches share the cores.
export OMPI_MCA_mpi_yield_when_idle="${OMPI_MCA_mpi_yield_when_idle:-1}"
# What Open MPI chooses anyway where there is no fabric; looking for one takes 0.2 s of every start.
export OMPI_MCA_pml="${OMPI_MCA_pml:-ob1}"

# $root is the repository, set by the script that sources this.
suppressions="${root:?}/tests/sanitizers"
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$suppressions/lsan.supp:print_suppressions=0}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=$suppressions/tsan.supp:ignore_noninstrumented_modules=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"

# The number of compiler processes: one per core, but no more than memory allows (files with Clang's headers take 1.5 GB).
build_jobs() {
    cores=$(nproc)
    fit=$(awk '/^MemAvailable:/ { print int($2 / 1600000) }' /proc/meminfo)
    if [ "${fit:-1}" -lt 1 ]; then fit=1; fi
    if [ "$fit" -lt "$cores" ]; then echo "$fit"; else echo "$cores"; fi
}

# configure PRESET LOG [OPTION...]: runs CMake for a preset (with ccache when it is there); the log is shown when it fails.
configure() {
    configure_preset=$1
    configure_log=$2
    shift 2
    launcher=""
    if [ -z "${CCACHE_DISABLE:-}" ] && command -v ccache >/dev/null 2>&1; then
        launcher="-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
    fi
    # shellcheck disable=SC2086 # empty launcher is no word
    if ! (cd "$root" && timeout 300 cmake --preset "$configure_preset" $launcher "$@") >"$configure_log" 2>&1; then
        tail -n 40 "$configure_log" >&2
        echo "configuring failed (log: $configure_log)" >&2
        return 1
    fi
}

# build PRESET LOG SECONDS TARGET...: builds targets; the compiler's messages are shown when it fails.
build() {
    build_preset=$1
    build_log=$2
    build_limit=$3
    shift 3
    if ! timeout "$build_limit" cmake --build "$root/build/$build_preset" -j "$(build_jobs)" --target "$@" \
        >"$build_log" 2>&1; then
        grep -E -A 12 'error|FAILED|undefined reference' "$build_log" | head -n 60 >&2 || tail -n 40 "$build_log" >&2
        echo "building failed (log: $build_log)" >&2
        return 1
    fi
}
