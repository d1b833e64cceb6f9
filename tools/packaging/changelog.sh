#!/bin/sh
# changelog.sh VERSION CHANGELOG.md OUTPUT: a changelog in Debian's format whose only entry is VERSION, dated $SOURCE_DATE_EPOCH (default:
# now). The entries of CHANGELOG.md that belong to VERSION, or are not released yet, are its lines.
set -eu
version=$1
date=$(LC_ALL=C date -u -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
{
    printf 'tdsl (%s) unstable; urgency=medium\n\n' "$version"
    awk -v version="$version" '
        /^## / { wanted = index($0, "[" version "]") || index($0, "[Unreleased]"); next }
        !wanted { next }
        /^- / { if (entry) print entry; entry = substr($0, 3); next }
        /^  [^ ]/ { entry = entry " " substr($0, 3); next }
        { if (entry) print entry; entry = "" }
        END { if (entry) print entry }' "$2" | while IFS= read -r entry; do
        echo "$entry" | fold -s -w 74 | sed '1s/^/  * /; 2,$s/^/    /; s/ *$//'
    done
    printf '\n -- TDSL developers <tdsl@example.org>  %s\n' "$date"
} >"$3"
