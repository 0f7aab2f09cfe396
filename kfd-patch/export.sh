#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# export.sh - write the series again from a git branch of the kernel's files.
# usage: export.sh GITDIR BASE TIP
#
# BASE is a commit with the source files that kfd-patch/BASE names. kfd-patch/cover.txt has the
# cover letter's text.
set -eu
[ $# -eq 3 ] || { sed -n '3,7s/^# //p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)

rm -f "$here"/v1-*.patch
git -C "$1" format-patch -q -v1 --cover-letter --no-signature --zero-commit \
	--no-renames -o "$here" "$2..$3"
subject=$(sed -n 1p "$here/cover.txt")
cover=$here/v1-0000-cover-letter.patch
python3 - "$cover" "$here/cover.txt" "$subject" <<'PY'
import sys
path, text, subject = sys.argv[1:]
body = open(text).read().split("\n", 2)[2].rstrip()
cover = open(path).read()
cover = cover.replace("*** SUBJECT HERE ***", subject)
open(path, "w").write(cover.replace("*** BLURB HERE ***", body))
PY
find "$here" -name 'v1-*.patch' ! -name 'v1-0000-*' -printf '%f\n' | sort >"$here/series"
