"""Cases of tests/ship/run: TLS, installing, URLs."""
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from cases import ROOT, Skip, case, page, sent
from cluster import DEADLINE, Cluster, free_port, wait_until
from vaults import PROGRAM, SHIP, Vault, environment, init, texts


def certificate(folder, name, signer=None):
    """A key and a certificate for this name, signed by another one; without it, an authority."""
    def run(*args):
        subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, timeout=DEADLINE)
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / f"{name}.key", "-subj", f"/CN={name}",
        *(["-out", folder / f"{name}.csr"] if signer else ["-x509", "-days", "2", "-out", folder / f"{name}.crt"]))
    if signer:
        (folder / "ext").write_text(f"subjectAltName=DNS:{name}")
        run("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{signer}.crt", "-CAkey", folder / f"{signer}.key",
            "-CAcreateserial", "-days", "2", "-extfile", folder / "ext", "-out", folder / f"{name}.crt")


@case("TLS: the certificate and its name are verified, and the password comes from a file", needs="server")
def _(t):
    if not shutil.which("openssl"):
        raise Skip("openssl is not installed")
    certificate(t.folder, "authority")
    certificate(t.folder, "stranger")
    certificate(t.folder, "localhost", "authority")
    rules = re.search(r"```\n(# team_a.*?)```", page("fleet-admin.md"), re.S)[1]
    port = free_port()

    def settings(cluster):
        for name in ("localhost.key", "localhost.crt"):
            shutil.copy(t.folder / name, cluster.folder)
            os.chmod(cluster.folder / name, 0o600)
            if cluster.user:
                os.chown(cluster.folder / name, cluster.user.pw_uid, cluster.user.pw_gid)
        with (cluster.folder / "data/pg_hba.conf").open("w") as f:
            f.write("local all admin trust\n" + rules.replace("fleet", "postgres"))
        return {"listen_addresses": "127.0.0.1", "port": port, "ssl": "on", "ssl_cert_file": cluster.folder / "localhost.crt",
                "ssl_key_file": cluster.folder / "localhost.key"}
    cluster = Cluster(t.folder / "pg", more=settings)
    t.cleanups.append(lambda: cluster.stop("immediate"))
    admin = f"postgresql://admin@/postgres?host={cluster.folder}&port={port}"
    vault = Vault(t.folder)
    vault.record(texts(3))
    init(t.folder, admin, "--device", "laptop")
    psql = [cluster.bin / "psql", "-X", "-q", "-A", "-t", "-d", admin, "-c"]
    subprocess.run([*psql, "ALTER ROLE laptop PASSWORD 'open sesame'"], check=True, timeout=DEADLINE)
    (t.folder / ".pgpass").write_text(f"*:{port}:*:laptop:open sesame\n")
    (t.folder / ".pgpass").chmod(0o600)
    url = f"postgresql://laptop@localhost:{port}/postgres?hostaddr=127.0.0.1"

    def count():
        return subprocess.run([*psql, "SELECT count(*) FROM mcp_interposer.messages"], check=True, capture_output=True, text=True,
                              timeout=DEADLINE).stdout.strip()
    assert "certificate" in sent(vault.to(url, "--once"), 3)          # no authority is known
    assert "certificate verify failed" in sent(vault.to(f"{url}&sslrootcert={t.folder}/stranger.crt", "--once"), 3)
    said = sent(vault.to(f"postgresql://laptop@127.0.0.1:{port}/postgres?sslrootcert={t.folder}/authority.crt", "--once"), 3)
    assert "does not match host name" in said, said
    assert count() == "0"
    said = sent(vault.to(f"{url}&sslrootcert={t.folder}/authority.crt", "--once"))
    assert count() == "8" and "sesame" not in said
    # the documented pg_hba.conf: who gets in
    roles = "CREATE ROLE team_a LOGIN; CREATE ROLE nobody LOGIN; SELECT mcp_interposer.add_reader('team_a', ARRAY['laptop'])"
    subprocess.run([*psql, roles + "; ALTER ROLE admin PASSWORD 'w'; ALTER ROLE team_a PASSWORD 'w'; ALTER ROLE nobody PASSWORD 'w'"],
                   check=True, capture_output=True, timeout=DEADLINE)

    def login(role):
        done = subprocess.run([cluster.bin / "psql", "-X", "-q", "-A", "-t", "-c", "SELECT session_user", "-d", url.replace("laptop", role) +
                               f"&sslmode=verify-full&sslrootcert={t.folder}/authority.crt"],
                              env=environment(t.folder) | {"PGPASSWORD": "w"}, capture_output=True, text=True, timeout=DEADLINE)
        return done.stdout.strip() or done.stderr
    assert login("team_a") == "team_a" and login("admin") == "admin", login("team_a")
    assert "no pg_hba.conf entry" in login("nobody"), login("nobody")


@case("make install: the program, its manual and a unit that systemd accepts", needs=None)
def _(t):
    root = t.folder / "root"
    make = ["make", "-s", f"BUILD={os.path.relpath(Path(SHIP).parent, ROOT)}", f"DESTDIR={root}", "PREFIX=/usr"]
    subprocess.run([*make, "install"], cwd=ROOT, check=True, capture_output=True, timeout=DEADLINE)
    unit = root / "usr/lib/systemd/user/mcp-interposer-ship.service"
    assert "\nExecStart=/usr/bin/mcp-interposer-ship to\n" in unit.read_text()
    assert (root / "usr/share/man/man1/mcp-interposer-ship.1").exists()
    if shutil.which("groff"):
        page = subprocess.run(["groff", "-man", "-ww", "-Tutf8", root / "usr/share/man/man1/mcp-interposer-ship.1"],
                              capture_output=True, text=True, timeout=DEADLINE)
        assert not page.stderr and len(page.stdout) > 1000, page.stderr
    env = environment(t.folder)
    done = subprocess.run([root / "usr/bin/mcp-interposer", "ship", "--help"], capture_output=True, text=True, env=env, timeout=DEADLINE)
    assert "ship to" in done.stdout, done
    done = subprocess.run([root / "usr/bin/mcp-interposer", "ship", "to", "nowhere"], capture_output=True, text=True, env=env,
                          timeout=DEADLINE)
    assert done.returncode == 2 and "not a URL" in done.stderr, done
    if shutil.which("systemd-analyze"):
        text = unit.read_text().replace("ExecStart=", f"ExecStart={root}")
        unit.write_text(text)
        said = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=DEADLINE)
        wrong = [x for x in said.stderr.splitlines() if "mcp-interposer-ship.service:" in x and "Command 'man" not in x]
        assert not wrong, wrong
    subprocess.run([*make, "uninstall"], cwd=ROOT, check=True, capture_output=True, timeout=DEADLINE)
    left = [p for p in root.rglob("*") if p.is_file() and "ship" in p.name]
    assert not left, left
    local = t.folder / "local"
    subprocess.run([*make, "install", "DESTDIR=", f"PREFIX={local}"], cwd=ROOT, check=True, capture_output=True, timeout=DEADLINE)
    text = (local / "share/systemd/user/mcp-interposer-ship.service").read_text()     # where systemd looks, for ~/.local
    assert f"\nExecStart={local}/bin/mcp-interposer-ship to\n" in text, text
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAM, root / "usr/bin/alone")
    done = subprocess.run([root / "usr/bin/alone", "ship", "status"], capture_output=True, text=True, timeout=DEADLINE,
                          env=env | {"PATH": "/nowhere"})
    assert done.returncode == 3 and "is not installed" in done.stderr, done


@case("URLs: a password is refused and not printed; others are explained", needs=None)
def _(t):
    vault = Vault(t.folder)
    vault.record(texts(1))
    for url in ("postgresql://me:hunter2@localhost/d", "host=localhost user=me password=hunter2",
                "postgresql://me@localhost/d?password=hunter2"):
        said = sent(vault.to(url, "--once"), 2)
        assert ".pgpass" in said and "hunter2" not in said, said
    assert "not a URL" in sent(vault.to("nowhere", "--once"), 2)
    said = sent(vault.to("postgresql://me@127.0.0.1:1/d", "--once"), 3)
    assert "refused" in said, said
    # with a deadline it tries again until then
    started = time.monotonic()
    sent(vault.to("postgresql://me@127.0.0.1:1/d", "--once", "--deadline", "2s"), 3)
    assert 1.9 < time.monotonic() - started < DEADLINE


@case("init: a deadlock with a device that sends is tried again")
def _(t):
    t.device()
    other = subprocess.Popen([t.cluster.bin / "psql", "-X", "-q", "-d", t.cluster.url()], stdin=subprocess.PIPE, text=True)
    t.cleanups.append(other.kill)

    def say(sql):
        print(sql, file=other.stdin, flush=True)

    # the locks of a device, in its order; init has a lock on sessions when it wants that on vaults
    say("SET deadlock_timeout = '1h'; BEGIN; LOCK TABLE mcp_interposer.vaults IN ROW EXCLUSIVE MODE;")
    held = "SELECT count(*) FROM pg_locks WHERE relation = 'mcp_interposer.vaults'::regclass AND {}"
    wait_until(lambda: t.cluster.psql(held.format("granted AND mode = 'RowExclusiveLock'")) == "1")
    url = t.cluster.url() + "&options=-c%20deadlock_timeout%3D3s"
    init = subprocess.Popen([SHIP, "init", url], stderr=subprocess.PIPE, text=True, env=environment(t.folder))
    t.cleanups.append(init.kill)
    wait_until(lambda: t.cluster.psql(held.format("NOT granted")) == "1")
    say("LOCK TABLE mcp_interposer.sessions IN ROW EXCLUSIVE MODE; COMMIT;")
    _, said = init.communicate(timeout=DEADLINE)
    assert init.returncode == 0, said
    assert "deadlock detected" in (t.cluster.folder / "data/server.log").read_text(), "there was no deadlock"
    other.stdin.close()
    assert other.wait(DEADLINE) == 0
