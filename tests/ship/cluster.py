"""A private PostgreSQL cluster with a Unix socket, and a proxy in front of it that interrupts at a chosen call."""
import ast
import functools
import glob
import inspect
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from connection import Connection, Refused

for name in [n for n in os.environ if n.startswith("PG")]:      # the user's own settings
    del os.environ[name]
PORT = 5432
# Of conditions: SOON if nothing fails, OUTAGE if a shipper must try again, which it does after 1 s, 2 s, 4 s and so on.
SOON, OUTAGE = 30, 60
DEADLINE = 120      # of a program that must end; a machine may be busy
SEEN_CHARACTERS = 1000
COPY = "STRATEGY FILE_COPY"     # of a database; the other strategy writes all of it to the log
SAVED, NEAR = "saved", "near"       # names of databases
# `ship init` makes 37 months. A new connection reads the catalogue of each of them, and so a query of a few rows takes three times
# as long as with these four. A type with the name of a month: another `ship init` does not make it.
FAR_MONTHS = """DO $$
DECLARE
    part text;
BEGIN
    FOR part IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE c.relnamespace = 'mcp_interposer'::regnamespace AND c.relkind = 'r' AND c.relname ~ '_[0-9]{4}_[0-9]{2}$'
                AND to_date(right(c.relname, 7), 'YYYY_MM') NOT BETWEEN now() - interval '2 months' AND now() + interval '2 months' LOOP
        EXECUTE format('DROP TABLE mcp_interposer.%I', part);
        EXECUTE format('CREATE TYPE mcp_interposer.%I AS ()', part);
    END LOOP;
END $$"""

# Functions of the store that a shipper calls.
CALLS = ("hello", "vault_state", "watermarks", "put_leaves", "put_checkpoints", "put_sessions", "put_piece", "put_messages",
         "put_events", "put_replaced", "put_handled")


def programs():
    """The newest server programs of this machine; None: there are none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[4]))
    path = found[-1] if found else shutil.which("initdb")
    return Path(path).resolve().parent if path else None


@functools.cache
def version():
    """As the server prints it."""
    said = subprocess.run([programs() / "postgres", "--version"], capture_output=True, text=True, check=True, timeout=DEADLINE).stdout
    return said.split()[2]


def no_server():
    """Why there can be no cluster on this machine; empty: there can be."""
    if not programs():
        return "no PostgreSQL server is installed (scripts/setup --check)"
    if int(re.match(r"\d+", version())[0]) < 15:
        return f"PostgreSQL 15 or later is needed, and {version()} is installed"
    return ""


@functools.cache
def account():
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def drop():
    """For preexec_fn: takes the account of the server."""
    if user := account():
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)


def run(program, *args):
    """One of the server's programs, with its account."""
    account()       # not first between fork and exec
    done = subprocess.run([programs() / program, *map(str, args)], preexec_fn=drop, cwd="/", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=DEADLINE, text=True)
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stdout}")


def make_folder(path):
    """One that the server can write to."""
    path.mkdir(mode=0o755)
    if user := account():
        os.chown(path, user.pw_uid, user.pw_gid)


def make_data(path, store=False):
    """The files of a new cluster: a copy of the folder CLUSTER_TEMPLATE in the environment, which is faster, or made by initdb.
    store: of one with an empty store, a copy of STORE_TEMPLATE. All of these have the same identity: a case has one of them."""
    if template := os.environ["STORE_TEMPLATE"] if store else os.environ.get("CLUSTER_TEMPLATE"):
        subprocess.run(["cp", "-a", template, path], check=True, timeout=DEADLINE)
    else:
        run("initdb", "-D", path, "-U", "admin", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")


def free_port():
    """Of TCP, on this machine, at this moment."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Cluster:
    def __init__(self, folder, durable=False, more=None, standby_of=None, store=False):
        """durable: with fsync. more: settings, made when the folder exists. standby_of: a cluster that it follows,
        asynchronously, until promote(). store: as of make_data()."""
        self.folder, self.bin, self.user = Path(folder), programs(), account()
        self.own = threading.local()        # idle: a connection of admin
        self.saved = {SAVED, NEAR} if store else set()      # names for restore()
        make_folder(self.folder)
        if standby_of:
            self.run("pg_basebackup", "-d", standby_of.url(), "-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast",
                     "--no-sync")
        else:
            make_data(self.folder / "data", store)
        options = {"listen_addresses": "", "unix_socket_directories": self.folder, "port": PORT, "max_connections": 60,
                   "fsync": "on" if durable else "off", "log_min_messages": "warning", "shared_buffers": "32MB",
                   "restart_after_crash": "on"}
        if not durable:         # those measure; the others would compile queries that read a few rows, for seconds, and vacuum all the time
            options |= {"jit": "off", "autovacuum": "off", "full_page_writes": "off"}
        options |= more(self) if more else {}
        with (self.folder / "data/postgresql.conf").open("a") as f:
            f.writelines(f"{k} = '{v}'\n" for k, v in options.items())
        self.start()
        self.saved_roles = self.roles() if store else set()

    run = staticmethod(run)

    def control(self, *words):
        """pg_ctl, which waits until it is done."""
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "-t", DEADLINE - 20, *words)

    def start(self):
        # pg_ctl's output must not be our pipe: the server would keep it open
        with open(self.folder / "ctl", "w") as out:
            done = subprocess.run([self.bin / "pg_ctl", "-D", self.folder / "data", "-w", "-t", str(DEADLINE - 20), "-l",
                                   self.folder / "data/server.log", "start"], preexec_fn=drop, cwd="/", stdout=out,
                                  stderr=out, stdin=subprocess.DEVNULL, timeout=DEADLINE)
        if done.returncode:
            raise RuntimeError("cannot start: " + (self.folder / "ctl").read_text() +
                               (self.folder / "data/server.log").read_text()[-2000:])

    def start_again(self):
        """A case that failed may have left it stopped."""
        if not self.runs():
            self.start()

    def stop(self, mode="fast"):
        self.control("-m", mode, "stop")

    def runs(self):
        try:
            os.kill(int((self.folder / "data/postmaster.pid").read_text().split("\n")[0]), 0)
        except (OSError, ValueError):
            return False
        return True

    def accepts(self):
        return self.psql("SELECT 1", check=False).strip() == "1"

    def promote(self):
        self.control("promote")

    def receives(self):
        """Whether it is a standby, and connected."""
        return self.psql("SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'") == "1"

    def stop_receiving(self):
        """A standby that has lost its primary, which goes on."""
        self.psql("ALTER SYSTEM SET primary_conninfo = ''")
        self.psql("SELECT pg_reload_conf()")
        wait_until(lambda: not self.receives())

    def add_device(self, name):
        """As `ship init --device NAME`, without doing all of init again."""
        self.psql(f"SELECT mcp_interposer.add_device('{name}')")

    def save(self, name=SAVED):
        """Keeps the database and the names of the roles as they are now, for restore()."""
        self.saved_roles |= self.roles()
        self.psql(f"DROP DATABASE IF EXISTS {name}")
        self.psql(f"CREATE DATABASE {name} TEMPLATE postgres {COPY}")
        self.saved.add(name)

    def save_store(self):
        """A store that `ship init` has just made: as SAVED, and without most of its months as NEAR, in which it stays."""
        self.save()
        self.psql(FAR_MONTHS)
        self.save(NEAR)

    def restore(self, name=SAVED):
        """The database is as it was at save(), also if its schema was changed; that is much faster than `ship init`. Roles made since
        then are dropped, so that no case depends on those before it."""
        c = self.connect("admin", name)
        for sql in ("DROP DATABASE IF EXISTS postgres WITH (FORCE)", f"CREATE DATABASE postgres TEMPLATE {name} {COPY}"):
            _, said, failed = c.query(sql)
            if failed:
                raise RuntimeError(said)
        c.close()
        if new := self.roles() - self.saved_roles:
            self.psql("DROP ROLE " + ", ".join(f'"{name}"' for name in sorted(new)))

    def roles(self):
        return set(self.psql("SELECT rolname FROM pg_roles").split("\n"))

    def url(self, role="admin", folder=None, database="postgres"):
        return f"postgresql://{role}@/{database}?host={folder or self.folder}&port={PORT}"

    def psql(self, sql, role="admin", check=True, database="postgres"):
        """The rows, as tab-separated lines; with check=False also the errors and notices. As `psql -c`: one transaction."""
        keep = role == "admin" and database == "postgres" and not sql.startswith("SET ")
        try:
            c = self.own.__dict__.pop("idle", None) if keep else None
            if not c or not c.is_idle():
                c = self.connect(role, database)
            rows, said, failed = c.query(sql)
            if keep:
                self.own.idle = c
            else:
                c.close()
        except Refused as e:
            rows, said, failed = [], str(e), True
        if not check:
            return "".join(f"{row}\n" for row in rows) + said
        if failed:
            raise RuntimeError(said)
        return "\n".join(rows).strip("\n")

    def connect(self, role, database):
        return Connection(self.folder / f".s.PGSQL.{PORT}", role, database, DEADLINE)


def serve(listener, connection):
    """Calls `connection` in a thread for each connection, until the listener is closed."""
    def accept():
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=connection, args=(near,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()


class Middle:
    """Passes connections on to a cluster. interrupt(call, when, do): `do` is called once, when this function is called:
    `before` it reaches the server, `after` the server has answered and the answer is held back, or `cut`: half of the
    answer is passed on. Then the connection is closed. `during`: before it reaches the server, and everything goes on."""

    def __init__(self, cluster, folder):
        self.cluster, self.folder = cluster, Path(folder)
        self.folder.mkdir()
        self.plan = None
        self.open = set()       # sockets
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.folder / f".s.PGSQL.{PORT}"))
        (self.folder / f".s.PGSQL.{PORT}").chmod(0o777)         # for a router, which has the account of the server
        self.listener.listen(50)
        serve(self.listener, self.connection)

    def close(self):
        self.listener.close()

    def cut(self):
        """Ends all connections."""
        for s in list(self.open):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def interrupt(self, call, when, do=lambda: None):
        self.plan = (call.encode(), when, do)

    def take(self, data):
        """The plan, if this is the call that it waits for."""
        with self.lock:
            if self.plan and b"mcp_interposer." + self.plan[0] + b"(" in data:
                plan, self.plan = self.plan, None
                return plan
        return None

    def connection(self, near):
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(str(self.cluster.folder / f".s.PGSQL.{PORT}"))
        except (OSError, AttributeError):       # or there is no cluster now
            near.close()
            return
        state = {"plan": None}
        self.open |= {near, far}
        back = threading.Thread(target=self.answers, args=(near, far, state), daemon=True)
        back.start()
        tail = b""
        try:
            while data := near.recv(1 << 16):
                plan = self.take(tail + data)
                tail = data[-100:]
                if plan and plan[1] == "before":
                    plan[2]()
                    break
                if plan and plan[1] == "during":
                    plan[2]()
                elif plan:
                    state["plan"] = plan
                far.sendall(data)
        except OSError:
            pass
        for s in (near, far):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        back.join(DEADLINE)
        self.open -= {near, far}
        near.close()
        far.close()

    def answers(self, near, far, state):
        held = b""
        try:
            while data := far.recv(1 << 16):
                plan = state["plan"]
                if not plan:
                    near.sendall(data)
                    continue
                held += data
                # ReadyForQuery is the end of an answer
                if not re.search(rb"Z\0\0\0\x05[ITE]$", held):
                    continue
                if plan[1] == "cut":
                    near.sendall(held[:len(held) // 2])
                plan[2]()
                break
        except OSError:
            pass
        for s in (near, far):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def kill(started):
    """For interrupt(): ends the sender at once. started: a list to which the process is added when it was started."""
    def do():
        wait_until(lambda: started)     # the sender may call before its parent knows of it
        started[0].send_signal(signal.SIGKILL)
        started[0].wait(DEADLINE)
    return do


def _lambda(what):
    """The expression of a lambda, in its source."""
    code = what.__code__
    tree = ast.parse(Path(code.co_filename).read_text())
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    return next(n.body for n in found if [a.arg for a in n.args.args] == list(code.co_varnames[:code.co_argcount]))


def described(what):
    """What was waited for, and the values that its parts have now."""
    try:
        whole = _lambda(what)
        seen = inspect.getclosurevars(what)
        names = seen.builtins | seen.globals | seen.nonlocals
        names |= {n: p.default for n, p in inspect.signature(what).parameters.items()}
    except (OSError, StopIteration, AttributeError, TypeError):
        return str(getattr(what, "__qualname__", what))
    text, parts = ast.unparse(whole), whole.values if isinstance(whole, ast.BoolOp) else [whole]
    for part in parts:
        part = part.operand if isinstance(part, ast.UnaryOp) else part
        for x in [part.left, *part.comparators] if isinstance(part, ast.Compare) else [part]:
            if isinstance(x, ast.Constant):
                continue
            try:
                value = repr(eval(compile(ast.Expression(x), "what", "eval"), names))
            except Exception as e:      # that is what is seen
                value = repr(e)
            text += f"\n{ast.unparse(x)} is {value[:SEEN_CHARACTERS]}"
    return text


def wait_until(what, seconds=SOON):
    """What takes long is asked less often: waiting takes at most a third of a processor."""
    start = asked = time.monotonic()
    while not what():
        now = time.monotonic()
        if now > start + seconds:
            raise RuntimeError(f"waited {seconds} s in vain for: {described(what)}")
        time.sleep(max(0.02, 2 * (now - asked)))
        asked = time.monotonic()
