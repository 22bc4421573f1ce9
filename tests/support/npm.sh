# Sourced by the `run` of suites that need packages from npm.
# shellcheck shell=bash

# skip_suite NAME REASON: ends the suite.
skip_suite() {
    echo "skip - $1: $2"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# need_node NAME: skips the suite without npm and Node 20.
need_node() {
    local major
    command -v node >/dev/null 2>&1 || skip_suite "$1" "there is no node; this needs Node 20"
    command -v npm >/dev/null 2>&1 || skip_suite "$1" "there is no npm to install the packages with"
    major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null) || major=0
    [ "${major:-0}" -ge 20 ] || skip_suite "$1" "node is $(node --version 2>&1); this needs Node 20"
}

# npm_ci: installs the packages of the current directory, unless they are installed. scripts/check calls it ahead of the
# suites: whoever comes second waits. Prints what npm says when it fails.
npm_ci() {
    local log rc=0 lock
    exec {lock}<.
    flock "$lock"
    # npm keeps its own copy of the lock file, written last: an interrupted install has none.
    if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
        log=$(mktemp) || return 1
        # Install scripts are for source checkouts only.
        timeout -k 5 300 npm ci --no-audit --no-fund --ignore-scripts </dev/null >"$log" 2>&1 || rc=1
        [ "$rc" -eq 0 ] || sed 's/^/# /' "$log"
        rm -f "$log"
    fi
    exec {lock}<&-
    return "$rc"
}
