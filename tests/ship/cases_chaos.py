"""tests/ship/chaos, for a short time. `make chaos` takes ten minutes."""
import os
import signal
import subprocess
from pathlib import Path

from cases import Skip, case
from fleet import has_plproxy

HERE = Path(__file__).resolve().parent


def run(t, *options):
    (t.folder / "tmp").mkdir()
    (t.folder / "tmp").chmod(0o755)
    env = os.environ | {"TMPDIR": str(t.folder / "tmp")}
    chaos = subprocess.Popen([HERE / "chaos", "--minutes", "0.4", "--vaults", "4", *options], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    t.cleanups.append(lambda: chaos.poll() is None and chaos.send_signal(signal.SIGTERM) or chaos.wait(60))
    said = chaos.communicate(timeout=500)[0]
    assert chaos.returncode == 0 and "no problems" in said, said


@case("chaos: everything is killed at random for a while, and nothing is missing", store=False)
def _(t):
    run(t)


@case("chaos: shards and their router are killed at random for a while, and nothing is missing", store=False)
def _(t):
    if not has_plproxy():
        raise Skip("PL/Proxy is not installed (scripts/setup --check)")
    run(t, "--shards", "2")
