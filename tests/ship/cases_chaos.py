"""tests/ship/chaos, for a short time. `make chaos` takes ten minutes."""
import os
import signal
import subprocess
from pathlib import Path

from cases import LONG, Skip, case
from cluster import DEADLINE
from fleet import has_plproxy

HERE = Path(__file__).resolve().parent


def run(t, *options):
    (t.folder / "tmp").mkdir()
    (t.folder / "tmp").chmod(0o755)
    env = os.environ | {"TMPDIR": str(t.folder / "tmp")}
    path = t.folder / "chaos.said"
    with path.open("w") as out:
        chaos = subprocess.Popen([HERE / "chaos", "--minutes", "0.4" if LONG else "0.2", "--vaults", "4", *options], env=env, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
    t.cleanups.append(lambda: chaos.poll() is None and chaos.send_signal(signal.SIGTERM) or chaos.wait(DEADLINE))
    # it starts clusters, waits up to QUIET_SECONDS in the end, and then reports what is missing
    assert chaos.wait(8 * DEADLINE) == 0 and "no problems" in path.read_text(), path.read_text()


@case("chaos: everything is killed at random for a while, and nothing is missing", needs="server")
def _(t):
    run(t)


@case("chaos: shards and their router are killed at random for a while, and nothing is missing", needs="server")
def _(t):
    if not has_plproxy():
        raise Skip("PL/Proxy is not installed (scripts/setup --check)")
    run(t, "--shards", "2")
