# shellcheck shell=bash
# Sourced by scripts that need an empty Debian 12 in a folder, as root.

# make_debian FOLDER PACKAGES [CACHE]: debootstrap from this machine's apt sources, its way to reach them (proxy, certificates, name
# resolution), and mounts of /proc, /sys and /dev. Packages named as A,B; CACHE keeps downloaded ones.
make_debian() {
    local folder=$1 packages=$2 cache=${3:-} mirror mounted
    # The first source that has Debian 12.
    # shellcheck disable=SC2016 # $(REPO_URI) is apt's
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' 2>/dev/null |
        awk '($2 == "bookworm" || $2 == "stable" || $2 == "oldstable") && $3 == "main" { print $1; exit }')
    if [ -z "$mirror" ]; then
        echo "no apt source of this machine has Debian 12 (bookworm)" >&2
        return 1
    fi
    if ! timeout 900 debootstrap --variant=minbase --include="$packages" ${cache:+--cache-dir="$cache"} bookworm "$folder" "$mirror" \
        >"$folder.log" 2>&1; then
        tail -n 20 "$folder.log" >&2
        echo "debootstrap failed" >&2
        return 1
    fi
    rm -f "$folder.log"
    # shellcheck disable=SC2016
    {
        apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' |
            awk '$2 ~ /^bookworm/ { print "deb " $1 " " $2 " main" }' | sort -u
    } >"$folder/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(https?|ftp)::.*(Proxy|CaInfo|Verify)' >"$folder/etc/apt/apt.conf.d/90host" || true
    cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
    cp -L /etc/hosts "$folder/etc/hosts"
    if [ -d /usr/local/share/ca-certificates ] && [ -x "$folder/usr/sbin/update-ca-certificates" ]; then
        cp -rL /usr/local/share/ca-certificates/. "$folder/usr/local/share/ca-certificates/"
        chroot "$folder" update-ca-certificates >/dev/null 2>&1 || true
    fi
    mount -t proc proc "$folder/proc"
    for mounted in sys dev dev/pts dev/shm; do
        if [ -d "/$mounted" ]; then mount --bind "/$mounted" "$folder/$mounted"; fi
    done
}

# release_mounts FOLDER: before the folder is removed (never across a mount: rm --one-file-system).
release_mounts() {
    local mounted
    for mounted in dev/shm dev/pts dev sys proc; do
        if mountpoint -q "$1/$mounted"; then
            umount "$1/$mounted" || umount -l "$1/$mounted"
        fi
    done
}

# in_debian SECONDS FOLDER USER COMMAND [WORD...]: a shell command there, with an empty environment and WORDs as its arguments.
in_debian() {
    local limit=$1 folder=$2 user=$3 command=$4 home
    shift 4
    home=$(chroot "$folder" getent passwd "$user" | cut -d: -f6)
    timeout --kill-after=30 "$limit" chroot --userspec="$user" "$folder" /usr/bin/env -i HOME="$home" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin /bin/sh -c "$command" sh "$@" </dev/null
}
