#!/bin/bash
# chroot.sh PACKAGES FOLDER: installs the packages in an empty Debian 12 in FOLDER, runs a program as an ordinary user, purges them, and
# runs an executable with tdsl-runtime alone. Root. PASS or FAIL packaging/debian_NAME per check; times are reported, not judged.
# shellcheck disable=SC2317 # functions that `check` calls
set -eu
packages=$1
folder=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tools/debian.sh
. "$root/tools/debian.sh"
mkdir -p "$folder"
trap 'release_mounts "$folder"; rm -rf --one-file-system "$folder"' EXIT
make_debian "$folder" ca-certificates
mkdir "$folder/packages"
cp "$packages"/*.deb "$folder/packages/"
as_root() { in_debian 1200 "$folder" root "$@"; }
as_user() { in_debian 300 "$folder" user "$@"; }
result=0
# check NAME COMMAND...: its output is shown if it fails.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "PASS packaging/debian_$name"
    else
        printf '%s\nFAIL packaging/debian_%s\n' "$output" "$name"
        result=1
    fi
}
quiet=-oDpkg::Use-Pty=0
names="/packages/tdsl_*.deb /packages/tdsl-runtime_*.deb openmpi-bin"

as_root "useradd --create-home user && apt-get update -qq && apt-get install -y -qq $quiet --no-install-recommends --download-only $names" >/dev/null
cat >"$folder/home/user/product.tdsl" <<'PROGRAM'
param n: i64 = 300;
let A[i, j] = 1.0 / f64(i + j + 1) for i in 0..n, j in 0..n;
let M = A @ A + 4.0 * eye(n);
print(max(abs(solve(M, M @ ones(n)) - 1.0)) < 1e-9);
PROGRAM

install() { as_root "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $quiet --no-install-recommends $names"; }
run_program() { [ "$(as_user 'cd && tdslc run product.tdsl -n 2')" = true ]; }
begun=$(date +%s)
check install install
check first_run run_program
echo "installation and first result: $(($(date +%s) - begun)) s"
begun=$(date +%s)
check second_run run_program
echo "second run: $(($(date +%s) - begun)) s"
check build as_user 'cd && tdslc build product.tdsl -o product && ./product'

# Files that are left, other than the packages themselves and those of the user.
purged() {
    as_root "DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq $quiet 'tdsl*'"
    local left
    left=$(find "$folder" -xdev \( -path "$folder/packages" -o -path "$folder/home" -o -path "$folder/var/cache/apt" \) -prune -o -name '*tdsl*' -print)
    [ -z "$left" ] || { echo "left: $left"; return 1; }
}
check purge purged

runtime_alone() {
    as_root "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $quiet --no-install-recommends /packages/tdsl-runtime_*.deb"
    [ "$(as_user 'cd && ./product')" = true ]
}
check runtime_alone runtime_alone
exit "$result"
