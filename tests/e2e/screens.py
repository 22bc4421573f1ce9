"""The terminal interface in tmux, and vaults for it: for tests of `ui`."""
import contextlib
import json
import re
import shlex
import shutil
import subprocess

import lib
from lib import check
from looking import add_message, add_session, make_vault

START = 1795256137000000


class Screen:
    """`mcp-interposer ARGS` in a terminal of tmux. starter: words of a command that executes the program."""

    def __init__(self, t, *args, size=(80, 24), env=None, term="tmux-256color", tmux=False, starter=()):
        if shutil.which("tmux") is None:
            raise lib.Skip("tmux is not installed")
        lib.settle()
        self.socket = str(t.tmp / f"tmux-{next(t.numbers)}")
        command = " ".join(shlex.quote(str(a)) for a in (*starter, lib.PROGRAM, *args))
        env = t.environ({"LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": term, "TMUX": None, **(env or {})})
        # The program gets its variables from `env`: tmux sets TERM and others itself.
        words = " ".join(shlex.quote(f"{k}={v}") for k, v in env.items())
        self.tmux("-f", "/dev/null", "-u", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]),
                  f"env -i {words} {'TMUX=$TMUX' if tmux else ''} {command}; echo exit status $?; stty -a | grep -o '.icanon'; exec sleep 1000", env=env)
        t.closing.callback(self.tmux, "kill-server", check=False)
        self.client = subprocess.Popen(["tmux", "-S", self.socket, "-C", "attach-session", "-f", "ignore-size,no-output"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, env=env)
        t.closing.callback(self.leave)
        self.answer()

    def leave(self):
        """Ends the client in control mode. At the end of its input it would wait for whoever reads its output."""
        self.client.kill()
        self.client.communicate()

    def ask(self, *words):
        """As tmux(), through the client in control mode: a process for each look at the screen takes most of the time of a case."""
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        self.client.stdin.write(f"{quoted}\n".encode())
        self.client.stdin.flush()
        return self.answer()

    def answer(self):
        """What stands between %begin and %end; lines of other kinds are notifications."""
        lines = None
        for line in self.client.stdout:
            word = line.split(b" ", 1)[0]
            if lines is not None and word in (b"%end", b"%error"):
                check(word == b"%end", lambda: f"tmux: {lines}")
                return b"".join(lines).decode()
            if lines is not None:
                lines.append(line)
            elif word == b"%begin":
                lines = []
        raise lib.Failure("tmux has ended")

    def tmux(self, *args, check=True, env=None):
        return subprocess.run(["tmux", "-S", self.socket, *args], check=check, stdout=subprocess.PIPE, env=env,
                              stderr=subprocess.STDOUT if check else subprocess.DEVNULL).stdout.decode()

    def text(self, *options):
        return self.ask("capture-pane", "-p", *options)

    def lines(self):
        return self.text().split("\n")

    def keys(self, *keys):
        self.ask("send-keys", *keys)

    def type(self, text):
        self.ask("send-keys", "-l", text)

    def sees(self, *wanted, gone=()):
        """Waits until the screen has all of these, and none of `gone`; returns it."""
        def found():
            text = self.text()
            ok = all(re.search(w, text, re.M) for w in wanted) and not any(re.search(g, text, re.M) for g in gone)
            return text if ok else None
        return lib.wait_until(found, 10, lambda: f"{wanted} without {gone} in\n{self.text()}")

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def pid(self):
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        def child():
            out = subprocess.run(["ps", "--ppid", str(shell), "-o", "pid=,comm="], stdout=subprocess.PIPE, check=False).stdout.decode()
            return [int(x.split()[0]) for x in out.splitlines() if "mcp-interposer" in x]
        return lib.wait_until(child, 10, "the process of ui")[0]

    def quit(self):
        self.keys("Q")
        self.ended(0)

    def ended(self, status):
        text = self.sees(rf"^exit status {status}$", r"^ ?-?icanon")
        check("-icanon" not in text, f"the terminal was not restored:\n{text}")


def request(db, session, seq, tool, arguments=None, **more):
    body = {"jsonrpc": "2.0", "id": seq, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}}}
    add_message(db, session, seq, kind="request", rpc_id=str(seq), method="tools/call", target=tool, body=json.dumps(body), **more)


def answer(db, session, seq, to, text, **more):
    error = more.get("kind") == "error"
    body = {"jsonrpc": "2.0", "id": to, **({"error": {"code": -32000, "message": text}} if error else
            {"result": {"content": [{"type": "text", "text": text}]}})}
    add_message(db, session, seq, **{"direction": "s2c", "kind": "result", "rpc_id": str(to), "request_seq": to,
                                     "body": json.dumps(body), **more})


def small(t, calls=30):
    """Session 1 `files`: calls of two tools; the fourth fails. Session 2 `mail`: one call without an answer."""
    with contextlib.closing(make_vault(t.vault)) as db:
        db.execute("BEGIN")
        add_session(db, 1, name="files", client_name="tester", started_at_us=START, ended_at_us=START + 10**8, end_reason="client-closed", exit_status=0)
        for i in range(calls):
            request(db, 1, 2 * i + 1, ("read_file", "list_dir")[i % 2], {"path": f"/tmp/{i}"}, t_us=i * 10**6)
            answer(db, 1, 2 * i + 2, 2 * i + 1, f"content {i}", t_us=i * 10**6 + 1000 * (i + 1),
                   **({"kind": "error"} if i == 3 else {}))
        add_session(db, 2, name="mail", started_at_us=START + 10**8, ended_at_us=START + 2 * 10**8, end_reason="client-closed", exit_status=0)
        request(db, 2, 1, "send_email", {"to": "someone"})
        add_message(db, 2, 2, kind="stderr", direction="s2c", body="cannot reach the mail server")
        db.execute("COMMIT")
