#!/bin/bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The tests that need node: exit status 77 where it, or what it needs, is not
# installed.
#
#   run.sh build        viewer/ still builds dist/report.html, byte for byte
#   run.sh quick PAGES AXPROF PROGRAM PROGRAMS [GPT]   the page in a browser, in a
#                                                      minute or two
#   run.sh full PAGES AXPROF PROGRAM PROGRAMS [GPT]    all of it
#
# PAGES is the program that writes pages (pages.c), AXPROF the command, PROGRAM
# one that records itself (real_program.c), PROGRAMS the folder with those of
# tests/adapters, GPT examples/gpt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
viewer=$here/../../viewer

skip() {
    echo "skipped: $1"
    exit 77
}

command -v node >/dev/null || skip "node is not installed"
(($(node -p 'process.versions.node.split(".")[0]') >= 20)) || skip "node is older than 20"
[[ -d $viewer/node_modules ]] || skip "viewer/node_modules is not there (tools/install_viewer)"

case $1 in
    build)
        cd "$viewer"
        npx --no-install tsc --noEmit
        made=$(mktemp)
        trap 'rm -f "$made"' EXIT
        node build.mjs --out "$made"
        cmp "$made" dist/report.html || {
            echo "viewer/dist/report.html is not what viewer/ builds: run npm run build in viewer/" >&2
            exit 1
        }
        ;;
    quick | full) exec node "$here/run.mjs" "$1" --pages "$2" --axprof "$3" --program "$4" --programs "$5" ${6:+--gpt "$6"} ;;
    *)
        sed -n '3,13s/^# \{0,1\}//p' "$0" >&2
        exit 2
        ;;
esac
