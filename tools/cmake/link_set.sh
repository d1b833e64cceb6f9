#!/bin/sh
# link_set.sh OUTPUT.a RUNTIME.a LIBRARY.a...
#
# One object per library in OUTPUT.a: its members that RUNTIME.a or an earlier library needs, linked into one relocatable object.
# Global are only the functions that are called from outside; all others are local, so that they cannot meet another copy of
# the library in a process. A function that several libraries have comes from the first. NM, LD, OBJCOPY and AR name the tools.
set -eu
output=$1
runtime=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/tdsl-math.XXXXXX")
trap 'rm -rf "$folder"' EXIT
export LC_ALL=C

undefined() { "$NM" -gu --format=posix "$1" 2>/dev/null | awk 'NF > 1 { print $1 }' | sort -u; }
defined() { "$NM" -g --defined-only --format=posix "$1" 2>/dev/null | awk 'NF > 2 { print $1 }' | sort -u; }

undefined "$runtime" >"$folder/needed"
number=0
for library in "$@"; do
    defined "$library" | comm -12 "$folder/needed" - >"$folder/roots"
    [ -s "$folder/roots" ] || continue
    number=$((number + 1))
    object="$folder/$number-$(basename "$library" .a).o"
    # shellcheck disable=SC2046 # one argument per function
    "$LD" -r -d -o "$object" $(sed 's/^/-u /' "$folder/roots") "$library"
    "$OBJCOPY" --keep-global-symbols="$folder/roots" --strip-debug "$object"
    undefined "$object" | sort -u - "$folder/needed" | comm -23 - "$folder/roots" >"$folder/rest"
    mv "$folder/rest" "$folder/needed"
done
rm -f "$output"
(cd "$folder" && "$AR" crD math.a ./*.o)
mv "$folder/math.a" "$output"
