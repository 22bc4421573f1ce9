"""Cases of tests/ship/run: the targets of a vault: forgetting one, and a vault that does not exist yet."""
import json
import os
import pty
import subprocess

from cases import case, end, sent
from cases_otlp import calls, collector
from cluster import DEADLINE, wait_until
from collector import seqs
from vaults import PROGRAM, Vault, texts


def targets(vault):
    return [url for url, in vault.rows("SELECT target FROM ship_targets ORDER BY target")]


def forget(vault, url, *options):
    return vault.command("ship", "forget", url, *options)


def configure(t, vault, text):
    vault.env["XDG_CONFIG_HOME"] = str(t.folder)
    (t.folder / "mcp-interposer").mkdir(exist_ok=True)
    (t.folder / "mcp-interposer/config.ini").write_text(text)


@case("forget: a target is not counted any more, and may be sent to again")
def _(t):
    url, vault, c = t.device(), Vault(t.folder), collector(t)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    sent(vault.to(c.url(), "--once"))
    vault.record(texts(2))
    assert "missing" in vault.command("ship", "status").stdout
    vault.change("UPDATE ship_targets SET sent_at_us = sent_at_us - 4 * 86400 * 1000000")
    said = json.loads([x for x in vault.command("doctor", "--json").stdout.splitlines() if url in x][0])
    assert said["check"] == "shipping" and "ship forget URL" in said["remedy"], said
    said = forget(vault, url, "--yes")
    assert (said.returncode, said.stdout, said.stderr) == (0, f"forgotten: {url}\n", ""), said
    assert targets(vault) == [c.url()] and vault.rows("SELECT DISTINCT target FROM shipped") == [(c.url(),)]
    assert url not in vault.command("ship", "status").stdout + vault.command("doctor", "-v").stdout
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.sessions") == "1", "the store has lost something"
    # the database is asked what it has, the collector cannot be
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.sessions") == "2"
    assert forget(vault, c.url(), "--yes").returncode == 0
    before = c.spans()
    sent(vault.to(c.url(), "--once"))
    assert c.spans()[:len(before)] == before and seqs(c.spans()[len(before):]) == calls(vault)
    assert targets(vault) == sorted([url, c.url()])


@case("a failed attempt keeps the time of the last success")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(url, "--once"))
    state = "SELECT sent_at_us, leaves FROM ship_targets WHERE target = ?"
    before = vault.rows(state, url)
    t.cluster.psql("ALTER SCHEMA mcp_interposer RENAME TO away")
    t.cleanups.append(lambda: t.cluster.psql("DROP SCHEMA IF EXISTS away CASCADE"))
    vault.record(texts(2))
    sent(vault.to(url, "--once"), 1)
    assert before[0][0] and vault.rows(state, url) == before, vault.rows(state, url)
    assert vault.rows("SELECT error IS NOT NULL FROM ship_targets") == [(1,)]


@case("forget: not while a process sends there; an unknown target is an error that lists the others", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    said = forget(vault, c.url(), "--yes")
    assert said.returncode == 3 and "cannot open vault" in said.stderr, said
    vault.record(texts(2))
    said = forget(vault, c.url(), "--yes")
    assert said.returncode == 3 and "has not been sent to any target" in said.stderr, said
    sent(vault.to(c.url(), "--once"))
    other = c.url() + "/team"
    said = forget(vault, other, "--yes")
    assert said.returncode == 3 and f"was not sent to {other}; it was sent to: {c.url()}" in said.stderr, said
    shipper = vault.follow(c.url())
    t.cleanups.append(shipper.kill)
    vault.record(texts(1))
    wait_until(lambda: seqs(c.spans()) == calls(vault))
    said = forget(vault, c.url(), "--yes")
    assert said.returncode == 3 and f"process {shipper.pid} sends this vault to {c.url()}" in said.stderr, said
    assert targets(vault) == [c.url()]
    end(shipper)
    configure(t, vault, f"[ship]\nurl = {c.url()}\n")
    said = forget(vault, c.url(), "--yes")
    assert said.returncode == 0 and "still the url in [ship]" in said.stderr and targets(vault) == [], said


@case("a vault in which nothing is recorded yet: it waits for the first recording", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    assert "nothing is recorded" in sent(vault.to(c.url(), "--once"))
    for folder in (False, True):        # neither the folder, nor a database in it
        if folder:
            vault.path.mkdir(mode=0o700)
        shipper = vault.follow(c.url())
        t.cleanups.append(shipper.kill)
        wait_until(lambda: "waiting for the first recording" in shipper.said.read_text())
        if folder:
            vault.record(texts(2))
            wait_until(lambda: vault.path.joinpath("ship.lock").exists() and seqs(c.spans()) == calls(vault))
        end(shipper)


def answer(vault, url, text):
    """What `ship forget` says on a terminal on which somebody answers."""
    mine, theirs = pty.openpty()
    os.write(mine, text)
    done = subprocess.run([PROGRAM, "ship", "forget", url, "--vault", vault.path], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE,
                          text=True, env=vault.env, timeout=DEADLINE)
    os.close(theirs)
    asked = os.read(mine, 65536).decode()
    os.close(mine)
    return done, asked


@case("forget: asks on a terminal, and needs --yes elsewhere", needs=None)
def _(t):
    c, vault = collector(t), Vault(t.folder)
    vault.record(texts(2))
    sent(vault.to(c.url(), "--once"))
    said = forget(vault, c.url())
    assert said.returncode == 2 and "add --yes" in said.stderr, said
    assert forget(vault, "--yes").returncode == 2
    done, asked = answer(vault, c.url(), b"n\n")
    assert "Forget this target? It keeps the recordings that it has received. [y/N]" in asked and (done.returncode, done.stdout) == (1, "nothing was forgotten\n")
    assert targets(vault) == [c.url()]
    done, asked = answer(vault, c.url(), b"y\n")
    assert done.returncode == 0 and targets(vault) == [], done
