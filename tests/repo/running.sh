# Sourced by run: scripts/run-tests with small suites, and the cache of npm packages with a small npm.
# shellcheck shell=bash disable=SC2154 # $tmp

# The sum must be correct, and no failure may be lost, however a suite fails.
fake_suites() {
    mkdir -p "$tmp/fake/scripts" "$tmp/fake/tests"/{good,bad,silent,liar,orphan,sometimes,slow,support}
    cp scripts/run-tests "$tmp/fake/scripts/"
    cp tests/support/{suite,adopt}.py "$tmp/fake/tests/support/"
    printf '#!/bin/sh\necho "ok - a"\necho "3 passed, 0 failed, 1 skipped"\n' >"$tmp/fake/tests/good/run"
    printf '#!/bin/sh\necho "2 passed, 1 failed"\nexit 1\n' >"$tmp/fake/tests/bad/run"
    printf '#!/bin/sh\nexit 0\n' >"$tmp/fake/tests/silent/run"
    printf '#!/bin/sh\necho "9 passed, 0 failed"\nexit 1\n' >"$tmp/fake/tests/liar/run"
    # A process whose parent exits computes for half a second.
    cat >"$tmp/fake/tests/orphan/run" <<'END'
#!/bin/sh
(python3 -S -c 'import time
while time.process_time() < 0.5: pass
open("orphan-ended", "w")' &)
until [ -e orphan-ended ]; do sleep 0.05; done
rm orphan-ended
sleep 0.2
echo "1 passed, 0 failed"
END
    # Of every four runs, the third and the fourth fail, with the same words but for the number.
    cat >"$tmp/fake/tests/sometimes/run" <<'END'
#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1))
echo $n >count
if [ $n -le 2 ]; then
    printf 'ok - dice # 0.1 s\n1 passed, 0 failed\n'
else
    printf 'not ok - dice # 0.%s s\n# it was %s\n1 passed, 1 failed\n' $n $n
    exit 1
fi
END
    printf '#!/bin/sh\nsleep 100\n' >"$tmp/fake/tests/slow/run"
    chmod +x "$tmp"/fake/tests/*/run
}
sum_is() {
    local want_status=$1 want=$2 out rc
    shift 2
    out=$(env -u TEST_UNDER "$tmp/fake/scripts/run-tests" build "$@")
    rc=$?
    [ "$(tail -n 1 <<<"$out")" = "$want" ] && [ "$rc" -eq "$want_status" ] && return
    echo "wanted '$want' and status $want_status, got status $rc and:"
    echo "$out"
    return 1
}
fake_suites
expect "run-tests: sums the passed tests" sum_is 0 "6 passed, 0 failed, 2 skipped" good good
expect "run-tests: sums the failed tests" sum_is 1 "5 passed, 1 failed, 1 skipped" good bad
expect "run-tests: a silent suite is a failure" sum_is 1 "3 passed, 1 failed, 1 skipped" good silent
expect "run-tests: a bad exit status is a failure" sum_is 1 "9 passed, 1 failed" liar
expect "run-tests: a missing suite is a failure" sum_is 1 "0 passed, 1 failed" nowhere
expect "run-tests: no unit tests is a failure" sum_is 1 "0 passed, 1 failed" unit

run_fake() { env -u TEST_UNDER "$tmp/fake/scripts/run-tests" "$@"; }
counts_cpu_time_of_orphans() {
    run_fake build orphan | tee "$tmp/table"
    awk '$1 == "orphan" && $3 >= 0.5 && $3 < 5 { good = 1 } END { exit !good }' "$tmp/table"
}
expect "run-tests: the CPU time of a suite includes processes that lost their parent" counts_cpu_time_of_orphans

repeat_counts_failures() {
    rm -f "$tmp/fake/count"
    ! run_fake --repeat 4 build sometimes >"$tmp/rounds" || return 1
    cat "$tmp/rounds"
    grep -A 2 '^not ok - sometimes: dice: failed 2 of 4 times$' "$tmp/rounds" >"$tmp/found" &&
        diff - "$tmp/found" <<'END' || return 1
not ok - sometimes: dice: failed 2 of 4 times
# 2 times:
# it was 3
END
    grep -q '^round 4 of 4: sometimes: 1 passed, 1 failed; ' "$tmp/rounds" && tail -n 1 "$tmp/rounds" | grep -x '4 passed, 2 failed'
}
expect "run-tests --repeat: says how often a case failed, and what it said" repeat_counts_failures

# However run-tests ends, nothing computes any more. The load is found by its parent's number on its command line.
load_of() { grep -lsz "[g]etppid() == $1:" /proc/[0-9]*/cmdline; }
load_ends() {
    local pid end=$((SECONDS + 60))
    mkdir -p "$tmp/left"    # after a SIGKILL, its own temporary folder is there
    env -u TEST_UNDER TMPDIR="$tmp/left" "$tmp/fake/scripts/run-tests" --load build slow >/dev/null 2>&1 &
    pid=$!
    until load_of "$pid"; do
        [ "$SECONDS" -lt "$end" ] || { echo "no load within 60 s"; return 1; }
        sleep 0.05
    done
    kill "-$1" "$pid"
    wait "$pid"
    end=$((SECONDS + 60))
    while load_of "$pid"; do
        [ "$SECONDS" -lt "$end" ] || { echo "the load still runs after 60 s"; return 1; }
        sleep 0.05
    done
}
expect "run-tests --load: the load ends with a SIGTERM" load_ends TERM
expect "run-tests --load: the load ends with a SIGKILL" load_ends KILL

# --- npm packages -------------------------------------------------------------------------------

# An npm that takes a while and notes that it ran. With NPM_KILLED it is killed in between.
fake_npm() {
    mkdir -p "$tmp/npm-bin" "$tmp/npm-cache" "$tmp"/clone-{1,2,3}
    cat >"$tmp/npm-bin/npm" <<'END'
#!/bin/sh
echo run >>"$XDG_CACHE_HOME/runs"
mkdir -p node_modules/a || exit 1
[ -z "${NPM_KILLED-}" ] || exit 137
sleep 0.3
cp package-lock.json node_modules/a/index.js && echo >node_modules/.package-lock.json
END
    chmod +x "$tmp/npm-bin/npm"
    for clone in 1 2 3; do
        echo '{}' | tee "$tmp/clone-$clone/package.json" >"$tmp/clone-$clone/package-lock.json"
    done
}
npm_ci_in() (
    export XDG_CACHE_HOME=$tmp/npm-cache PATH=$tmp/npm-bin:$PATH
    cd "$tmp/clone-$1" && . "$OLDPWD/tests/support/npm.sh" && npm_ci && cmp package-lock.json node_modules/a/index.js
)
npm_runs() { [ "$(wc -l <"$tmp/npm-cache/runs")" -eq "$1" ] || { cat "$tmp/npm-cache/runs"; return 1; }; }
npm_is_installed_once() {
    local jobs=() clone
    fake_npm
    ! NPM_KILLED=1 npm_ci_in 1 && npm_runs 1 || return 1
    for clone in 1 1 2 2 3 3; do
        npm_ci_in "$clone" &
        jobs+=($!)
    done
    for clone in "${jobs[@]}"; do wait "$clone" || return 1; done
    npm_runs 2 || return 1
    echo '{"other": 1}' >"$tmp/clone-2/package-lock.json"
    npm_ci_in 2 && npm_ci_in 1 && npm_runs 3
}
expect "npm: packages are installed once for all clones, again after an interruption, and again for another lock file" npm_is_installed_once
npm_keeps_a_folder() {
    rm "$tmp/clone-3/node_modules" && mkdir -p "$tmp/clone-3/node_modules/a" && cp "$tmp/clone-3/package-lock.json" "$tmp/clone-3/node_modules/a/index.js" &&
        cp "$tmp/clone-3/package-lock.json" "$tmp/clone-3/node_modules/.package-lock.json" && npm_ci_in 3 && npm_runs 3 && [ ! -L "$tmp/clone-3/node_modules" ]
}
expect "npm: a folder node_modules that is up to date stays" npm_keeps_a_folder
