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
    major=$(node --version 2>/dev/null | sed -n 's/^v\([0-9]*\)\..*/\1/p')
    [ "${major:-0}" -ge 20 ] || skip_suite "$1" "node is $(node --version 2>&1); this needs Node 20"
}

# npm_ci: the packages of the current directory, in node_modules, which becomes a link into a cache that all clones share:
# each lock file is installed once. A folder node_modules that is up to date stays. scripts/check calls this ahead of the
# suites: whoever comes second waits. Prints what npm says when it fails.
npm_ci() {
    local rc=0 lock
    exec {lock}<.
    flock "$lock"
    # npm keeps its own copy of the lock file, written last: an interrupted install has none.
    if [ -L node_modules ] || [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
        npm_link || rc=1
    fi
    exec {lock}<&-
    # Node reads them at each start, three times as long as everything else it does then. Only npm ci needs them.
    unset NODE_EXTRA_CA_CERTS
    return "$rc"
}

# Makes the link, and installs what it leads to.
npm_link() {
    local cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/mcp-interposer-tests key lock rc=0
    mkdir -p "$cache" || return 1
    key=$({ uname -sm && cat package.json package-lock.json; } | sha256sum) || return 1
    key=${key%% *}
    if [ ! -d "$cache/$key" ]; then # several clones may see this
        exec {lock}>"$cache/$key.lock" || return 1
        flock "$lock"
        [ -d "$cache/$key" ] || (npm_install "$cache" "$key") || rc=1
        exec {lock}>&-
        [ "$rc" -eq 0 ] || return 1
    fi
    touch "$cache/$key" # in use
    [ "$(readlink node_modules)" = "$cache/$key/node_modules" ] ||
        { rm -rf node_modules && ln -s "$cache/$key/node_modules" node_modules; }
}

# npm_install CACHE KEY: CACHE/KEY appears in one step. Removes what nobody has used for a month.
npm_install() {
    local new=$1/$2.new log=$1/$2.log
    find "$1" -mindepth 1 -maxdepth 1 -mtime +30 ! -name '*.lock' -exec rm -rf {} +
    rm -rf "$new" && mkdir "$new" && cp package.json package-lock.json "$new" && cd "$new" || return 1
    # Install scripts are for source checkouts only.
    if ! timeout -k 5 300 npm ci --no-audit --no-fund --ignore-scripts </dev/null >"$log" 2>&1; then
        sed 's/^/# /' "$log"
        return 1
    fi
    rm -f "$log"
    touch "$new" && mv -T "$new" "$1/$2"
}
