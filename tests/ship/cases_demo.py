"""scripts/demo-fleet."""
import contextlib
import io
import os
import signal
import subprocess
from pathlib import Path

from cases import LONG, ROOT, Skip, case, sent
from centre import Centre
from cluster import DEADLINE, wait_until
from demo import Demo, Failed, Laptop
from fleet import has_plproxy
from vaults import BUILD, Vault, texts


def start(t, *options):
    (t.folder / "tmp").mkdir()
    (t.folder / "tmp").chmod(0o755)
    env = os.environ | {"TEST_BUILD": str(BUILD), "TMPDIR": str(t.folder / "tmp")} | ({} if LONG else {"DEMO_STEPS": "80"})
    said = t.folder / "demo.said"
    with said.open("w") as out:
        demo = subprocess.Popen([ROOT / "scripts/demo-fleet", *options], env=env, stdout=out, stderr=subprocess.STDOUT,
                                start_new_session=True)
    t.cleanups.append(lambda: demo.poll() is None and os.killpg(demo.pid, signal.SIGTERM) or demo.wait(DEADLINE))
    return demo, said


def nothing_is_left(t):
    left = list((t.folder / "tmp").iterdir())
    assert not left, left
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert f"{t.folder}/tmp" not in path.read_text(), path.read_text()
        except OSError:
            pass        # it has ended


def succeeds(t, *options):
    demo, path = start(t, *options)
    demo.wait(3 * DEADLINE)     # it waits several times
    said = path.read_text()
    assert demo.returncode == 0 and "\nSuccess: " in said, said
    # `sessions` fits a terminal, and this is none
    wide = [line for line in said.splitlines() if len(line) > 80 and "-client 1.0  2025" not in line and not line.startswith("UID ")]
    assert not wide, wide
    nothing_is_left(t)
    return said


@case("demo-fleet: a shipper and the server are killed, and nothing is missing", needs="server")
def _(t):
    said = succeeds(t)
    assert "ada-client" in said and "ben-client" in said, said


@case("demo-fleet --failover: a standby that lacks something is promoted, and nothing is missing", needs="server")
def _(t):
    assert "it lacks " in succeeds(t, "--failover")


@case("demo-fleet --shards 3: a shard and the router are killed, and nothing is missing", needs="server")
def _(t):
    if not has_plproxy():
        raise Skip("PL/Proxy is not installed (scripts/setup --check)")
    said = succeeds(t, "--shards", "3")
    assert "The shard db" in said and "The router is killed" in said, said


@case("demo-fleet: after Ctrl-C nothing is left", needs="server")
def _(t):
    demo, path = start(t)
    wait_until(lambda: "have arrived" in path.read_text(), DEADLINE)
    os.killpg(demo.pid, signal.SIGINT)          # the terminal signals all processes
    demo.wait(DEADLINE)
    said = path.read_text()
    assert demo.returncode == 1 and "interrupted" in said, (demo.returncode, said)
    nothing_is_left(t)


@case("demo-fleet: what is missing, duplicated or different is found")
def _(t):
    url, demo = t.device("ada-laptop"), Demo(Centre(t.folder, print))
    demo.centre.clusters["db1"] = t.cluster
    laptop = Laptop(t.folder, "ada")
    laptop.vault = Vault(t.folder)
    demo.laptops.append(laptop)
    laptop.vault.record(texts(3))
    sent(laptop.vault.to(url, "--once"))

    def prove():
        with contextlib.redirect_stdout(io.StringIO()):
            return demo.prove()
    assert prove() == 8
    last = "SELECT max(seq) FROM mcp_interposer.messages"
    changes = (f"DELETE FROM mcp_interposer.messages WHERE seq = ({last})", "UPDATE mcp_interposer.messages SET body = 'other' WHERE seq = 2",
               "INSERT INTO mcp_interposer.messages SELECT (jsonb_populate_record(m, '{\"seq\": 99}')).* FROM mcp_interposer.messages m"
               " WHERE seq = 2")
    for change in changes:
        t.cluster.psql("CREATE TABLE kept AS SELECT * FROM mcp_interposer.messages")
        t.cluster.psql(change)
        try:
            prove()
        except Failed as e:
            assert "is missing, duplicated or different" in str(e)
        else:
            raise AssertionError(f"not found: {change}")
        t.cluster.psql("TRUNCATE mcp_interposer.messages; INSERT INTO mcp_interposer.messages SELECT * FROM kept; DROP TABLE kept")
    assert prove() == 8


@case("demo-fleet: a wrong option", needs=None)
def _(t):
    for options in (["--what"], ["--shards"], ["--shards", "0"], ["--shards", "x"], ["--shards", "3", "--failover"]):
        done = subprocess.run([ROOT / "scripts/demo-fleet", *options], capture_output=True, text=True, timeout=DEADLINE)
        assert done.returncode == 2 and "usage: " in done.stderr, done
