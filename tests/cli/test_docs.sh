#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The committed man pages and completion are what the command generates; the
# pages are sound troff and have the variables that are read; the completion
# completes.
#
#   test_docs.sh AXPROF TOP
set -euo pipefail
axprof=$1 top=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$top/tools/generate_docs" "$axprof" "$scratch"
diff -r "$scratch/docs/man" "$top/docs/man"
diff "$scratch/cli/axprof.bash" "$top/cli/axprof.bash" || {
    echo "cmake --build build/dev --target docs writes them anew" >&2
    exit 1
}

# Every variable of ours that anything reads is in a page.
read_by_name='getenv\("(AXPROF_[A-Z_]+)"\)'
for name in $(grep -rhoE "$read_by_name" "$top"/{src,adapters,cli} |
                  sed -E "s/.*$read_by_name/\1/" | sort -u); do
    grep -qw "$name" "$top"/docs/man/*.1 || {
        echo "$name is in no man page" >&2
        missing=1
    }
done
[[ -z ${missing-} ]]

# groff says on standard error what it does not understand.
if command -v groff >/dev/null; then
    for page in "$scratch"/docs/man/*.1; do
        groff -man -Tutf8 -ww -z "$page" 2>"$scratch/groff"
        if [[ -s $scratch/groff ]]; then cat "$scratch/groff"; exit 1; fi
    done
fi

complete_words() { # WORD ...: what the last one completes to
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _axprof
    echo "${COMPREPLY[*]}"
}
expect() { # EXPECTED WORD ...
    local expected=$1 got
    shift
    got=$(complete_words "$@")
    if [[ $got != "$expected" ]]; then
        echo "completion of \"$*\": \"$got\", not \"$expected\"" >&2
        exit 1
    fi
}
# shellcheck disable=SC1091
source "$scratch/cli/axprof.bash"
expect "report" axprof rep
expect "--width" axprof report --wi
expect "markdown" axprof report x.axp -f ma
expect "perfetto pprof" axprof export --format p
touch "$scratch/one.axp"
expect "$scratch/one.axp" axprof report "$scratch/o"
[[ " $(complete_words axprof run -- tru) " == *" truncate "* ]] || {
    echo "run does not complete commands" >&2
    exit 1
}
echo "pages and completion are as generated"
