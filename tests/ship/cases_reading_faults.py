"""Reading commands with `--from`: stores whose answers are wrong or slow, and what the environment sets."""
import os
import socket
import subprocess
import threading

from cases import Skip, case, same, sent
from cases_reading import here, read, with_reader
from cluster import DEADLINE, PORT, serve
from vaults import PROGRAM, SHIP, Vault, environment, texts


def shipped(t):
    vault = Vault(t.folder)
    vault.record(texts(3, large=1, size=200_000))
    sent(vault.to(t.device(), "--once"))
    with_reader(t)
    return vault


def replaces(t, function, before, after):
    """The store has this function with another text."""
    text = t.cluster.psql(f"SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = '{function}'")
    assert before in text, text
    t.cluster.psql(text.replace(before, after))


@case("PGCLIENTENCODING changes nothing: texts are UTF-8")
def _(t):
    vault = Vault(t.folder)
    vault.record([f"{i} " + "é" * 30_000 for i in range(60)])      # more than a page of bodies
    vault.env["PGCLIENTENCODING"] = "LATIN1"
    sent(vault.to(t.device(), "--once"))
    same(t.cluster, vault)
    with_reader(t)
    done = subprocess.run([PROGRAM, "show", "1", "--json", "--from", t.cluster.url("boss")], capture_output=True, text=True,
                          env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0 and done.stdout == here(vault, ["show", "1", "--json"])[1], done.stderr


@case("a store that sends rows of another place is an error, and the reading ends")
def _(t):
    vault = shipped(t)
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    for function, before, after, words in (
            ("read_messages_2", "SELECT s.seq,", "SELECT 5 AS seq,", ["show", "1"]),
            ("read_messages_2", "SELECT s.seq,", "SELECT s.seq + (1::bigint << 40) AS seq,", ["show", "1"]),
            ("read_events", "SELECT e.id,", "SELECT 9223372036854775807 AS id,", ["show", "1"]),
            ("read_sessions_2", "SELECT p.vault, p.uid,", f"SELECT p.vault, '{uid}x',", ["sessions"]),
            ("read_search", "SELECT m.session_uid, m.seq", "SELECT m.session_uid, 5::bigint", ["search", "echo"]),
            ("read_search", "SELECT m.session_uid, m.seq", "SELECT 'x'::text, m.seq", ["search", "echo"])):
        replaces(t, function, before, after)
        status, _, error = read(t, "boss", words)
        assert status == 3 and "the store sent rows that were not requested" in error, (function, after, status, error)
        replaces(t, function, after, before)
    assert read(t, "boss", ["show", "1"])[1] == here(vault, ["show", "1"])[1], "it is as it was"


@case("a store whose functions have other columns is an error")
def _(t):
    shipped(t)
    for drop, create, words in (
            ("read_search(text, text, bigint, text, bigint)",
             "read_search(p_from text, p_to text, p_before bigint, p_query text, p_rows bigint)"
             " RETURNS TABLE (session_uid text, seq bigint, at bigint) LANGUAGE sql AS 'SELECT session_uid, seq, t_us FROM"
             " mcp_interposer.messages'", ["search", "echo"]),
            ("read_events(text, text, bigint, bigint, boolean, bigint)",
             "read_events(p_vault text, p_session text, p_from bigint, p_to bigint, p_backwards boolean, p_rows bigint)"
             " RETURNS TABLE (id bigint) LANGUAGE sql AS 'SELECT id FROM mcp_interposer.events'", ["show", "1"])):
        t.cluster.psql(f"DROP FUNCTION mcp_interposer.{drop}")
        t.cluster.psql(f"CREATE FUNCTION mcp_interposer.{create}")
        status, _, error = read(t, "boss", words)
        assert status == 3 and "functions of another version" in error, (words, status, error)


@case("a body that is longer than asked, or in another form, is an error")
def _(t):
    vault = shipped(t)
    words = ["export", "1", "-F", "cassette"]
    t.cluster.psql("ALTER ROLE boss SET bytea_output = 'escape'")
    status, _, error = read(t, "boss", words)
    assert status == 3 and "another body than the requested one" in error, (status, error)
    t.cluster.psql("ALTER ROLE boss RESET bytea_output")
    replaces(t, "read_body", "p_max)", "p_max + 1)")
    t.cluster.psql("UPDATE mcp_interposer.messages SET body = repeat('x', 17 << 20) WHERE body_offset IS NOT NULL")
    status, _, error = read(t, "boss", words)
    assert status == 3 and "another body than the requested one" in error, (status, error)
    assert read(t, "boss", ["sessions"])[1] == here(vault, ["sessions"])[1]


@case("an error of the server is not asked for a second time")
def _(t):
    shipped(t)
    t.cluster.psql("CREATE SEQUENCE public.asked; GRANT USAGE ON SEQUENCE public.asked TO PUBLIC")
    t.cleanups.append(lambda: t.cluster.psql("DROP SEQUENCE IF EXISTS public.asked"))
    t.cluster.psql("CREATE OR REPLACE FUNCTION mcp_interposer.read_search(p_from text, p_to text, p_before bigint, p_query text,"
                   " p_rows bigint) RETURNS TABLE (session_uid text, seq bigint) LANGUAGE plpgsql AS $$ BEGIN"
                   " PERFORM nextval('public.asked'); RAISE query_canceled USING MESSAGE = 'it took too long'; END $$")
    status, _, error = read(t, "boss", ["search", "echo"])
    assert status == 3 and "it took too long" in error, error
    assert t.cluster.psql("SELECT last_value FROM public.asked") == "1"


def copy(a, b):
    """Until one of them ends."""
    try:
        while data := a.recv(1 << 16):
            b.sendall(data)
        b.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def relay(cluster, address):
    """Passes TCP connections on to the socket of a cluster, until what it returns is closed."""
    def connection(near):
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(cluster.folder / f".s.PGSQL.{PORT}"))
        threading.Thread(target=copy, args=(far, near), daemon=True).start()
        copy(near, far)
    listener = socket.create_server(address)
    serve(listener, connection)
    return listener


@case("a name whose first address does not answer: the next one is used")
def _(t):
    vault = Vault(t.folder)
    vault.record(texts(3))
    t.device()
    silent = socket.create_server(("127.0.0.2", 0))        # takes connections, and says nothing
    t.cleanups.append(silent.close)
    port = silent.getsockname()[1]
    t.cleanups.append(relay(t.cluster, ("127.0.0.3", port)).close)
    hosts = t.folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.2 db.example\n127.0.0.3 db.example\n")
    alone = ["unshare", "--mount", "sh", "-c", f"mount --bind {hosts} /etc/hosts && exec \"$@\"", "sh"]
    found = subprocess.run([*alone, "getent", "ahostsv4", "db.example"], capture_output=True, text=True, timeout=DEADLINE)
    addresses = [line.split()[0] for line in found.stdout.splitlines() if "STREAM" in line]
    if addresses != ["127.0.0.2", "127.0.0.3"]:
        raise Skip(f"this machine cannot give a name two addresses: {found.stdout}{found.stderr}")
    url = f"postgresql://laptop@db.example:{port}/postgres?sslmode=disable&connect_timeout=2"
    done = subprocess.run([*alone, SHIP, "to", "--vault", vault.path, "--once", url], capture_output=True, text=True,
                          env=environment(t.folder) | {"PATH": os.environ["PATH"]}, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    same(t.cluster, vault)
