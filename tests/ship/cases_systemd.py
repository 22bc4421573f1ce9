"""The systemd unit: what it may do, and when it is started again."""
import json
import os
import subprocess
import textwrap
from pathlib import Path

from cases import ROOT, Skip, case, page
from cluster import DEADLINE, OUTAGE, wait_until
from machine import HOME, Machine, Unable
from vaults import SERVER, SHIP, lines, texts

UNIT = "mcp-interposer-ship"
VAULT = f"{HOME}/.local/state/mcp-interposer"
# What a process of the unit can do; each line is a shell condition.
PROBES = {"write to the vault": f"touch {VAULT}/probe", "write to /dev/shm": "touch /dev/shm/probe", "read ~/.pgpass": "cat ~/.pgpass",
          "write to home": "touch ~/probe", "write to the configuration": "touch ~/.config/mcp-interposer/config.ini",
          "write to /tmp": "touch /tmp/probe", "make a namespace": "unshare --user true",
          "memory that is written and run": "python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7)'",
          "a raw socket": "python3 -c 'import socket; socket.socket(17, 3)'", "a TCP socket": "python3 -c 'import socket; socket.socket()'",
          "write to the kernel's settings": "test -w /proc/sys/kernel/hostname"}
ALLOWED = {"write to the vault", "write to /dev/shm", "read ~/.pgpass", "a TCP socket"}
# A session whose recorder is stopped before the last message, and then killed with its proxy.
KILL = textwrap.dedent("""
    import os, signal, subprocess
    proxy = subprocess.Popen(["mcp-interposer", "proxy", "--name", "killed", "--", "/usr/bin/python3", "server.py"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
    recorder = 0
    for line in open("said", "rb"):
        proxy.stdin.write(line)
        proxy.stdout.readline()
        if not recorder:
            children = open(f"/proc/{proxy.pid}/task/{proxy.pid}/children").read().split()
            recorder, = (int(x) for x in children if b"recorder" in open(f"/proc/{x}/cmdline", "rb").read())
            os.kill(recorder, signal.SIGSTOP)
    proxy.kill()
    os.kill(recorder, signal.SIGKILL)
    proxy.wait()
""")


def boot(t):
    """A machine with the program installed, whose user has a configuration for this store."""
    tree = t.folder / "tree"
    if not Path("/usr/bin/python3").exists():
        raise Skip("no Python that every user can run")
    make = ["make", "-s", f"BUILD={os.path.relpath(Path(SHIP).parent, ROOT)}", f"DESTDIR={tree}", "PREFIX=/usr", "install"]
    subprocess.run(make, cwd=ROOT, check=True, capture_output=True, timeout=DEADLINE)
    # the socket of the cluster is below the same folder
    root = t.cluster.folder.parent
    try:
        machine = Machine(root, tree)
    except Unable as why:
        raise Skip(str(why)) from None
    t.cleanups.append(machine.close)
    machine.put(f"{HOME}/.config/mcp-interposer/config.ini", f"[ship]\nurl = {t.device('tester')}\n[redact]\npattern.word = sesame-[a-z]+\n")
    machine.put(f"{HOME}/.pgpass", "a\n")
    machine.put(f"{HOME}/server.py", SERVER)
    return machine


def state(machine):
    words = machine.user(f"systemctl --user show -p ActiveState -p SubState -p ExecMainStatus -p NRestarts {UNIT}").stdout.split()
    return dict(x.split("=") for x in words)


def record(machine, number, more=""):
    machine.put(f"{HOME}/said", lines(texts(number)))
    done = machine.user(f"mcp-interposer proxy --name echo {more} -- /usr/bin/python3 server.py <said >/dev/null")
    assert done.returncode == 0, done.stderr


@case("systemd: the unit sends in its sandbox, and may do nothing else")
def _(t):
    machine = boot(t)
    count = "SELECT count(*) FROM mcp_interposer.messages"
    # there is no vault yet: it waits; its sandbox cannot write to one that is made then, and it is started again later
    machine.put(f"{HOME}/.config/systemd/user/{UNIT}.service.d/said.conf", "[Service]\nStandardError=append:/dev/shm/said\n")
    assert machine.user(f"systemctl --user daemon-reload && systemctl --user start {UNIT}").returncode == 0
    wait_until(lambda: "waiting for the first recording" in machine.user("cat /dev/shm/said").stdout, OUTAGE)
    assert state(machine) == {"ActiveState": "active", "SubState": "running", "ExecMainStatus": "0", "NRestarts": "0"}, state(machine)
    record(machine, 3)
    wait_until(lambda: state(machine) | {"NRestarts": "0"} == {"ActiveState": "activating", "SubState": "auto-restart",
                                                             "ExecMainStatus": "3", "NRestarts": "0"}, OUTAGE)
    assert machine.user(f"systemctl --user restart {UNIT}").returncode == 0
    wait_until(lambda: t.cluster.psql(count) == "8", OUTAGE)
    record(machine, 2)
    wait_until(lambda: t.cluster.psql(count) == "14", OUTAGE)
    # a proxy and a recorder that were killed: what they left in memory is stored, redacted and sent
    machine.put(f"{HOME}/said", lines(["sesame-opens"]))
    machine.put(f"{HOME}/kill.py", KILL)
    done = machine.user("/usr/bin/python3 kill.py")
    assert done.returncode == 0, done.stderr
    assert machine.user(f"systemctl --user restart {UNIT}").returncode == 0
    wait_until(lambda: t.cluster.psql("SELECT end_reason FROM mcp_interposer.sessions WHERE name = 'killed'") not in ("", "client-closed"), OUTAGE)
    # the end of a session may be there before its last messages
    wait_until(lambda: t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages WHERE method = 'tools/call'") == "6", OUTAGE)
    assert "sesame" not in t.cluster.psql("SELECT string_agg(body, '') FROM mcp_interposer.messages")
    assert state(machine)["ActiveState"] == "active"
    # a process with the restrictions of the unit
    probe = "".join(f"if {how} >/dev/null 2>&1; then echo {json.dumps(what)}; fi\n" for what, how in PROBES.items())
    machine.put(f"{HOME}/probe.sh", probe)
    machine.put(f"{HOME}/.config/systemd/user/{UNIT}.service.d/probe.conf",
                f"[Service]\nExecStart=\nExecStart=/bin/sh {HOME}/probe.sh\nType=oneshot\nStandardOutput=file:/dev/shm/can\n")
    done = machine.user(f"systemctl --user daemon-reload && systemctl --user restart {UNIT}; cat /dev/shm/can")
    assert set(done.stdout.splitlines()) == ALLOWED, (set(done.stdout.splitlines()) ^ ALLOWED, done.stderr)
    able = set(machine.user("sh probe.sh").stdout.splitlines())
    assert able > ALLOWED | {"write to home", "write to /tmp", "make a namespace", "memory that is written and run"}, able


@case("systemd: a vault elsewhere needs a line, and a refused vault is not sent again")
def _(t):
    machine = boot(t)
    elsewhere = f"{HOME}/vault"
    machine.put(f"{HOME}/.config/systemd/user/{UNIT}.service.d/vault.conf",
                f"[Service]\nEnvironment=MCP_INTERPOSER_VAULT={elsewhere}\nStandardError=append:/dev/shm/said\n")
    record(machine, 3, f"--vault {elsewhere}")
    assert machine.user(f"systemctl --user daemon-reload && systemctl --user start {UNIT}").returncode == 0
    wait_until(lambda: state(machine)["ExecMainStatus"] == "3", OUTAGE)
    text = page("fleet.md")
    drop_in = text[text.index("[Service]\nReadWritePaths="):].split("```")[0].replace("/srv/vault", elsewhere)
    machine.put(f"{HOME}/.config/systemd/user/{UNIT}.service.d/more.conf", drop_in)
    assert machine.user(f"systemctl --user daemon-reload && systemctl --user restart {UNIT}").returncode == 0
    wait_until(lambda: t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "8", OUTAGE)
    # the same vault of another device: exit status 1
    t.init("--device", "other")
    t.cluster.psql("UPDATE mcp_interposer.vaults SET device = (SELECT id FROM mcp_interposer.devices WHERE name = 'other')")
    machine.user(f"systemctl --user restart {UNIT}")
    wait_until(lambda: state(machine) == {"ActiveState": "failed", "SubState": "failed", "ExecMainStatus": "1", "NRestarts": "0"}, OUTAGE)
    said = machine.user("cat /dev/shm/said").stdout
    assert "another device" in said, said
    # systemd's own opinion
    done = machine.user(f"systemd-analyze --user security {UNIT} | tail -n 1")
    assert "OK" in done.stdout, done.stdout
