"""A private pgbouncer in front of a cluster."""
import re
import signal
import socket
import subprocess
from pathlib import Path

from cases import page
from cluster import DEADLINE, drop, free_port, make_folder, wait_until

PROGRAM = "/usr/sbin/pgbouncer"


def documented():
    """pgbouncer.ini of docs/fleet-admin.md."""
    return re.search(r"```ini\n(\[databases\].*?)```", page("fleet-admin.md"), re.S).group(1)


class Pooler:
    """`settings` replace lines of the documented configuration, or are added to it."""

    def __init__(self, cluster, folder, **settings):
        self.cluster, self.folder, self.port = cluster, Path(folder), free_port()
        make_folder(self.folder)
        said = {"listen_addr": "127.0.0.1", "listen_port": self.port, "unix_socket_dir": self.folder,
                "auth_file": self.folder / "users", "logfile": self.folder / "log"} | settings
        text = documented().replace("host=db.example", f"host={cluster.folder} port=5432").replace("dbname=fleet", "dbname=postgres")
        for key, value in said.items():
            text, n = re.subn(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.M)
            text += "" if n else f"{key} = {value}\n"
        self.config = self.folder / "pgbouncer.ini"
        self.config.write_text(text)
        (self.folder / "users").write_text('"pgbouncer" "words"\n')
        for name in ("pgbouncer.ini", "users"):
            (self.folder / name).chmod(0o644)
        self.process = None
        self.start()

    def start(self):
        self.process = subprocess.Popen([PROGRAM, self.config], preexec_fn=drop, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self.answers)

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError("pgbouncer does not start: " + (self.folder / "log").read_text()[-1000:])
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(DEADLINE)
