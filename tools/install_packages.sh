#!/bin/sh
# tools/install_packages.sh GROUP...: installs missing packages of these groups in tools/packages.txt. Without missing
# packages it does nothing and needs no privileges; otherwise it needs root or sudo.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

wanted() {
    for group in "$@"; do
        sed -n "s/^$group  *\([^ ]*\) *$/\1/p" "$here/packages.txt"
    done
}

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "install_packages: not a Debian system; these Debian packages (or their equals) are expected to be there:"
    wanted "$@" | tr '\n' ' '
    echo
    exit 0
fi

missing=""
for package in $(wanted "$@"); do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    if [ "$state" != installed ]; then
        missing="$missing $package"
    fi
done
if [ -z "$missing" ]; then
    exit 0
fi

as_root=""
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "install_packages: not root and no sudo. Ask an administrator to run:" >&2
        echo "  apt-get install$missing" >&2
        exit 1
    fi
    as_root="sudo"
fi

echo "Installing with apt-get:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() {
    # shellcheck disable=SC2086 # word splitting intended
    timeout --foreground 300 $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 update &&
    timeout --foreground 1500 $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 \
        -o DPkg::Lock::Timeout=120 install --no-install-recommends $missing </dev/null
}
if ! install_missing >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "install_packages: apt-get failed (its last lines are above)" >&2
    exit 1
fi
