# Sourced by suites that are shell scripts. $tmp is a folder of the suite.
# shellcheck shell=bash
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0

# expect NAME COMMAND...: the command must succeed; otherwise its output is shown.
expect() {
    local name=$1 start=${EPOCHREALTIME/[.,]/} ms
    shift
    if "$@" >"$tmp/log" 2>&1; then
        ms=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
        printf 'ok - %s # %d.%d s\n' "$name" $((ms / 1000)) $((ms % 1000 / 100))
        passed=$((passed + 1))
    else
        echo "not ok - $name"
        sed 's/^/# /' "$tmp/log"
        failed=$((failed + 1))
    fi
}

skip() {
    echo "skip - $1: $2"
    skipped=$((skipped + 1))
}

# The last line of a suite. Fails when a test has failed.
summary() {
    local line="$passed passed, $failed failed"
    [ "$skipped" -eq 0 ] || line="$line, $skipped skipped"
    echo "$line"
    [ "$failed" -eq 0 ]
}
