"""Reading commands with `--from`: what they print of a store is what they print of the vault."""
import json
import shlex
import subprocess
import sys
from itertools import zip_longest

from cases import ROOT, case, sent
from cases_sending import moments
from cluster import DEADLINE, Middle
from fleet import shards, vaults_on
from vaults import PROGRAM, Vault, environment, exchange, texts

sys.path.append(str(ROOT / "tests/e2e"))

import forms  # noqa: E402
import lib  # noqa: E402

REPORTS = """sessions
sessions -n 2
sessions --json -n 0
sessions --failed
sessions --server other
show
show 1
show 1 --json
show 2 --bodies
show 2 --pretty --seq 3
show other --json
show --failed --method tools/call
stats
stats --by day --json
stats --by server
stats --session 2
stats --sent
stats --by server --sent --json
stats --server again
search echo
search --json -n 0 echo
search héllo 3
search -x "text"
search nothing-has-this
search hel* -n 0
search -x "héllo" -n 0
search "echo 1" "héllo" -n 0 --json
search HELLO kind:request status:ok
search héllo --session 2 -n 5
search 😀 -n 3
search ' ' tool:echo -n 2
search tool:echo -n 4
search kind:stderr --json
check 1
check --all --json
check other --format sarif
export 1 -F cassette
export 2 -F jsonl
export other -F csv
export 2 -F otlp
export 1 -F markdown
export 2 -F html
tail --once -n 30
tail --once -n 500 --json
tail --once --tool echo --session 2
tail --once --failed
tail --once --server nothing
diff 1 2
diff 1 2 --json
diff 2
diff other
tools
tools other --json
show 99
show nothing
check nothing
export 01""".splitlines()


def read(t, role, words, *options):
    """What a command prints of the store: status, stdout, stderr."""
    done = subprocess.run([PROGRAM, *words, "--from", t.cluster.url(role), *options], capture_output=True, text=True,
                          env=environment(t.folder), timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


def reads_store(cluster, name):
    cluster.psql(f"CREATE ROLE {name} LOGIN IN ROLE mcp_interposer_reader")


def here(vault, words):
    done = vault.command(*words)
    return done.returncode, done.stdout, done.stderr


def with_reader(t, name="boss"):
    reads_store(t.cluster, name)


def recorded(t, calls=150):
    """The second session has more than a page of messages."""
    vault = Vault(t.folder)
    vault.record(texts(40, large=2))
    vault.record(texts(calls))
    vault.record(texts(30, large=30, size=30_000), "--name", "other")
    return vault


def uids(vault):
    return [uid for uid, in vault.rows("SELECT uid FROM sessions ORDER BY id")]


def differing(ours, theirs):
    """The first lines that differ, shortened."""
    pairs = ((a, b) for a, b in zip_longest(ours.splitlines(), theirs.splitlines()) if a != b)
    return "\n".join(f"vault: {(a or '-')[:600]}\nstore: {(b or '-')[:600]}" for a, b in list(pairs)[:3])


@case("every report on the store is that on the vault, byte for byte")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    vault.record(texts(3), "--name", "again", "--sent", "new")
    sent(vault.to(url, "--once"))
    for line in [*REPORTS, "show " + uids(vault)[1][:14], "export " + uids(vault)[0]]:
        ours, theirs = here(vault, shlex.split(line)), read(t, "boss", shlex.split(line))
        assert ours[:2] == theirs[:2], f"{line}: {ours[0]} {theirs[0]}\n{differing(ours[1], theirs[1])}\n{theirs[2]}"
        assert bool(ours[2]) == bool(theirs[2]), (line, ours[2], theirs[2])


@case("tail follows a store: messages of a session that goes on, and of one that begins later")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    with_reader(t)
    vault.record(texts(3))
    live = vault.live()
    t.cleanups.append(live.kill)
    exchange(live, '{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    sent(vault.to(url, "--once"))
    tail = subprocess.Popen([PROGRAM, "tail", "--follow", "--json", "-n", "2", "--from", t.cluster.url("boss")], stdout=subprocess.PIPE,
                            text=True, env=environment(t.folder))
    t.cleanups.append(tail.kill)

    def lines(until):
        """The rows up to the one that is meant."""
        found = []
        while not found or not until(found[-1]):
            line = tail.stdout.readline()
            assert line, f"tail has ended, with {tail.wait()}"
            found.append(json.loads(line))
        return found
    lines(lambda r: r["type"] == "message" and r["kind"] == "result" and r["rpc_id"] == 1)
    exchange(live, '{"jsonrpc": "2.0", "id": 2, "method": "ping"}')
    sent(vault.to(url, "--once"))
    assert [r.get("rpc_id") for r in lines(lambda r: r.get("kind") == "result")] == [2, 2]
    vault.record(texts(1), "--name", "later")
    sent(vault.to(url, "--once"))
    [begun] = lines(lambda r: True)
    assert begun["type"] == "session" and begun["name"] == "later", begun
    new = lines(lambda r: r["type"] == "session")
    kinds = sorted(r["kind"] for r in new if r["type"] == "message")
    assert kinds == ["request", "request", "result", "result"], kinds
    tail.terminate()
    assert tail.wait(DEADLINE) == 0


@case("a call of a store is the same in every form, and as in the vault")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    with_reader(t)
    live = lib.Test("forms")
    t.cleanups.append(live.close)
    forms.record(live, vault.path)
    live.run("sessions", "--vault", vault.path)      # stores what the killed recorder had not
    sent(vault.to(url, "--once"))

    def run(*words):
        status, out, error = read(t, "boss", words)
        assert status == 0, (words, error)
        return out
    forms.walk(run, forms.truth(vault.rows(forms.TRUTH)), lib.eq)


@case("a redaction and a session that goes on are seen through the store, too")
def _(t):
    url, vault = t.device(), recorded(t, 700)        # more than a page of each kind
    with_reader(t)
    live = vault.live()
    t.cleanups.append(live.kill)
    exchange(live, '{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    vault.redact("[h]éllo", "1", busy=True)
    assert vault.rows("SELECT 1 FROM leaves WHERE leaf LIKE '%redact%'"), "nothing was redacted"
    sent(vault.to(url, "--once"))
    for line in ("show 1 --json", "show 2 --json", "show live --json", "search echo --json -n 0", "stats --json"):
        ours, theirs = here(vault, shlex.split(line)), read(t, "boss", shlex.split(line))
        drop = lambda s: "\n".join(x for x in s.split("\n") if '"state":"live"' not in x)       # noqa: E731, its duration grows
        assert drop(ours[1]) == drop(theirs[1]), (line, ours[1][:200], theirs[1][:200], theirs[2])


@case("a session without bodies and one with a gap are read, and large bodies are not in the pages")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once", "--level", "minimal"))
    t.cluster.psql("INSERT INTO mcp_interposer.events (session_uid, id, t_us, kind, detail) "
                   f"VALUES ('{uids(vault)[0]}', -1, 5, 'gap', '{{\"lost\":3}}')")
    status, out, error = read(t, "boss", ["show", "1", "--json"])
    rows = [json.loads(line) for line in out.splitlines()]
    messages = [r for r in rows if r["type"] == "message"]
    assert status == 0 and len(messages) == 82, (status, error, len(messages))
    assert not any(m.get("body") or m.get("body_error") for m in messages), messages[2]
    assert [r["kind"] for r in rows if r["type"] == "event"].count("gap") == 1, out[-500:]
    status, out, error = read(t, "boss", ["show", "1"])
    assert status == 0 and "does not have" not in out + error, out[:2000] + error


@case("two machines: --host, --user, numbers that both have, and a reader of one device")
def _(t):
    (t.folder / "a").mkdir()
    (t.folder / "b").mkdir()
    one, two = Vault(t.folder / "a"), Vault(t.folder / "b")
    one.record(texts(2))
    two.record(texts(3))
    two.record(texts(1))
    sent(one.to(t.device("laptop-a"), "--once"))
    sent(two.to(t.device("laptop-b"), "--once"))
    with_reader(t)
    t.cluster.psql("UPDATE mcp_interposer.sessions SET host = 'b.example' WHERE vault = '" + two.name() + "'")
    t.cluster.psql("UPDATE mcp_interposer.vaults SET os_user = 'ben' WHERE uid = '" + two.name() + "'")

    def numbers(*options, role="boss"):
        status, out, error = read(t, role, ["sessions", "--json"], *options)
        assert status == 0, error
        return out.count('"type":"session"')

    assert numbers() == 3
    assert numbers("--host", "b.example") == 2 and numbers("--host", "b*") == 2 and numbers("--host", "[a-c].example") == 2
    assert numbers("--host", "b") == 0 and numbers("--host", "b?example") == 2 and numbers("--host", "bxexample") == 0
    assert numbers("--host", "[!b]*") == 1 and numbers("--host", "[!a]*") == 3, "not a class"
    assert numbers("--user", "ben") == 2 and numbers("--user", "b*") == 2 and numbers("--user", "nobody") == 0
    status, _, error = read(t, "boss", ["show", "1"])
    assert status == 3 and "several vaults have a session 1; give the beginning of its UID" in error, error
    status, out, _ = read(t, "boss", ["sessions"])
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:5] == ["UID", "STARTED", "HOST", "SERVER", "CLIENT"], out
    assert [uids(two)[1], uids(two)[0], uids(one)[0]] == [u for line in lines[1:] for u in uids(one) + uids(two) if u.startswith(line[0])], out
    assert [line[3] for line in lines[1:3]] == ["b.example"] * 2 and all(len(line[0]) >= 10 for line in lines[1:]), out
    for line in lines[1:]:
        assert read(t, "boss", ["show", line[0]])[0] == 0, line
    status, out, _ = read(t, "boss", ["search", "tool:echo", "-n", "0"])
    found = {line.split()[0] for line in out.splitlines() if not line.startswith(" ")}
    assert status == 0 and found == {u[:10] for u in uids(one) + uids(two)}, out
    for line in ("sessions", "search tool:echo -n 0"):      # of one vault, as there
        assert read(t, "boss", line.split(), "--user", "ben")[1].replace("b.example", "") == here(two, line.split())[1], line
    status, _, error = read(t, "boss", ["sessions", "--host", "none"])
    assert status == 0 and "has no session that this role may read and that --host and --user select" in error, error
    status, out, _ = read(t, "boss", ["show", "1", "--host", "b*"])
    assert status == 0 and uids(two)[0] in out
    status, out, _ = read(t, "boss", ["show", uids(one)[0]])
    assert status == 0 and out == here(one, ["show", "1"])[1]

    t.cluster.psql("CREATE ROLE team LOGIN; SELECT mcp_interposer.add_reader('team', ARRAY['laptop-a'])")
    assert numbers(role="team") == 1
    assert read(t, "team", ["show", uids(one)[0]])[1] == here(one, ["show", "1"])[1]
    assert read(t, "team", ["show", uids(two)[0]])[0] == 3
    status, _, error = read(t, "laptop-a", ["sessions"])
    assert status == 3 and "permission denied" in error and "GRANT mcp_interposer_reader" in error, error


@case("--from with a wrong URL, without a schema, and beside --vault")
def _(t):
    status, _, error = read(t, "boss", ["sessions"], "--from", "mysql://x")
    assert status == 2 and "--from: not a URL of PostgreSQL" in error, error
    status, _, error = read(t, "boss", ["sessions"], "--from", "postgresql://a:secret@b/c")
    assert status == 2 and "~/.pgpass" in error and "secret" not in error, error
    with_reader(t)
    status, _, error = read(t, "boss", ["sessions"], "--vault", t.folder)
    assert status == 2 and "--from and --vault" in error, error
    status, _, error = read(t, "boss", ["sessions"], "--from", "postgresql://boss@/postgres?host=/nonexistent")
    assert status == 3 and "/nonexistent" in error, error
    t.cluster.psql("DROP SCHEMA mcp_interposer CASCADE")
    status, _, error = read(t, "boss", ["sessions"])
    assert status == 3 and "ship init" in error, error
    done = subprocess.run([PROGRAM, "sessions", "--host", "x"], capture_output=True, text=True, env=environment(t.folder),
                          timeout=DEADLINE)
    assert done.returncode == 2 and "--host and --user need --from" in done.stderr, done.stderr


@case("a reader whose connection is cut goes on")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once"))
    middle = Middle(t.cluster, t.folder / "m")
    t.cleanups.append(middle.close)
    local = here(vault, ["show", "1", "--json"])[1]
    for call, when in moments(0, ("read_sessions_2", "read_messages_2", "read_events", "read_body")):
        middle.interrupt(call, when)
        status, out, error = read(t, "boss", ["show", "1", "--json"], "--from", t.cluster.url("boss", middle.folder))
        assert status == 0, error
        assert out == local
        assert not middle.plan, f"{call} was not called"


@shards("the reading commands print of the router what they print of the vaults")
def _(t, f):
    found = vaults_on(t, f, f.device("laptop"), (1, 2), what=30)
    for c in (f.router, *f.shards):
        reads_store(c, "reads_all")
    url = f.router.url("reads_all")

    def read(*words):
        done = subprocess.run([PROGRAM, *words, "--from", url], capture_output=True, text=True, env=environment(t.folder), timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for vault in found.values():
        uid = vault.rows("SELECT uid FROM sessions")[0][0]
        for words in (("show", uid), ("show", uid, "--json"), ("export", uid, "-F", "jsonl"),
                      ("search", "--session", uid, "héllo", "7", "-n", "0", "--json"), ("stats", "--session", uid)):
            assert read(*words) == vault.command(*words).stdout, words
    listed = [json.loads(line)["uid"] for line in read("sessions", "--json", "-n", "0").splitlines()]
    assert listed == sorted(listed, reverse=True) and len(listed) == int(sum(int(s.psql("SELECT count(*) FROM mcp_interposer.sessions"))
                                                                             for s in f.shards)), listed
    words = ("search", "héllo", "7", "-n", "0", "--json")
    one = next(iter(found.values()))
    assert len(read(*words).splitlines()) == len(one.command(*words).stdout.splitlines()) * len(listed)
