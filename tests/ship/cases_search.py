"""Cases of tests/ship/run: the words of messages at the store, and read_search()."""
import json
import random
import re
import subprocess
import sys
import textwrap

from cases import LONG, case, sent
from cluster import DEADLINE
from vaults import BUILD, GRACE, PROGRAM, Vault, request, texts

TSQUERY = BUILD / "ship-suite/tsquery"      # tests/ship/tsquery.c
SERVER = textwrap.dedent("""
    import json, sys
    for line in sys.stdin:
        m = json.loads(line)
        text = m["params"].get("text", "")
        print(text.replace("\\n", " ")[:1000], file=sys.stderr, flush=True)
        if m["id"] % 3 == 0:
            print("noise: " + text.replace("\\n", "\\\\n")[:1000], flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": {"text": text}}, ensure_ascii=m["id"] % 2), flush=True)
""")
# What words are next to, and what they have in them.
PIECES = ["\n", "\t", '"', "\\", " ", " ", " ", "-", "_", ".", "/", "\0", "\1", "'", "&", "\u0301", "\u0345", "\U0001f600", "日本語", "ÀÉÎ",
          "straße", "ẞ", "İ", "ﬁ", "२३", "\ue000", "Ⱥ", "e\u0301tude", "naïve", "don't", "C:\\new", "\\u0041", "q" * 70,
          "a" * 63 + "é" * 3, "語" * 30, "\u2028", "\ufffd", "０１", "\u00a0", "\U00020000", "\ud7ff", "ª²½"]


def record(vault, said):
    first = {"jsonrpc": "2.0", "id": 0, "method": "initialize",
             "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}}
    lines = [json.dumps(m, ensure_ascii=i % 4 < 2) for i, m in enumerate([first, *(request(i + 1, t) for i, t in enumerate(said))])]
    subprocess.run([PROGRAM, "proxy", "--vault", vault.path, *GRACE, "--", sys.executable, "-c", SERVER], input="\n".join(lines) + "\n",
                   text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=vault.env, timeout=DEADLINE, check=True)


def local(vault, terms):
    """What `search` finds in the vault: {(uid, seq)}. None: it does not take these terms."""
    done = subprocess.run([PROGRAM, "search", "--json", "-n", "0", "--vault", vault.path, *terms], capture_output=True, text=True,
                          env=vault.env, timeout=DEADLINE)
    assert done.returncode in (0, 1, 2), done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return None if done.returncode == 2 else {(r["uid"], r["seq"]) for r in rows}


def tsquery(terms):
    """None: there is none, every message is a candidate."""
    done = subprocess.run([TSQUERY, *(a for a in terms if a != "--")], capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode in (0, 1), done
    return done.stdout if done.returncode == 0 else None


def candidates(t, queries, role="admin"):
    """Of each tsquery what read_search() gives."""
    quoted = ", ".join("({}, '{}')".format(i, q.replace("'", "''")) for i, q in enumerate(queries))
    out = t.cluster.psql(f"SELECT i, session_uid, seq FROM (VALUES {quoted}) AS v (i, q), "
                         "mcp_interposer.read_search('', '~', 0, q, 1000000)", role)
    found = [set() for _ in queries]
    for line in filter(None, out.split("\n")):
        i, uid, seq = line.split("\t")
        found[int(i)].add((uid, int(seq)))
    return found


def compare(t, vault, all_terms):
    """Each message that is found in the vault is a candidate; for a single word nothing else is. Returns how many were found."""
    asked = [(terms, tsquery(terms), local(vault, terms)) for terms in all_terms]
    asked = [(terms, q, hits) for terms, q, hits in asked if q is not None and hits is not None]
    assert len(asked) > len(all_terms) // 4, "most terms cannot be searched"
    for (terms, q, hits), found in zip(asked, candidates(t, [q for _, q, _ in asked])):
        assert hits <= found, (terms, q, sorted(hits - found)[:3])
        if re.fullmatch("'[^']{1,20}'", q) and "-x" not in terms:
            assert hits == found, (terms, q, sorted(found - hits)[:3])
    return sum(len(hits) for _, _, hits in asked)


@case("search: every message that is found in the vault is a candidate at the store")
def _(t):
    url, vault, dice = t.device(), Vault(t.folder), random.Random(7)
    said = ["".join(dice.choices(PIECES, k=dice.randrange(1, 30))) for _ in range(150)]
    record(vault, said[:80])
    record(vault, said[80:] + ["naïve"] * 3)
    sent(vault.to(url, "--once"))
    terms = []
    for _ in range(160 if LONG else 80):
        text = dice.choice(said)
        at = dice.randrange(len(text))
        piece = text[at:at + dice.randrange(1, 25)].split("\0")[0]
        if not piece.strip():
            piece = dice.choice(["straße", "result", "no"])
        terms.append([*dice.choice(([], [], ["-x"])), "--", piece + dice.choice(("", "", "*"))])
    terms += [["--", w] for w in ("etude", "ÉTUDE", "jsonrpc", "te*", "noise", "q" * 64, "q" * 65 + "*", "q" * 70, "語" * 30, "語" * 21,
                                  "語" * 22 + "*", "naive don't", "tools/call", "u0041", "new")]
    terms += [["--", "jsonrpc", "nai*"], ["-x", "--", '"text":"'], ["-x", "--", "\\new"], ["-x", "--", ' "'], ["--", "nowhere"]]
    assert compare(t, vault, terms) > 500
    # also for the kinds that are not JSON
    kinds = t.cluster.psql("SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM mcp_interposer.messages WHERE words @@ 'naive'")
    assert kinds == "noise request result stderr", kinds


@case("search: large bodies, of which the first 256 KiB are searched")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    record(vault, ["x\n" * 100_000 + "inside " + "x\n" * 50_000 + " outside",      # escapes
                   "\1" * 262_000 + " inside" + " z" * 1_000_000 + " outside",    # six bytes for one
                   "\U0001f600 " * 50_000 + "inside" + "\1" * 300_000 + " outside",
                   " ".join(f"{n:x}" for n in range(100_000)) + " outside",       # many words
                   "y" * 300_000 + " outside"])
    sent(vault.to(url, "--once"))
    for word, n in {"inside": 6, "outside": 0, "x": 3, "nx": 0, "2abc": 2, "c350": 2, "yy*": 3, "y" * 64 + "*": 3}.items():
        assert compare(t, vault, [["--", word]]) == n, word


@case("search: words of a redacted text are replaced, and minimal sends none")
def _(t):
    url, vault = t.device(), Vault(t.folder)
    record(vault, ["plain", "sesame opens", "sesame " + "z " * 60_000, "other"])
    sent(vault.to(url, "--once"))
    assert candidates(t, ["'sesame'", "'open':*"])[0] >= local(vault, ["sesame"]) != set()
    vault.redact("[s]esame( opens)?")
    sent(vault.to(url, "--once"))
    assert candidates(t, ["'sesame'", "'open':*"]) == [set(), set()]
    assert t.cluster.psql("SELECT count(*) FROM mcp_interposer.messages WHERE words::text ~ 'sesame|opens'") == "0"
    assert compare(t, vault, [["--", "redacted"], ["--", "z"], ["--", "plain"]]) > 6
    t.init()
    other = Vault(t.folder, "minimal")
    record(other, ["plain", "large " * 20_000])
    sent(other.to(t.device("second"), "--once", "--level", "minimal"))
    assert t.cluster.psql("SELECT count(*) > 8, count(words) FROM mcp_interposer.messages m JOIN mcp_interposer.sessions s "
                          "ON s.uid = m.session_uid WHERE shipped_level = 'minimal'") == "t\t0"


def plan(t, role, uid):
    return t.cluster.psql("EXPLAIN (COSTS OFF) SELECT * FROM mcp_interposer.read_search("
                          f"'{uid[:4]}', '{uid}', 9, '''needle'' & ''ha'':*', 9)", role)


@case("search: rights, order, and a plan that uses the index")
def _(t):
    psql = t.cluster.psql
    vaults = []
    for name in "ab":
        (t.folder / name).mkdir()
        vaults.append(Vault(t.folder / name))
        vaults[-1].record(texts(700))
        for _ in range(2):
            vaults[-1].record(["a needle in the hay", "no hay"])
        sent(vaults[-1].to(t.device("laptop-" + name), "--once"))
    psql("CREATE ROLE reads_all LOGIN IN ROLE mcp_interposer_reader; CREATE ROLE reads_a LOGIN;"
         "SELECT mcp_interposer.add_reader('reads_a', ARRAY['laptop-a'])")
    psql("VACUUM ANALYZE mcp_interposer.messages")
    found = {role: psql("SELECT * FROM mcp_interposer.read_search('', '~', 0, '''needle''', 1000)", role).split("\n")
             for role in ("reads_all", "reads_a")}
    assert [len(x) for x in found.values()] == [8, 4], found
    for rows in found.values():
        assert rows == sorted(rows, reverse=True), rows
    first = vaults[0].rows("SELECT uid FROM sessions ORDER BY uid")[1][0]
    assert psql(f"SELECT count(*) FROM mcp_interposer.read_search('{first}', '{first}', 1000, '''needle''', 1000)", "reads_all") == "2"
    for role in ("laptop-a", "laptop-b"):
        assert "permission denied" in psql("SELECT * FROM mcp_interposer.read_search('', '~', 0, '''a''', 1)", role, check=False)
    said = plan(t, "reads_all", first)
    assert "_words_idx" in said and len(set(re.findall(r"messages_(\d+_\d+)", said))) == 1, said
    # docs/fleet-schema.md: the operator is not leakproof
    assert "_words_idx" not in plan(t, "reads_a", first)
    psql("ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF")
    t.cleanups.append(lambda: psql("ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) NOT LEAKPROOF"))
    assert "_words_idx" in plan(t, "reads_a", first)
