"""Cases of tests/ship/run: vaults that were copied, changed, redacted, pruned."""
import json
import shutil
import subprocess

from cases import case, same, sent
from cluster import DEADLINE
from vaults import SHIP, Vault, texts


@case("a copied vault: the other copy is refused when both went on")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    copy = Vault(t.folder, "copy")
    shutil.copytree(vault.path, copy.path)
    sent(copy.to(url, "--once"))
    vault.record(texts(4))
    copy.record(texts(5))
    sent(vault.to(url, "--once"))
    assert "another copy" in sent(copy.to(url, "--once"), 1)
    same(t.cluster, vault)
    # and of another device at once
    assert "another device" in sent(copy.to(t.device("other"), "--once"), 1)


@case("a vault that was rolled back is refused, and so is a changed one")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(3))
    shutil.copytree(vault.path, t.folder / "old")
    vault.record(texts(3))
    sent(vault.to(url, "--once"))
    old = Vault(t.folder, "old")
    said = sent(old.to(url, "--once"), 1)
    assert "rolled back" in said, said
    same(t.cluster, vault)
    vault.change("UPDATE leaves SET leaf = replace(leaf, 'client-closed', 'client-clOsed') WHERE n = 2")
    assert "was changed" in sent(vault.to(url, "--once"), 1)


@case("a message that was changed in the vault is refused when it is sent again")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(5))
    sent(vault.to(url, "--once"))
    vault.change("UPDATE messages SET commitment = zeroblob(32) WHERE seq = 4")
    t.cluster.psql("UPDATE mcp_interposer.sessions SET seq = 2")
    assert "differs" in sent(vault.to(url, "--once"), 1)


@case("a redaction in the vault replaces the text in the store")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(["tell", "sesame-opens", "sesame-large " + "z" * 100_000, "other"])
    vault.record(["more sesame-text"])
    sent(vault.to(url, "--once"))
    assert "sesame" in t.cluster.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")
    vault.redact("[s]esame-[a-z]+")
    assert not vault.rows("SELECT 1 FROM messages WHERE body LIKE '%sesame-opens%'"), "the vault was not redacted"
    sent(vault.to(url, "--once"))
    same(t.cluster, vault)
    assert "sesame-" not in t.cluster.psql("SELECT string_agg(body, ' ') FROM mcp_interposer.messages")
    assert int(t.cluster.psql("SELECT count(*) FROM mcp_interposer.replaced")) == len(vault.rows("SELECT 1 FROM replaced"))


@case("a session with a UID from 1970 is stored in the default partition")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(2))
    vault.change("DROP TABLE leaves")
    vault.change("CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL) STRICT")
    vault.change("INSERT INTO leaves VALUES (0, '{\"type\":\"begin\",\"version\":1,\"vault\":\"01M7YSNFPE4WHD7A4MYSYTND3Q\","
                 "\"at_us\":1795256140000000,\"after\":0}')")
    vault.change("UPDATE sessions SET uid = '00' || substr(uid, 3)")        # 1970: the clock was set back
    sent(vault.to(url, "--once"))
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages_other") == "6"


@case("a session that was pruned before it was sent leaves a gap")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    vault.record(texts(4))
    vault.record(texts(2))
    done = vault.command("prune", "--keep-last", "1", "--yes")
    assert done.returncode == 0, done.stderr
    sent(vault.to(url, "--once"))
    gap = t.cluster.psql("SELECT kind, detail::json ->> 'lost' FROM mcp_interposer.events WHERE id = -1")
    assert gap == "gap\t13", gap


@case("prune keeps what was not sent an hour ago, and doctor says what is missing")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    for n in range(3):
        vault.record(texts(1))
    config = t.folder / "config.ini"
    config.write_text(f"[ship]\nurl = {url}\n")
    vault.env["XDG_CONFIG_HOME"] = str(t.folder)
    (t.folder / "mcp-interposer").mkdir()
    shutil.copy(config, t.folder / "mcp-interposer/config.ini")
    prune = ("prune", "--keep-last", "1", "--yes")
    missing = [json.loads(x) for x in vault.command("doctor", "--json").stdout.splitlines()]
    assert any(x["check"] == "shipping" and "never sent" in x["text"] for x in missing), missing
    done = vault.command(*prune)
    assert "2 sessions kept" in done.stderr, done
    assert len(vault.rows("SELECT 1 FROM sessions")) == 3
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert "2 sessions kept" in vault.command(*prune).stderr        # the store may lose its last second
    vault.change("UPDATE shipped SET at_us = at_us - 3600000000 WHERE session_id = 1")
    assert "1 session kept" in vault.command(*prune).stderr
    assert vault.rows("SELECT id FROM sessions") == [(2,), (3,)]
    assert vault.rows("SELECT session_id FROM shipped") == [(2,), (3,)]
    assert vault.command(*prune, "--unsent").returncode == 0
    assert vault.rows("SELECT id FROM sessions") == [(3,)]
    done = subprocess.run([SHIP, "to", "--once", "--vault", vault.path], capture_output=True, text=True, env=vault.env, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert t.cluster.psql("SELECT count(*), count(*) FILTER (WHERE id = -1) FROM mcp_interposer.events") == "6\t0"
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages") == "12"
