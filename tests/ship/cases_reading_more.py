"""Reading commands with `--from`: errors of the store, several vaults, and what the commands ask of it."""
import re
import subprocess

from cases import ROOT, case, sent
from cases_reading import here, read, recorded, uids, with_reader
from cluster import DEADLINE
from vaults import GRACE, PROGRAM, Vault, environment, texts

EXPORTS = ["cassette", "jsonl", "otlp", "markdown", "html"]


def asked(t, words):
    """The functions of the store that a command calls, and its stdout."""
    t.cluster.psql("ALTER ROLE boss SET log_statement = 'all'")
    log = t.cluster.folder / "data/server.log"
    before = log.stat().st_size
    status, out, error = read(t, "boss", words)
    assert status == 0, (words, error)
    return re.findall(r"mcp_interposer\.(read_\w+)\(", log.read_bytes()[before:].decode()), out


def add_old(t, uid, n):
    """n sessions of 1970, which differ from this one in nothing else."""
    t.cluster.psql(f"""INSERT INTO mcp_interposer.sessions SELECT (x).* FROM (SELECT jsonb_populate_record(s,
        jsonb_build_object('uid', lpad(i::text, 26, '0'), 'id', 100 + i, 'started_at_us', 0)) AS x
        FROM mcp_interposer.sessions s, generate_series(1, {n}) i WHERE s.uid = '{uid}') y""")


@case("a command ends with an error if a large body cannot be read")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once"))
    t.cluster.psql("REVOKE EXECUTE ON FUNCTION mcp_interposer.read_body FROM PUBLIC")
    file = t.folder / "out"
    shows = [["show", "1", *options] for options in ([], ["--json"], ["--bodies"], ["--pretty"])]
    searches = ["search", "-n", "0", "yyy*"], ["search", "-n", "0", "-x", "yyyy"]
    for words in (*shows, *searches, ["check", "1"], *(["export", "1", "-F", form] for form in EXPORTS), ["export", "1", "-F", "jsonl", "-o", str(file)]):
        status, _, error = read(t, "boss", words)
        assert status == 3 and "permission denied" in error, (words, status, error)
    assert not file.exists(), "an incomplete file"


@case("sessions --since and search do not read sessions that they do not need")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once"))
    few = ["sessions", "--json", "--since", "1h"], ["search", "hel*", "-n", "3"]
    before = [asked(t, words) for words in few]
    add_old(t, uids(vault)[0], 600)
    calls, out = asked(t, few[0])
    # a page, the one before the oldest, which decides how long its UID is shown, and the end of the list
    assert out == before[0][1] and calls.count("read_sessions_2") == 3, (out, calls)
    calls, out = asked(t, few[1])
    assert out == before[1][1] == here(vault, few[1])[1], out
    assert calls.count("read_sessions_2") == 1 and calls.count("read_search") == 1, calls
    calls, out = asked(t, ["sessions", "--json", "-n", "0"])
    assert out.count("\n") == 603 and calls.count("read_sessions_2") < 12, (out.count("\n"), calls.count("read_sessions_2"))
    t.cluster.psql(f"UPDATE mcp_interposer.sessions SET started_at_us = 7 WHERE uid = '{uids(vault)[2]}'")
    _, out = asked(t, few[0])       # a time that is not that of the UID does not end the list
    assert re.findall('"uid":"(\\w+)"', out) == [uids(vault)[1], uids(vault)[0]], out


def two_vaults(t):
    """Of two machines, with one session each."""
    found = []
    for name in ("a", "b"):
        (t.folder / name).mkdir()
        vault = Vault(t.folder / name)
        vault.record(texts(2))
        sent(vault.to(t.device("laptop-" + name), "--once"))
        found.append(vault)
    with_reader(t)
    return found


def rename(t, old, new):
    t.cluster.psql("SET session_replication_role = replica; " +       # without the checks of foreign keys
                   "".join(f"UPDATE mcp_interposer.{table} SET {column} = E'{new}' WHERE {column} = '{old}';" for table, column in
                           (("sessions", "uid"), ("messages", "session_uid"), ("events", "session_uid"))))


@case("sessions of one millisecond have different names in check, search and sessions")
def _(t):
    old = [uids(vault)[0] for vault in two_vaults(t)]
    new = [old[0][:13] + last + old[0][14:] for last in "89"]
    for names in zip(old, new):
        rename(t, *names)
    heads = {u[:14] for u in new}
    words = {"sessions": "sessions", "search": "search tool:echo -n 0", "check": "check --all"}
    found = {name: read(t, "boss", line.split())[1] for name, line in words.items()}
    for name, out in found.items():
        named = re.findall(r"\b01[0-9A-Z]+\b", out)
        assert set(named) == heads, (name, out)
    assert all(f"session {head} (echo): 6 messages" in found["check"] for head in heads), found["check"]


@case("check --all asks for each session once")
def _(t):
    url, vault = t.device(), recorded(t)
    with_reader(t)
    sent(vault.to(url, "--once"))
    calls, _ = asked(t, ["check", "--all", "--fail-on", "none"])
    assert calls.count("read_sessions_2") == 2, calls     # the list, and its end


@case("--vault on the command line precedes a store of the environment or of the configuration, --from does not")
def _(t):
    vault = recorded(t)         # it is sent nowhere
    with_reader(t)
    (t.folder / "config.ini").write_text(f"from = {t.cluster.url('boss')}\n")
    of_file = ["--config", t.folder / "config.ini"]
    of_environment = {"MCP_INTERPOSER_FROM": t.cluster.url("boss"), "MCP_INTERPOSER_HOST": "nowhere"}

    def run(*words, **more):
        return subprocess.run([PROGRAM, "sessions", *words], capture_output=True, text=True, timeout=DEADLINE,
                              env=environment(t.folder) | more)
    listed = vault.command("sessions").stdout
    assert len(listed.splitlines()) == 4, listed
    for words, more in (of_file, {}), ([], of_environment):
        done = run(*words, **more)
        assert done.returncode == 0 and "has no session that this role may read" in done.stderr, (done.stdout, done.stderr)
        done = run(*words, "--vault", vault.path, **more)
        assert (done.returncode, done.stdout, done.stderr) == (0, listed, ""), (done.stdout, done.stderr)
        done = run(*words, "--vault", vault.path, "--host", "x", **more)
        assert done.returncode == 2 and "--host and --user need --from" in done.stderr, done.stderr
        done = run(*words, "--vault", vault.path, "--from", t.cluster.url("boss"), **more)
        assert done.returncode == 2 and "--from and --vault: give one of them" in done.stderr, done.stderr


@case("tools and diff: what they print of a store is what they print of the vault")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    with_reader(t)
    said = (ROOT / "examples/requests.jsonl").read_text()
    for words in (said, said.replace("one two three", "one two")):
        subprocess.run([PROGRAM, "proxy", "--vault", vault.path, "--name", "mail", *GRACE, "--", "python3", ROOT / "examples/mail-server.py"],
                       input=words, stdout=subprocess.DEVNULL, text=True, env=vault.env, timeout=DEADLINE, check=True)
    sent(vault.to(url, "--once"))
    for line, status, says in (("tools", 0, "count_words"), ("tools mail --json", 0, '"count_words"'), ("tools --diff", 0, "no difference"),
                               ("diff 1 2", 1, "count_words"), ("diff 1 2 --json", 1, '"count_words"')):
        ours, theirs = here(vault, line.split()), read(t, "boss", line.split())
        assert ours == theirs, f"{line}: {ours}\n{theirs}"
        assert ours[0] == status and says in ours[1], (line, ours)
