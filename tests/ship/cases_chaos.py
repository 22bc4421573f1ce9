"""tests/ship/chaos, for a short time. `make chaos` takes ten minutes."""
import os
import signal
import subprocess
from pathlib import Path

from cases import case

HERE = Path(__file__).resolve().parent


@case("chaos: everything is killed at random for a while, and nothing is missing")
def _(t):
    (t.folder / "tmp").mkdir()
    (t.folder / "tmp").chmod(0o755)
    chaos = subprocess.Popen([HERE / "chaos", "--minutes", "0.4", "--vaults", "4"], env=os.environ | {"TMPDIR": str(t.folder / "tmp")},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    t.cleanups.append(lambda: chaos.poll() is None and chaos.send_signal(signal.SIGTERM) or chaos.wait(60))
    said = chaos.communicate(timeout=500)[0]
    assert chaos.returncode == 0 and "no problems" in said, said
