#!/usr/bin/env python3
"""The interface of the program as a list of lines, from the program itself and from the tables of docs/.

    tests/compat/interface.py            compare with interface.txt
    tests/compat/interface.py --update   add what is new to interface.txt

A line is a kind, a name and perhaps types:

    command NAME                         choice COMMAND --OPTION WORD
    option COMMAND --OPTION[, -X][ =]    `=`: it has a value
    status COMMAND SITUATION NUMBER      csv COMMAND COLUMN
    json COMMAND MEMBER TYPES            of the output with --json; `[]`: the members of an array
    log, escalation, cassette MEMBER     tool NAME[.ARGUMENT]: of the server `mcp`
    sql TABLE.COLUMN TYPE                store TABLE.COLUMN TYPE: of a central store (tests/ship)
    finding, event, cause, word, variable NAME

What is in the list stays for the whole of a major version (docs/stability.md): a line may be added, and a type may be added to
the types of a member, by --update. Only a person removes a line.
"""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import session  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILE = HERE / "interface.txt"
PROGRAM = os.path.abspath(os.environ.get("MCP_INTERPOSER", ROOT / "build/mcp-interposer"))
SHIP = os.path.join(os.path.dirname(PROGRAM), "mcp-interposer-ship")
# With these members ends what is ours: their values are of the recorded messages, or are described with their kind.
FREE = {"body", "detail", "arguments", "params", "result", "data", "statuses"}
# Commands whose output with --json is that of a server, or needs what only other suites have.
NOT_HERE = {"send", "tools", "reap", "ship status"}


def types_of(value):
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array", dict: "object"}
    return names[type(value)]


class Interface:
    def __init__(self, folder):
        self.lines, self.members = set(), {}
        self.folder = folder
        self.vault = folder / "vault"
        self.journals = tempfile.TemporaryDirectory(prefix="compat-", dir="/dev/shm")     # as long as this object
        self.env = {**{k: v for k, v in os.environ.items() if not k.startswith(("MCP_INTERPOSER", "XDG_"))}, "HOME": str(folder),
                    "MCP_INTERPOSER_JOURNAL_DIR": self.journals.name}

    def run(self, *args, input="", status=None):
        done = subprocess.run([PROGRAM, *map(str, args)], input=input, capture_output=True, text=True, timeout=60, env=self.env)
        assert done.returncode == status if status is not None else done.returncode in (0, 1), f"{args}: {done.returncode}, {done.stderr}"
        return done.stdout

    def add(self, *words):
        self.lines.add(" ".join(words))

    def member(self, name, value):
        self.members.setdefault(name, set()).add(types_of(value))

    def object(self, name, value):
        for key, inner in value.items():
            self.member(f"{name}{key}", inner)
            if key in FREE:
                continue
            if isinstance(inner, dict):
                self.object(f"{name}{key}.", inner)
            for each in inner if isinstance(inner, list) else ():
                if isinstance(each, dict):
                    self.object(f"{name}{key}[].", each)

    # ---- what the program says of itself ----

    def commands(self, words=()):
        text = self.run(*words, "--help", status=0)
        options = re.findall(r"^  (?:(-\w), |    )(--[a-z-]+)(?: ([^\s]+))?", text, re.M)
        name = " ".join(words) or "(none)"
        if words:
            self.add("command", name)
        for letter, option, value in options:
            self.add("option", name, option + (f", {letter}" if letter else "") + (" =" if value else ""))
            if re.fullmatch(r"[a-z0-9-]+(\|[a-z0-9-]+)+", value):
                for word in value.split("|"):
                    self.add("choice", name, option, word)
            if words and option not in ("--help", "--config"):
                self.add("variable", "MCP_INTERPOSER_" + option[2:].upper().replace("-", "_"))
        if any(option == "--json" for _, option, _ in options) and name not in NOT_HERE:
            assert any(member.startswith(f"json {name} ") for member in self.members), f"{name} --json is not tried in objects()"
        verbs = re.findall(rf"^  mcp-interposer {name} (?:\[OPTIONS\] )?([a-z]+)", text, re.M) if words and not options else ()
        if not words:
            verbs = re.findall(r"^  ([a-z]+) ", text.partition("Commands:\n")[2].partition("\n\n")[0], re.M)
        for verb in verbs:
            if words == ("ship",) and not os.path.exists(SHIP):
                continue
            self.commands((*words, verb))

    def findings(self):
        for line in self.run("__complete", "check", "--ignore", "", status=0).splitlines():
            self.add("finding", line.partition("\t")[0])

    def tools(self):
        text = self.run("mcp", "--vault", self.vault, input='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
        for tool in json.loads(text)["result"]["tools"]:
            self.add("tool", tool["name"])
            for argument in tool["inputSchema"]["properties"]:
                self.add("tool", f"{tool['name']}.{argument}")

    # ---- a recording ----

    def record(self):
        def more(say, ask):
            ask(10, "tools/call", name="ask", arguments={"text": "which?"})
            for id in (11, 12):     # the second call equals one that may have run: an escalation
                ask(id, "tools/call", name="wait", arguments={"text": "w"})
            running = self.run("ps", "--json", "--vault", self.vault, status=0)
            self.objects_of("ps", running)

        self.proxy = [PROGRAM, "proxy", "--vault", str(self.vault), "--name", "flowers"]
        os.environ.clear()
        os.environ.update(self.env)
        session.record([*self.proxy, "-t", "tool:wait=100ms", "--", *session.SERVER], more)
        session.record([*self.proxy, "--hide-tools", "long", "--", *session.SERVER])

    def objects_of(self, name, text):
        assert text, f"{name} prints nothing"
        try:
            rows = [json.loads(text)]
        except ValueError:
            rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            self.object(f"json {name} {row['type'] + '.' if 'type' in row else ''}", row)

    def objects(self):
        vault, cassette, client = ("--vault", self.vault), self.folder / "a.jsonl", self.folder / "mcp.json"
        self.run("export", "1", "-o", cassette, *vault, status=0)
        client.write_text(json.dumps({"mcpServers": {"a": {"command": "a"}}}))
        signer, = re.findall(r"\S+\+[0-9a-f]{8}\+\S+", self.run("audit", "key", "new", *vault, status=0))
        self.run("audit", "checkpoint", *vault, status=0)
        bundle = self.folder / "bundle"
        self.run("audit", "prove", "1", "-o", bundle, *vault, status=0)
        replay = [PROGRAM, "replay", "1", *vault]
        tried = [
            ("import", cassette), ("sessions",), ("show", "1"), ("tail", "--once", "-n", "100"), ("stats",), ("stats", "--by", "server"),
            ("stats", "--by", "client"), ("stats", "--by", "day"), ("stats", "--by", "method"), ("stats", "--tokens"), ("cost",), ("cost", "flowers"),
            ("search", "periwinkle"), ("check", "1"), ("asked",), ("doctor",), ("escalations list",), ("audit verify",),
            ("audit check", "--key", signer, bundle), ("diff", "1", "2"), ("prune", "--keep-last", "1", "--dry-run"), ("wrap", "--list", "--file", client),
            ("wrap", "--file", client), ("unwrap", "--file", client), ("verify", "1", "--", *map(str, replay)),
            ("redact", "--scan", self.secret()),
        ]
        for command, *args in tried:
            where = () if command in ("unwrap", "audit check") else vault
            self.objects_of(command, self.run(*command.split(), "--json", *where, *args))
        self.run("replay", "1", "--report", self.folder / "report", *vault)
        self.objects_of("replay --report", (self.folder / "report").read_text())
        for command in ("sessions", "stats", "escalations list"):
            for column in self.run(*command.split(), "--csv", *vault).splitlines()[0].split(","):
                self.add("csv", command, column)
        for column in self.run("export", "1", "-F", "csv", *vault).splitlines()[0].split(","):
            self.add("csv export", column)

    def secret(self):
        """A cassette that was written by hand, with a secret."""
        path = self.folder / "secret.jsonl"
        path.write_text('{"format":"mcp-interposer-cassette","version":1,"name":"x"}\n{"t":1,"dir":"c2s","msg":{"jsonrpc":"2.0","id":1,'
                        '"method":"ping","params":{"password":"swordfish"}}}\n{"end":true,"messages":1}\n')
        return path

    def files(self):
        for path in (self.vault / "Logs/MCP_Actions").iterdir():
            for line in path.read_text().splitlines():
                for key, value in json.loads(line).items():
                    self.member(f"log {key}", value if key != "arguments" else {})
        for path in (self.vault / "Escalations").iterdir():
            for key in re.findall(r"^(\w+): ", path.read_text().split("---\n")[1], re.M):
                self.add("escalation", key)
        with contextlib.closing(sqlite3.connect(f"file:{self.vault}/interposer.db?mode=ro", uri=True)) as db:
            for table, in db.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").fetchall():
                for column, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)):
                    self.add("sql", f"{table}.{column}", *([kind] if kind else []))

    # ---- exit statuses ----

    def statuses(self):
        vault = ("--vault", self.vault)
        python = [sys.executable, "-c"]
        for command, situation, status, *args in (
            ("proxy", "server-status", 7, *vault, "--grace", "60s", "--", *python, "exit(7)"),
            ("proxy", "server-signal", 128 + 15, *vault, "--grace", "60s", "--", *python, "import os; os.kill(os.getpid(), 15)"),
            ("proxy", "server-not-found", 127, *vault, "--", "there-is-no-such-server"),
            ("proxy", "server-not-started", 126, *vault, "--", self.folder),
            ("proxy", "invalid-option", 2, *vault, "--nothing", "--", "x"),
            ("sessions", "success", 0, *vault), ("sessions", "invalid-option", 2, "--nothing"), ("show", "no-session", 3, *vault, "9999"),
            ("search", "nothing-found", 1, *vault, "nosuchword"), ("check", "finding", 1, *vault, "1", "--fail-on", "note"),
            ("check", "no-finding", 0, *vault, "1", "--fail-on", "none"), ("diff", "different", 1, *vault, "1", "2"), ("diff", "same", 0, *vault, "2", "2"),
            ("replay", "not-recorded", 1, *vault, "2", "--strict"), ("doctor", "problem", 1, *vault, "--quick"),
            ("prune", "something-to-remove", 1, *vault, "--keep-last", "1", "--dry-run"), ("prune", "cannot-ask", 2, *vault, "--keep-last", "1"),
            ("audit verify", "valid", 0, *vault), ("redact", "found", 1, "--scan", self.secret()),
            ("wrap", "something-to-change", 1, *vault, "--dry-run", "--file", self.folder / "mcp.json"),
        ):
            self.run(*command.split(), *args, status=status)
            self.add("status", command, situation, str(status))

    # ---- documents ----

    def documents(self):
        for kind, page, title, column in (
            ("event", "vault", "## `events`", "kind"), ("word end_reason", "vault", "## `sessions`", "end_reason"),
            ("word status", "vault", "## `invocations`", "status"), ("cause", "findings", "## Errors of the interposer", "cause"),
            ("cassette header", "cassette", "## Header", "member"), ("cassette message", "cassette", "## A message", "member"),
        ):
            text = (ROOT / f"docs/{page}.md").read_text().partition(title + "\n")[2].partition("\n## ")[0]
            tables = [t.splitlines() for t in re.findall(r"(?:^\|.*\n)+", text, re.M)]
            cells = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for rows in tables
                     if f"| {column} |".replace(" ", "") in rows[0].replace("`", "").replace(" ", "") for line in [rows[0], *rows[2:]]]
            assert len(cells) > 2, f"docs/{page}.md, {title}: no table with a column {column}"
            at = [c.strip("`") for c in cells[0]].index(column)
            for row in cells[1:]:
                for name in re.findall(r"`([^`]+)`", row[at]):
                    self.add(kind, name)
        manual = (ROOT / "docs/mcp-interposer.1").read_text().partition(".Sh ENVIRONMENT")[2].partition(".Sh ")[0]
        for names in re.findall(r"^\.It Ev (.*)$", manual, re.M):
            for name in re.findall(r"\b[A-Z][A-Z_]+\b", names):
                self.add("variable", name)

    def all(self):
        self.record()
        self.objects()
        self.files()
        self.commands()
        self.findings()
        self.tools()
        self.statuses()
        self.documents()
        return self.lines | {f"{name} {'|'.join(sorted(types))}" for name, types in self.members.items()}


def key(line):
    """Kind and name, and the types of a member."""
    kind = line.partition(" ")[0]
    if kind not in ("json", "log"):
        return line, frozenset()
    name, _, types = line.rpartition(" ")
    return name, frozenset(types.split("|"))


def listed():
    return dict(key(line) for line in FILE.read_text().splitlines() if line and not line.startswith("#"))


def compare(found, kinds=None):
    """Problems of the lines `found`; of these kinds only, or of all that are found here."""
    list_, found = listed(), dict(map(key, found))
    mine = {n: t for n, t in list_.items() if (n.split(" ")[0] in kinds if kinds else n.split(" ")[0] != "store")}
    if not kinds and not os.path.exists(SHIP):
        mine = {n: t for n, t in mine.items() if not re.match(r"(command|option|choice) ship ", n)}
    problems = [f"removed: {name}" for name in sorted(set(mine) - set(found))]
    for name in sorted(set(mine) & set(found)):
        if not found[name] <= mine[name]:
            problems.append(f"changed: {name}: {'|'.join(sorted(found[name]))}, in the list {'|'.join(sorted(mine[name]))}")
    problems += [f"added: {name}" for name in sorted(set(found) - set(mine))]
    return problems


def update(found):
    list_ = listed()
    for name, types in map(key, found):
        list_[name] = list_.get(name, frozenset()) | types
    head = [line for line in FILE.read_text().splitlines() if line.startswith("#")]
    FILE.write_text("\n".join(head + sorted(f"{n} {'|'.join(sorted(t))}".strip() for n, t in list_.items())) + "\n")


HINT = """what is listed stays until the next major version: docs/stability.md
if something was added, or a member has a new type on purpose: tests/compat/interface.py --update"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = Interface(Path(folder)).all()
    if sys.argv[1:] == ["--update"]:
        update(found)
    problems = compare(found)
    print(*problems, *([HINT] if problems else []), sep="\n")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
