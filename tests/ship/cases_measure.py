"""The programs that measure, with little to do: they still run, and print figures."""
import re
import subprocess
from pathlib import Path

from cases import Skip, case
from cluster import DEADLINE
from fleet import has_plproxy
from vaults import environment

HERE = Path(__file__).resolve().parent


def prints(t, program, *words, expected):
    (t.folder / "tmp").mkdir(exist_ok=True)
    (t.folder / "tmp").chmod(0o755)
    done = subprocess.run([HERE / program, *map(str, words)], env=environment(t.folder) | {"TMPDIR": str(t.folder / "tmp")},
                          capture_output=True, text=True, timeout=2 * DEADLINE)
    assert done.returncode == 0, (program, done.stdout, done.stderr)
    for pattern in expected:
        assert re.search(pattern, done.stdout), (program, pattern, done.stdout)
    assert not list((t.folder / "tmp").iterdir()), "files are left"


@case("measuring: shipping, and reading through the store", needs="server")
def _(t):
    prints(t, "measure", 200, expected=("^200 messages in ", "at the store: [1-9]", "a search that finds [1-9]", "calls.sql, of 200 messages"))
    prints(t, "measure-reading", 2, 100, expected=(r"\| `sessions` \|.* MiB \|", r"\| `export 1 -F jsonl` \|"))


@case("measuring: sending to a collector", needs=None)
def _(t):
    prints(t, "measure-collector", 200, expected=("^200 calls in ", "[1-9] requests, [1-9]"))


@case("measuring: the router", needs="server")
def _(t):
    if not has_plproxy():
        raise Skip("PL/Proxy is not installed (scripts/setup --check)")
    prints(t, "measure-router", 200, 1, expected=("^direct [1-9].* through the router [1-9]", "of the ratios in a round: "))
