"""A systemd with a user, in namespaces of its own on top of this machine's files: what is written there is gone afterwards."""
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

from cluster import DEADLINE

USER = "tester"
HOME = f"/home/{USER}"
# $0: a folder of the test, which stays visible under its own name; $1: a tree that is laid over the machine's files.
BOOT = r"""
mount --make-rprivate /
cd "$0"; mkdir -p top root
mount -t tmpfs none top
mkdir top/upper top/work
cp -a "$1/." top/upper
mount -t overlay -o lowerdir=/,upperdir=top/upper,workdir=top/work overlay root
cd root
mount -t proc proc proc
mount --bind proc/sys proc/sys; mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for x in run tmp dev; do mount -t tmpfs -o mode=755 none $x; done
chmod 1777 tmp
for x in null zero full random urandom tty; do : >dev/$x; mount --bind /dev/$x dev/$x; done
ln -s /proc/self/fd dev/fd
mkdir dev/shm; mount -t tmpfs -o mode=1777 none dev/shm
mkdir -p ".$0"; mount --rbind "$0" ".$0"
: >etc/machine-id
ln -sf /usr/lib/systemd/system/basic.target etc/systemd/system/machine.target
useradd --root "$PWD" -m -u 64999 -s /bin/sh tester
mkdir old; pivot_root . old; umount -l old
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=basic.target --show-status=false
"""


class Unable(Exception):
    """It cannot be done here."""


def cgroups():
    found = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"]
    if os.geteuid() != 0 or not found:
        raise Unable("needs root and version 2 of control groups")
    return Path(found[0])


class Machine:
    def __init__(self, folder, tree):
        if not Path("/lib/systemd/systemd").exists() or not shutil.which("nsenter") or not shutil.which("useradd"):
            raise Unable("systemd is not installed")
        self.group = cgroups() / f"ship-test-{os.getpid()}"
        self.group.mkdir()
        self.log = Path(folder) / "boot.log"
        with self.log.open("w") as out:
            self.process = subprocess.Popen(
                ["sh", "-ec", 'echo $$ >"$1"; shift; exec "$@"', "sh", self.group / "cgroup.procs", "unshare", "--mount", "--pid",
                 "--fork", "--kill-child", "--cgroup", "--uts", "--ipc", "sh", "-ec", BOOT, folder, tree],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            self.leader = self.wait(self.find_leader)
            self.wait(lambda: self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded"))
            self.check("systemctl", "start", "user@64999.service")
        except BaseException:
            self.close()
            raise

    def wait(self, what, seconds=DEADLINE):
        end = time.monotonic() + seconds
        while not (found := what()):
            if self.process.poll() is not None:
                raise Unable("systemd does not start here: " + self.log.read_text()[-1000:])
            if time.monotonic() > end:
                raise RuntimeError("systemd does not answer: " + self.log.read_text()[-1000:])
            time.sleep(0.1)
        return found

    def find_leader(self):
        with contextlib.suppress(OSError):  # a child that has just exited
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            if children and b"systemd" in Path(f"/proc/{children[0]}/cmdline").read_bytes().split(b"\0")[0]:
                return children[0]
        return None

    def run(self, *words, **more):
        return subprocess.run(["nsenter", "-t", self.leader, "-m", "-p", "-C", "-u", "-i", "-r", "-w", *map(str, words)],
                              capture_output=True, text=True, timeout=DEADLINE, **more)

    def check(self, *words, **more):
        done = self.run(*words, **more)
        if done.returncode:
            raise RuntimeError(f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def user(self, line):
        """A line of the shell, as the user."""
        folder = "/run/user/64999"
        return self.run("setpriv", "--reuid", 64999, "--regid", 64999, "--init-groups", "env", "-i", f"HOME={HOME}", f"USER={USER}",
                        f"XDG_RUNTIME_DIR={folder}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={folder}/bus",
                        "PATH=/usr/local/bin:/usr/bin:/bin", "sh", "-c", f"cd; {line}")

    def put(self, name, text):
        """A file of the user."""
        done = self.user(f"mkdir -p {shlex.quote(os.path.dirname(name))} && printf %s {shlex.quote(text)} >{shlex.quote(name)}")
        assert done.returncode == 0, done.stderr

    def close(self):
        self.process.send_signal(signal.SIGKILL)     # --kill-child: and all that runs in it
        self.process.wait(DEADLINE)
        end = time.monotonic() + 60
        while self.group.exists() and time.monotonic() < end:
            for path, _, _ in os.walk(self.group, topdown=False):
                try:
                    os.rmdir(path)
                except OSError:
                    time.sleep(0.05)
