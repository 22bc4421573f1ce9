"""What a round has done, and what it has not: after failures of the vault, of the store and of prune."""
import json
import os
import pty
import select
import shutil
import subprocess
import time

from cases import LONG, Skip, case, end, same, sent
from cases_hostile import OWN, Thief
from cases_otlp import call, calls, collector, odd
from cluster import DEADLINE, OUTAGE, wait_until
from collector import attributes, seqs
from vaults import PATIENT, PROGRAM, SHIP, Vault, exchange, lacks, lines, texts

# SQL_FAIL="N TEXT": the Nth use of a statement with this text fails. SQL_LOG: a file for what is executed.
BAD_SQL = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
const char *sqlite3_sql(sqlite3_stmt *);
static int fails(const char *sql)
{
    static int n;
    const char *plan = getenv("SQL_FAIL"), *text = plan != NULL ? strchr(plan, ' ') : NULL;
    return text != NULL && strstr(sql, text + 1) != NULL && ++n == atoi(plan);
}
static void note(const char *sql)
{
    FILE *f = getenv("SQL_LOG") != NULL ? fopen(getenv("SQL_LOG"), "a") : NULL;
    if (f != NULL) {
        fprintf(f, "%s\\n", sql);
        fclose(f);
    }
}
int sqlite3_step(sqlite3_stmt *q)
{
    int (*next)(sqlite3_stmt *) = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
    const char *sql = q != NULL ? sqlite3_sql(q) : NULL;
    note(sql != NULL ? sql : "");
    return sql != NULL && fails(sql) ? 10 : next(q);        /* SQLITE_IOERR */
}
int sqlite3_exec(sqlite3 *db, const char *sql, void *fn, void *ctx, char **error)
{
    int (*next)(sqlite3 *, const char *, void *, void *, char **) = dlsym(RTLD_NEXT, "sqlite3_exec");
    note(sql);
    return next(db, sql, fn, ctx, error);
}
static int is_not_prepared(const char *sql)
{
    char plan[200];
    snprintf(plan, sizeof plan, "%s", getenv("SQL_FAIL") != NULL ? getenv("SQL_FAIL") : "");
    if (strncmp(plan, "prepare ", 8) != 0 || strstr(sql, plan + 8) == NULL)
        return 0;
    unsetenv("SQL_FAIL");
    return 1;
}
int sqlite3_prepare_v2(sqlite3 *db, const char *sql, int n, sqlite3_stmt **q, const char **rest)
{
    int (*next)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **) = dlsym(RTLD_NEXT, "sqlite3_prepare_v2");
    return is_not_prepared(sql) ? 10 : next(db, sql, n, q, rest);
}
int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags, sqlite3_stmt **q, const char **rest)
{
    int (*next)(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **, const char **) = dlsym(RTLD_NEXT, "sqlite3_prepare_v3");
    return is_not_prepared(sql) ? 10 : next(db, sql, n, flags, q, rest);
}
"""


def bad_sql(t, vault, **how):
    """From now on, the programs of this vault have this SQLite."""
    if not shutil.which("cc"):
        raise Skip("needs a compiler")
    if not (t.folder / "sql.so").exists():
        (t.folder / "sql.c").write_text(BAD_SQL)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", t.folder / "sql.so", t.folder / "sql.c", "-ldl"], check=True, timeout=DEADLINE)
    vault.env |= {"LD_PRELOAD": str(t.folder / "sql.so"), **how}


def configure(t, vault, url):
    vault.env["XDG_CONFIG_HOME"] = str(t.folder)
    (t.folder / "mcp-interposer").mkdir(exist_ok=True)
    (t.folder / "mcp-interposer/config.ini").write_text(f"[ship]\nurl = {url}\n")


def add_finding(vault, seq, more=""):
    """Of session 1."""
    vault.change(f"UPDATE messages SET finding = ifnull(finding || ',', '') || 'crlf'{more} WHERE session_id = 1 AND seq = ?", seq)
    vault.change("INSERT INTO events (session_id, t_us, kind, detail) VALUES (1, 9999999, 'finding-added', ?)",
                 json.dumps({"seq": seq, "finding": "crlf"}))


def unsent(vault):
    """How many sessions prune keeps."""
    done = vault.command("prune", "--keep-last", "1", "--dry-run", "--json")
    return json.loads(done.stdout.splitlines()[-1])["unsent"]


@case("a round without a call to the store says nothing about what it has, also after a failure")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for _ in range(3):
        vault.record(texts(1))
    configure(t, vault, url)
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: vault.rows("SELECT 1 FROM ship_targets WHERE sent_at_us IS NOT NULL"))
    first = vault.rows("SELECT sent_at_us FROM ship_targets")[0][0]
    hour_after = first + 4_000_000
    wait_until(lambda: time.time_ns() // 1000 > hour_after)
    # as if an hour had passed; the write wakes the shipper
    vault.change(f"UPDATE shipped SET at_us = {hour_after} - 3600000000")
    time.sleep(3)               # it looks every two seconds
    t.cluster.stop("immediate")
    wait_until(lambda: vault.rows("SELECT 1 FROM ship_targets WHERE error IS NOT NULL"), OUTAGE)
    assert vault.rows("SELECT sent_at_us FROM ship_targets") == [(first,)]
    assert unsent(vault) == 2
    t.cluster.start()
    wait_until(lambda: unsent(vault) == 0, OUTAGE)      # it has asked
    end(shipper)


@case("prune asks again before it removes: a session that was redacted meanwhile is kept", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    for text in ("one", "sesame-opens " + "x" * 80_000, "three"):
        vault.record([text])
    configure(t, vault, c.url())
    sent(vault.to(c.url(), "--once"))
    vault.change("UPDATE shipped SET at_us = at_us - 3700000000")
    uid = vault.rows("SELECT uid FROM sessions WHERE id = 2")[0][0]
    mine, theirs = pty.openpty()
    prune = subprocess.Popen([PROGRAM, "prune", "--keep-last", "1", "--vault", vault.path], stdin=theirs, stderr=theirs,
                             stdout=subprocess.PIPE, text=True, env=vault.env)
    t.cleanups.append(prune.kill)
    os.close(theirs)
    printed = b""
    while b"Remove all this?" not in printed:
        printed += os.read(mine, 65536)
    vault.redact("[s]esame-[a-z]+", "2")
    os.write(mine, b"y\n")
    assert prune.wait(DEADLINE) == 3, prune.stdout.read()
    while b"session 2 was changed meanwhile" not in printed:    # a terminal may pass it on in pieces
        assert select.select([mine], [], [], DEADLINE)[0], printed
        printed += os.read(mine, 65536)
    os.close(mine)
    assert vault.rows("SELECT id FROM sessions") == [(2,), (3,)]
    assert not vault.rows("SELECT 1 FROM leaves WHERE leaf LIKE '{\"type\":\"prune\"%' AND leaf LIKE ?", f"%{uid}%")
    assert vault.rows("SELECT count(*) FROM messages WHERE session_id = 2") == [(4,)]
    assert (vault.path / "Bodies" / uid).stat().st_size > 80_000
    assert unsent(vault) == 1


@case("a session is not complete until its redaction has arrived")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(["tell", "sesame-opens"])
    sent(vault.to(url, "--once"))
    assert vault.command("ship", "status").returncode == 0
    t.cluster.psql("CREATE FUNCTION mcp_interposer.full_disk() RETURNS trigger LANGUAGE plpgsql AS "
                   "$$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'no space'; END $$;"
                   "CREATE TRIGGER full_disk BEFORE UPDATE ON mcp_interposer.messages FOR EACH ROW "
                   "EXECUTE FUNCTION mcp_interposer.full_disk()")
    vault.redact("[s]esame-[a-z]+")
    for _ in range(3):
        assert "no space" in sent(vault.to(url, "--once"), 3)
        assert vault.rows("SELECT complete FROM shipped") == [(0,)]
        assert vault.command("ship", "status").returncode == 1
    t.cluster.psql("DROP TRIGGER full_disk ON mcp_interposer.messages")
    sent(vault.to(url, "--once"))
    assert vault.rows("SELECT complete FROM shipped") == [(1,)]
    assert vault.command("ship", "status").returncode == 0
    same(t.cluster, vault)


@case("a collector: a look-up that fails loses no span and no log", needs=None)
def _(t):
    vault = Vault(t.folder)
    odd(vault, [call(1, "broken"), call(2, "never")])
    add_finding(vault, 2)

    def found(c):
        return {(x["eventName"], x["timeUnixNano"], json.dumps(attributes(x), sort_keys=True)) for x in c.logs()}
    whole = collector(t)
    sent(vault.to(whole.url(), "--once"))
    assert seqs(whole.spans()) == calls(vault) and len(found(whole)) > 3
    bad_sql(t, vault)
    running = {}
    for n in range(1, 40, 1 if LONG else 3):        # together: each waits before it tries again
        c, vault.env["SQL_FAIL"] = collector(t), f"{n}  m.request_seq WHERE m.id BETWEEN ?1 AND ?2 ORDER BY m.id"
        # Q_ROWS, with which a request is looked up; Q_MESSAGES has a LIMIT
        running[n] = c, vault.follow(c.url(), "--once", *PATIENT)
        t.cleanups.append(running[n][1].kill)
    failures = []
    for n, (c, shipper) in running.items():
        status, said = shipper.wait(DEADLINE), shipper.said.read_text()
        assert status == 0, (n, said)
        assert seqs(c.spans(), once=False) == calls(vault), (n, said)
        assert found(c) == found(whole), (n, said)
        if "trying again" in said:
            failures.append(n)
    assert failures == list(running)[:len(failures)] and 5 < len(failures) < len(running), failures


@case("a shipper goes on when nobody reads its output", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(1))
    read, written = os.pipe()
    said = t.folder / "shipper.said"
    with said.open("w") as out:
        shipper = subprocess.Popen([SHIP, "to", "--vault", vault.path, c.url()], stdout=written, stderr=out, env=vault.env)
    shipper.said = said
    t.cleanups.append(shipper.kill)
    os.close(written)
    os.close(read)
    wait_until(lambda: seqs(c.spans()) == calls(vault))
    try:
        shipper.wait(5)         # a second after it has sent something, it waits for the vault
    except subprocess.TimeoutExpired:
        vault.record(texts(1))
        wait_until(lambda: seqs(c.spans()) == calls(vault))
    end(shipper)


@case("an error of the vault is not reported as one of the target")
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(1))
    for url in (c.url(), t.device()):
        bad_sql(t, vault, SQL_FAIL="1 PRAGMA data_version")
        said = sent(vault.to(url, "--once"), 3)
        assert "interposer.db" in said, said
        assert any("interposer.db" in error for error, in vault.rows("SELECT error FROM ship_targets WHERE target = ?", url))
        del vault.env["SQL_FAIL"]
        sent(vault.to(url, "--once"))
        assert missing_at(vault, url) == (0, None)


def missing_at(vault, url):
    status = [json.loads(x) for x in vault.command("ship", "status", "--json").stdout.splitlines()]
    return next((s["missing_messages"], s["error"]) for s in status if s["url"] == url)


@case("a finding that was added is not passed over because the vault cannot say to what")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    add_finding(vault, 3)
    bad_sql(t, vault, SQL_FAIL="prepare json_extract(?1, '$.seq')")
    assert "interposer.db" in sent(vault.to(url, "--once"), 3)
    del vault.env["SQL_FAIL"]
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    vault.change("INSERT INTO events (session_id, t_us, kind, detail) VALUES (1, 9999999, 'finding-added', '{')")
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)


@case("a session that goes on costs a write of the vault only when something of it was sent")
def _(t):
    url, vault, log = t.device(), Vault(t.folder), t.folder / "sql.log"
    live = vault.live()
    t.cleanups.append(live.kill)
    exchange(live, *lines(["one"]).splitlines())
    bad_sql(t, vault, SQL_LOG=str(log))
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: vault.rows("SELECT 1 FROM shipped WHERE seq = 4"))

    def count(text):
        return log.read_text().count(text)
    for number in range(4):
        rounds = count("FROM sessions s WHERE id BETWEEN")
        vault.change("UPDATE ship_targets SET tried_at_us = tried_at_us + 1")
        wait_until(lambda n=rounds: count("FROM sessions s WHERE id BETWEEN") > n)
        if number == 1:         # the first may be the one after a second
            writes = count("BEGIN IMMEDIATE")
    assert count("BEGIN IMMEDIATE") == writes > 0
    end(shipper)
    live.stdin.close()
    live.wait(DEADLINE)


@case("a message without a commitment keeps its large body when it is sent again")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(1, large=1, size=90_000))
    for table in ("messages", "events"):
        vault.change(f"UPDATE {table} SET salt = NULL, commitment = NULL")
    sent(vault.to(url, "--once"))
    seq = vault.rows("SELECT min(seq) FROM messages WHERE body_length IS NOT NULL")[0][0]
    row = f"SELECT length(body) > 90000, finding LIKE '%crlf' FROM mcp_interposer.messages WHERE seq = {seq}"
    assert t.cluster.psql(row).split("\t") in (["t", ""], ["t", "f"])
    add_finding(vault, seq, ", redactions = redactions + 1")
    sent(vault.to(url, "--once"))
    assert t.cluster.psql(row) == "t\tt", t.cluster.psql(row)


@case("a uid that another device inserts at the same moment stays that device's")
def _(t):
    url, vault, thief = t.device(), Vault(t.folder), Thief(t)
    vault.record(texts(1))
    uid = vault.rows("SELECT uid FROM sessions")[0][0]
    first = subprocess.Popen([t.cluster.bin / "psql", "-X", "-q", "-d", t.cluster.url("thief")], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.cleanups.append(first.kill)
    columns = ", ".join(f"'{{{x}}}'" for x in ("1", uid, "n", "[]", *["NULL"] * 5, "1", *["NULL"] * 3, "1", "h", "full", "1",
                                               *["NULL"] * 7, "1"))
    head, calls_n = t.cluster.psql(f"SELECT encode(head, 'hex'), calls FROM mcp_interposer.vaults WHERE uid = '{OWN}'").split()
    print(f"BEGIN; SELECT mcp_interposer.put_sessions('{OWN}', '\\x{head}', {calls_n}, 0, 'full', {columns});\n\\echo open",
          file=first.stdin, flush=True)
    while "open" not in first.stdout.readline():
        pass
    second = vault.follow(url, "--once")
    t.cleanups.append(second.kill)
    wait_until(lambda: t.cluster.psql("SELECT 1 FROM pg_stat_activity WHERE usename = 'laptop' AND wait_event_type = 'Lock'"))
    print("COMMIT;", file=first.stdin, flush=True)
    first.stdin.close()
    assert first.wait(DEADLINE) == 0 and second.wait(DEADLINE) == 1
    assert "not of this vault" in second.said.read_text()
    assert t.cluster.psql("SELECT vault, row_hash, client_name, ended_at_us FROM mcp_interposer.sessions") == f"{OWN}\t1\t\t"


@case("a collector that says it has rejected more than there is: what was sent is counted", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    most = 2 ** 63 - 1
    for _ in range(2):
        vault.record(texts(2))
        c.answers = [(200, (), json.dumps({"partialSuccess": {"rejectedSpans": str(most), "rejectedLogRecords": most}}).encode())]
        said = sent(vault.to(c.url(), "--once"), 1)
        assert "3 spans of a batch were not accepted, 3 items in all" in said, said


@case("doctor: what is missing for days, in the right number", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)

    def doctor():
        return next(x["text"] for x in map(json.loads, vault.command("doctor", "--json").stdout.splitlines()) if x["check"] == "shipping")
    vault.record(texts(1))
    sent(vault.to(c.url(), "--once"))
    assert doctor() == f"0 messages to be sent to {c.url()}"
    vault.change("UPDATE shipped SET complete = 0, seq = seq - 1")
    assert doctor() == f"1 message to be sent to {c.url()}"
    vault.change("UPDATE ship_targets SET sent_at_us = sent_at_us - 4 * 86400 * 1000000")
    assert doctor() == f"1 message of 1 session not sent to {c.url()}; the last attempt: no error"
    vault.record(texts(1))
    vault.change("UPDATE ship_targets SET error = 'it is full'")
    assert doctor() == f"5 messages of 2 sessions not sent to {c.url()}; the last attempt: it is full"


@case("init --print does not add a device, and says how to", needs=None)
def _(t):
    for more in ((), ("--shards", t.folder / "none")):
        done = subprocess.run([SHIP, "init", "--print", "--device", "laptop", *more], capture_output=True, text=True, timeout=DEADLINE,
                              env=Vault(t.folder).env)
        assert (done.returncode, done.stdout) == (2, "") and "SELECT mcp_interposer.add_device('NAME')" in done.stderr, done.stderr


@case("ship: a verb that is wrong or missing, in both programs", needs=None)
def _(t):
    env = Vault(t.folder).env
    for words, said in ((["too"], "did you mean 'ship to'?"), ([], "missing command: expected one of: init, to, status, forget"),
                        (["nothing"], "expected one of: init, to, status, forget")):
        for program in ([PROGRAM, "ship"], [SHIP]):
            done = subprocess.run([*program, *words], capture_output=True, text=True, timeout=DEADLINE, env=env)
            assert done.returncode == 2 and said in done.stderr, (program, words, done)
    with open("/dev/full", "w") as full:
        done = subprocess.run([SHIP, "init", "--print"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE, env=env)
    assert done.returncode == 3 and "cannot write to stdout" in done.stderr, done


@case("a shipper says that it sends again only if it has said that it could not")
def _(t):
    url, vault, c = t.device(), Vault(t.folder), collector(t)
    vault.record(texts(1))
    c.answers = [503]
    said = sent(vault.to(c.url(), "--once", *PATIENT))
    assert "trying again" in said and "sending again" in said, said
    shipper = vault.follow(url)
    t.cleanups.append(shipper.kill)
    wait_until(lambda: not lacks(t.cluster, vault))
    # as if a failover had lost a call: what does not fit is sent again at once
    t.cluster.psql("UPDATE mcp_interposer.vaults SET calls = calls - 1")
    vault.record(texts(1))
    wait_until(lambda: not lacks(t.cluster, vault))
    end(shipper)
    assert shipper.said.read_text() == ""
