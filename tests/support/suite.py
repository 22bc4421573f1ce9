"""One run of one test suite: its output, counts, wall time and CPU time. scripts/run-tests uses it."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ADOPT = Path(__file__).resolve().parent / "adopt.py"
UNDER = os.environ.get("TEST_UNDER", "")
CORES = os.cpu_count() or 1
SUITE_SECONDS = float(os.environ.get("SUITE_SECONDS", 7200 if UNDER == "valgrind" else 1800))
UNIT_SECONDS = float(os.environ.get("UNIT_SECONDS", 300))
KILL_AFTER_SECONDS = 10     # from SIGTERM to SIGKILL, when the limit is exceeded

_groups = set()     # process groups that run
_lock = threading.Lock()


def stop_all():
    """SIGTERM to every command that runs."""
    for pid in list(_groups):
        _signal_group(pid, signal.SIGTERM)


def _signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass


def run_command(command, limit, env, stdout, stderr):
    """(exit status, CPU seconds) of a command with a time limit; the status is 124 when it exceeded the limit, as with
    timeout(1)."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=env, cwd=ROOT,
                             start_new_session=True)
    with _lock:
        _groups.add(child.pid)
    ended, exceeded = threading.Event(), threading.Event()

    def stop():
        exceeded.set()
        _signal_group(child.pid, signal.SIGTERM)
        if not ended.wait(KILL_AFTER_SECONDS):
            _signal_group(child.pid, signal.SIGKILL)
    timer = threading.Timer(limit, stop)
    timer.start()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)     # its number stays in use until wait4()
    ended.set()
    timer.cancel()
    timer.join()
    with _lock:
        _groups.discard(child.pid)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return 124 if exceeded.is_set() else child.returncode, usage.ru_utime + usage.ru_stime


def summary(passed, failed, skipped):
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


class Suite:
    """One suite. Its output is in the file `path`, reports of sanitizers or valgrind are in the folder `reports`."""

    def __init__(self, name, build, folder):
        self.name, self.build, self.folder = name, build, folder
        self.passed = self.failed = self.skipped = self.seconds = self.cpu = 0
        self.reports = folder / "reports"
        self.reports.mkdir(parents=True)
        self.prefix = []        # the command that runs cmocka programs
        self.env = self.environment()
        self.path = folder / "output"

    def environment(self):
        """Sanitizers and valgrind write their reports to files, because tests do not check the stderr and exit status of
        every process that they start. Any report is a failure. valgrind does not change the exit status: it would
        also report memory that a forked child inherited from its test."""
        env = os.environ | {"TEST_UNDER": UNDER, "TEST_BUILD": str(self.build),
                            "MCP_INTERPOSER": str(self.build / "mcp-interposer")}
        if UNDER == "asan":
            for name, options in (("asan", ""), ("ubsan", "print_stacktrace=1:")):
                key = f"{name.upper()}_OPTIONS"
                more = f":{env[key]}" if env.get(key) else ""
                env[key] = f"{options}log_path={self.reports}/{name}{more}"
        elif UNDER == "valgrind":
            self.prefix = [shutil.which("valgrind") or "valgrind", "--quiet", "--leak-check=full",
                           "--show-leak-kinds=definite,indirect,possible",
                           "--errors-for-leak-kinds=definite,indirect,possible", f"--log-file={self.reports}/%p",
                           "--child-silent-after-fork=yes", f"--suppressions={ROOT}/tests/valgrind.supp"]
            wrapper = self.folder / "mcp-interposer"
            wrapper.write_text(f'#!/bin/sh\nexec {shlex.join([*self.prefix, env["MCP_INTERPOSER"]])} "$@"\n')
            wrapper.chmod(0o755)
            env["MCP_INTERPOSER"] = str(wrapper)
        return env

    def run(self, stream):
        """`stream`: print the output while the suite runs, too."""
        start = time.monotonic()
        script = ROOT / "tests" / self.name / "run"
        status = 1
        with self.path.open("wb") as self.out:
            tee = threading.Thread(target=self.follow) if stream else None
            self.done = threading.Event()
            if tee:
                tee.start()
            if self.name in ("unit", "integration"):
                status = self.run_cmocka()
            elif script.is_file():
                status, self.cpu = run_command([sys.executable, ADOPT, script], SUITE_SECONDS, self.env, self.out, subprocess.STDOUT)
            else:
                self.write(f"not ok - tests/{self.name}/run does not exist\n")
        self.seconds = time.monotonic() - start
        self.done.set()
        if tee:
            tee.join()
        self.judge(status)
        return self

    def write(self, text):
        with _lock:
            self.out.write(text.encode("utf-8", "replace"))
            self.out.flush()

    def follow(self):
        """Copy what is written to the file to stdout."""
        with self.path.open("rb") as file:
            while True:
                last = self.done.is_set()
                data = file.read()
                if data:
                    sys.stdout.buffer.write(data)
                    sys.stdout.flush()
                elif last:
                    return
                else:
                    time.sleep(0.1)

    def judge(self, status):
        """Takes the counts from the last summary line; a bad exit status or a report adds a failure."""
        self.verdict, output = [], self.path.read_text("utf-8", "replace")
        found = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\.?$", output, re.M)
        if found:
            self.passed, self.failed, self.skipped = (int(n or 0) for n in found[-1])
        if not found:
            self.fail(f"not ok - {self.name} ended without a summary, exit status {status}")
        elif status != 0 and self.failed == 0:
            self.fail(f"not ok - {self.name}: no test failed, but the exit status is {status}")
        for report in sorted(self.reports.iterdir()):
            # tests/unit/journal/test_ring_model.c switches stacks; that warning is all that ASan says of it
            lines = [x for x in report.read_text("utf-8", "replace").splitlines() if "support makecontext/swapcontext" not in x]
            if lines:
                self.fail(f"not ok - {self.name}: report of {UNDER}", *(f"# {line}" for line in lines))
        self.failures = self.find_failures(output)
        self.durations = [(float(seconds), name) for name, seconds in re.findall(r"^(?:not )?ok - (.*) # ([\d.]+) s$", output, re.M)]

    def fail(self, *lines):
        self.failed += 1
        self.verdict += lines

    def find_failures(self, output):
        """[(case, lines)] of each case that failed."""
        found = []
        for line in [*output.splitlines(), *self.verdict]:
            if line.startswith("not ok - "):
                found.append((re.sub(r" # [\d.]+ s$", "", line.removeprefix("not ok - ")), [line]))
            elif re.match(r"(ok|skip) - |\d+ passed, |   \S+: [\d.]+ s", line):
                found.append((None, []))
            elif found:
                found[-1][1].append(line)
        return [(case, lines) for case, lines in found if case]

    # cmocka programs

    def run_cmocka(self):
        sources = sorted((ROOT / "tests" / self.name).glob("*/test_*.c"))
        if not sources:
            self.write(f"not ok - there are no {self.name} tests\n")
            return 1
        with ThreadPoolExecutor(CORES) as pool:
            counts = list(pool.map(self.run_program, sources))
        passed, failed, skipped, self.cpu = (sum(c) for c in zip(*counts))
        self.write(summary(passed, failed, skipped) + "\n")
        return failed > 0

    def run_program(self, source):
        """Runs one program; prints its TAP as `ok - program: test`. (passed, failed, skipped, CPU seconds)"""
        program = self.build / source.relative_to(ROOT / "tests").with_suffix("")
        name = program.name.removeprefix("test_")
        if not os.access(program, os.X_OK):
            self.write(f"not ok - {program} is not built\n")
            return 0, 1, 0, 0
        with tempfile.TemporaryFile() as tap, tempfile.TemporaryFile() as err:
            status, cpu = run_command([*self.prefix, program], UNIT_SECONDS, self.env | {"CMOCKA_MESSAGE_OUTPUT": "TAP"}, tap, err)
            tap.seek(0)
            err.seek(0)
            lines, errors = (f.read().decode("utf-8", "replace").splitlines() for f in (tap, err))
        counts, plan, out = {"ok": 0, "not ok": 0, "skip": 0}, 0, []
        for line in lines:
            if m := re.match(r"1\.\.(\d+)", line):
                plan += int(m[1])
            elif m := re.match(r"(ok|not ok) \d+ (?:- )?(?:# (SKIP) *)?(.*)", line):
                word = "skip" if m[2] else m[1]
                counts[word] += 1
                out.append(f"{word} - {name}: {m[3]}")
            elif not line.startswith("# ok - "):
                out.append(line)
        ran = sum(counts.values())
        if plan == 0 or ran < plan or (status != 0 and counts["not ok"] == 0):
            counts["not ok"] += 1
            out.append(f"not ok - {name}: ended after {ran} of {plan} tests, exit status {status}")
        if status != 0:     # show stderr only of a failed program
            out += [f"# {line}" for line in errors]
        self.write("".join(f"{line}\n" for line in out))
        return counts["ok"], counts["not ok"], counts["skip"], cpu

