#!/usr/bin/env python3
"""wrap and unwrap: the interposer in the configuration files of MCP clients, and the original bytes after unwrap."""
import ast
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import lib
from lib import case, check, eq
from looking import on_terminal

try:
    import yaml
except ImportError:  # python3-yaml is not installed
    yaml = None
try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

CORPUS = lib.ROOT / "tests/clients"
# Where a client would have each file of the corpus, below the home directory.
PLACES = {
    "claude-code.json": ".claude.json",
    "claude-code-project.json": "project/.mcp.json",
    "claude-desktop.json": ".config/Claude/claude_desktop_config.json",
    "cursor.json": ".cursor/mcp.json",
    "bom.json": "project/.cursor/mcp.json",
    "vscode.json": "project/.vscode/mcp.json",
    "vscode-settings.json": ".config/Code/User/mcp.json",
    "windsurf.json": ".codeium/windsurf/mcp_config.json",
    "gemini.json": ".gemini/settings.json",
    "codex.toml": ".codex/config.toml",
    "codex-crlf.toml": "project/.codex/config.toml",
    "zed.json": ".config/zed/settings.json",
    "opencode.json": ".config/opencode/opencode.json",
    "opencode-2.jsonc": "project/.opencode/opencode.jsonc",
    "cline.json": ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "copilot.json": ".copilot/mcp-config.json",
    "junie.json": "project/.junie/mcp/mcp.json",
    "goose.yaml": ".config/goose/config.yaml",
    "goose-crlf.yaml": "other/config.yaml",
    "kiro.json": ".kiro/settings/mcp.json",
    "kiro-agent.json": ".kiro/agents/reviewer.json",
    "antigravity.json": ".gemini/config/mcp_config.json",
    "lmstudio.json": ".lmstudio/mcp.json",
    "kilo.jsonc": ".config/kilo/kilo.jsonc",
    "warp.json": ".warp/.mcp.json",
    "qwen.json": ".qwen/settings.json",
    "droid.json": ".factory/mcp.json",
    "kimi.json": ".kimi-code/mcp.json",
    "grok.toml": ".grok/config.toml",
    "pi.json": ".pi/agent/mcp.json",
    "crush.json": ".config/crush/crush.json",
    "trae.json": ".config/Trae/User/mcp.json",
    "qoder.json": ".qoder/mcp.json",
    "amazon-q.json": ".aws/amazonq/mcp.json",
    "mastra.json": ".mastracode/mcp.json",
    "mcporter.json": "project/config/mcporter.json",
    "fx.json": ".fx/mcp.json",
    "abacus.json": ".abacusai/mcp.json",
    "devcontainer.json": "project/.devcontainer/devcontainer.json",
    "amp.json": ".config/amp/settings.json",
    "vibe.toml": ".vibe/config.toml",
    "continue.yaml": ".continue/config.yaml",
    "continue-block.yaml": "project/.continue/mcpServers/browser.yaml",
    "hermes.yaml": ".hermes/config.yaml",
    "openclaw.json": ".openclaw/openclaw.json",
}
NAMED = {"goose-crlf.yaml"}  # no client reads this place: --file
BARE = "/usr/local/bin:/usr/bin:/bin"


def settle(t):
    """The corpus in a home directory: {path: bytes}."""
    files = {}
    for name, place in PLACES.items():
        path = t.home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((CORPUS / name).read_bytes())
        files[path] = path.read_bytes()
    eq(len(PLACES), len(list(CORPUS.iterdir())), "files of the corpus that have a place")
    return files


def run(t, *args, status=0, cwd=None, env=None, stderr=b""):
    r = subprocess.run([lib.PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, cwd=cwd or t.home / "project", timeout=20 * lib.PATIENCE,
                       env=t.environ({"LC_ALL": "C.UTF-8", "PATH": BARE, "MCP_INTERPOSER_JOURNAL_DIR": None, **(env or {})}))
    eq(r.returncode, r.returncode if status is None else status, f"exit status of {args}; stderr {r.stderr[-600:]!r}")
    if stderr is not None:
        eq(r.stderr, stderr, f"stderr of {args}")
    return r


def config(t, place, text):
    path = t.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    (t.home / "project").mkdir(exist_ok=True)
    path.write_text(text)
    return path


def backup_of(t, path):
    """Where the backup of a file is (docs/clients.md)."""
    name = "".join(f"%{b:02X}" if chr(b) in "/%" or b < 0x20 or b > 126 else chr(b)
                   for b in os.fsencode(os.path.realpath(path)))
    return t.home / ".local/state/mcp-interposer-backups" / name


def states(r):
    return {d["server"]: d["state"] for d in map(json.loads, r.stdout.splitlines())}


def strip_comments(text):
    """Parses JSON as clients accept it."""
    token = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)
    text = token.sub(lambda m: m.group() if m.group()[0] == '"' else " ", text.lstrip("\ufeff"))
    token = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[]}])', re.S)
    return token.sub(lambda m: m.group() if m.group()[0] == '"' else "", text)


def json5(text):
    """JSON5 of which the strings have only the escapes that Python knows, as JSON."""
    token = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|([A-Za-z_$][\w$]*)(?=\s*:)|[+-]?(0x[0-9A-Fa-f]+)|\+(?=[\d.])|(\d+\.)(?!\d)"""
                       r"""|(?<![\d])(\.\d+)""", re.S)

    def plain(m):
        string, name, hexadecimal, dot, fraction = m.groups()
        return (json.dumps(ast.literal_eval(string)) if string else json.dumps(name) if name else str(int(hexadecimal, 16)) if hexadecimal
                else dot + "0" if dot else "0" + fraction if fraction else "")
    return json.loads(strip_comments(token.sub(plain, text)))


def parse(path, data):
    text = data.decode()
    if path.name == "openclaw.json":
        return json5(text)
    if path.suffix == ".toml":
        return tomllib.loads(text) if tomllib else None
    if path.suffix == ".yaml":
        return yaml.safe_load(text) if yaml else None
    return json.loads(strip_comments(text))


def servers_of(tree):
    """(name, server) of each place that has servers."""
    places = [tree.get(k, {}) for k in ("mcpServers", "servers", "mcp_servers", "context_servers", "extensions", "mcp",
                                           "amp.mcpServers")]
    places.append(tree.get("mcp", {}).get("servers", {}) if isinstance(tree.get("mcp"), dict) else {})
    places.append(tree.get("customizations", {}).get("vscode", {}).get("mcp", {}).get("servers", {}))
    places += [p.get("mcpServers", {}) for p in tree.get("projects", {}).values()]
    pairs = [pair for place in places for pair in ([(s["name"], s) for s in place] if isinstance(place, list) else place.items())]
    return [pair for pair in pairs if isinstance(pair[1], dict)]


# The time limits in the corpus that `wrap` takes over.
LIMITS = {("cline.json", "notes"): ["--timeout", "tools/call=59s"],
          ("kiro-agent.json", "log"): ["--timeout", "tools/call=119s"],
          ("amazon-q.json", "log"): ["--timeout", "tools/call=299s"],
          ("grok.toml", "files"): ["--timeout", "tools/call=599s"],
          ("crush.json", "filesystem"): ["--timeout", "initialize=299s"],
          ("openclaw.json", "context7"): ["--timeout", "initialize=239s"],
          ("vibe.toml", "fetch_server"): ["--timeout", "tools/call=119s"],
          ("hermes.yaml", "filesystem"): ["--timeout", "tools/call=299s", "--timeout", "initialize=239s"],
          ("goose.yaml", "notes"): ["--timeout", "tools/call=299s", "--timeout", "initialize=299s"]}


def expected(tree, program, file):
    """What a client shall read afterwards."""
    program = "mcp-interposer" if file == "devcontainer.json" else program
    tree = json.loads(json.dumps(tree, default=str))
    for name, server in servers_of(tree):
        key = "cmd" if "cmd" in server else "command"
        words = ["proxy", "--name", name, *LIMITS.get((file, name), [])]
        if isinstance(server.get(key), list):
            server[key] = [program, *words, "--", *server[key]]
        elif isinstance(server.get(key), str):
            no_args = [] if "args" in server else ["--original", "no args"]
            server["args"] = [*words, *no_args, "--", server[key], *server.get("args", [])]
            server[key] = program
    return tree


# --- the corpus -----------------------------------------------------------------------------------

@case("every client's file: wrapped for its own parser, and unwrapped byte for byte")
def _(t):
    files = settle(t)
    program = os.path.realpath(lib.PROGRAM)
    for path in files:
        path.chmod(0o640)
    run(t, "wrap")
    named = [x for name in NAMED for x in ("--file", t.home / PLACES[name])]
    run(t, "wrap", *named)
    servers = 0
    for path, old in files.items():
        new = path.read_bytes()
        check(new != old, f"{path.name} was not wrapped")
        eq(stat.S_IMODE(path.stat().st_mode), 0o640, f"mode of {path.name}")
        backup = backup_of(t, path)
        eq(backup.read_bytes(), old, f"the backup of {path.name}")
        eq(stat.S_IMODE(backup.stat().st_mode), 0o600, f"mode of the backup of {path.name}")
        eq([p.name for p in path.parent.glob(path.name + ".*")], [], "files beside it")
        if parse(path, old) is not None:
            want = expected(parse(path, old), program, next(f for f, place in PLACES.items() if t.home / place == path))
            eq(json.loads(json.dumps(parse(path, new), default=str)), want, f"what a client reads in {path.name}")
            servers += sum("command" in s or "cmd" in s for _, s in servers_of(want))
    check(servers >= 28, f"only {servers} servers")
    once = {path: (path.read_bytes(), path.stat().st_ino) for path in files}
    run(t, "wrap")
    run(t, "wrap", *named)
    for path, was in once.items():
        eq((path.read_bytes(), path.stat().st_ino), was, f"{path.name} after wrapping again")
    run(t, "unwrap")
    run(t, "unwrap", *named)
    for path, old in files.items():
        eq(path.read_bytes(), old, f"{path.name} after unwrapping")
        eq(stat.S_IMODE(path.stat().st_mode), 0o640, f"mode of {path.name} afterwards")
    left = [p for p in t.home.rglob("*") if p.is_file() and p not in files]
    eq(left, [], "files that were left behind")
    run(t, "unwrap")
    for path, old in files.items():
        eq(path.read_bytes(), old, f"{path.name} after unwrapping again")


@case("servers wrapped one by one, and unwrapped in another order")
def _(t):
    files = settle(t)
    path = t.home / ".codex/config.toml"
    names = ["docs", "with space", "lines", "indented", "inline", "short", "dotted", "quoted.name", "two"]
    for name in names:
        run(t, "wrap", "-c", "codex", name)
    r = run(t, "wrap", "--list", "--json", "--file", path)
    eq({k: v for k, v in states(r).items() if v != "wrapped"}, {"remote": "remote"}, "servers that are not wrapped")
    for name in sorted(names):
        run(t, "unwrap", "--client", "codex", name)
    for path, old in files.items():
        eq(path.read_bytes(), old, path.name)


def apply_diff(old, diff):
    """What `patch` does, strictly."""
    lines, out, at, left = old.splitlines(True), [], 0, 0
    for line in diff.splitlines(True):
        m = re.match(rb"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line)
        if m:
            eq(left, 0, "lines that the hunk before has not told of")
            begin, left, new_begin = int(m.group(1)) - 1, int(m.group(2)), int(m.group(3))
            check(begin >= at, "the hunks overlap")
            out += lines[at:begin]
            eq(len(out), new_begin - 1, "the new line number of a hunk")
            at = begin
        elif line.startswith((b"---", b"+++")):
            continue
        elif line.startswith(b"\\"):
            if last != b"-":
                out[-1] = out[-1][:-1]
        else:
            last, text = line[:1], line[1:]
            if last in (b" ", b"-"):
                eq(lines[at].rstrip(b"\n"), text.rstrip(b"\n"), "a line of the old file")
                at, left = at + 1, left - 1
            if last in (b" ", b"+"):
                out.append(text)
    eq(left, 0, "lines that the last hunk has not told of")
    return b"".join(out + lines[at:])


@case("--dry-run shows a diff that patches a file without secrets, and changes nothing")
def _(t):
    files = {path: old.replace(b"github_personal_access_token", b"user").replace(b"Authorization", b"Accept") for path, old in settle(t).items()}
    for path, old in files.items():
        path.write_bytes(old)
    diff = {p: run(t, "wrap", "--dry-run", "--file", p, status=1).stdout for p in files}
    for path, old in files.items():
        eq(path.read_bytes(), old, f"{path.name} after --dry-run")
        eq([p.name for p in path.parent.glob(path.name + ".*")], [], "files beside it")
    run(t, "wrap")
    run(t, "wrap", *(x for name in NAMED for x in ("--file", t.home / PLACES[name])))
    for path, old in files.items():
        eq(apply_diff(old, diff[path]), path.read_bytes(), f"the diff of {path.name}")
        back = run(t, "unwrap", "--dry-run", "--file", path, status=1).stdout
        eq(apply_diff(path.read_bytes(), back), old, f"the diff back of {path.name}")
    eq(run(t, "wrap", "--dry-run").stdout, b"", "a diff when all is wrapped")


# The value of an option in each way to write a list of arguments.
SECRET_ARGS = {
    "a.json": "{mcpServers: {a: {command: 'a', args: [\n'--api-key',\n'ab3-de5-gh7', '--last']}}}\n",
    "b.json": "{mcp: {a: {command: ['a', '--api-key', 'ab3-de5-gh7', '--last']}}}\n",
    "a.toml": "[mcp_servers.a]\ncommand = 'a'\nargs = ['--api-key', 'ab3-de5-gh7', '--last']\n",
    "b.toml": "[mcp_servers.a]\ncommand = 'a'\nargs = ['--api-key', '''\nab3-de5-gh7\n''',\n'--last']\n",
    "a.yaml": "extensions:\n  a:\n    cmd: a\n    args:\n      - --api-key\n      - ab3-de5-gh7\n      - --last\n",
    "b.yaml": "extensions: {a: {cmd: a, args: ['--api-key', 'ab3-de5-gh7', --last]}}\n",
}


@case("--dry-run prints no secrets of the file")
def _(t):
    secrets = "ab3-de5-gh7", "Zk9-Lm2-Qp4", "Xy1-Bc6-Nh8"
    path = config(t, ".claude.json", json.dumps({"mcpServers": {
        "a": {"command": "a", "args": ["--api-key", secrets[0]], "env": {"A_TOKEN": secrets[1]}},
        "b": {"url": "https://b", "headers": {"Authorization": f"Bearer {secrets[2]}"}}}}, indent=2))
    for verb in ("wrap", "unwrap"):
        diff = run(t, verb, "--dry-run", "--file", path, status=1, stderr=None).stdout.decode()
        check("[redacted:" in diff and not any(secret in diff for secret in secrets), diff)
        run(t, "wrap", "--file", path, stderr=None)
    for name, text in SECRET_ARGS.items():
        path = config(t, name, text)
        for verb in ("wrap", "unwrap"):
            diff = run(t, verb, "--dry-run", "--file", path, status=1).stdout.decode()
            check("[redacted:" in diff and "ab3-de5" not in diff and "--last" in diff, f"{name}: {diff}")
            run(t, "wrap", "--file", path)


@case("every state is documented")
def _(t):
    path = config(t, ".claude.json", json.dumps({"mcpServers": {"a": {"command": "a"}, "b": {"url": "https://b"}, "c": {"command": "c d"}}}))
    config(t, "project/.mcp.json", "{}")
    config(t, "project/.github/mcp.json", '{"mcpServers": {"d": {"command": "d"}}}')
    config(t, ".qwen/extensions/x/qwen-extension.json", '{"mcpServers": {"e": {"command": "e"}}}')
    managed = config(t, "etc/claude-code/managed-mcp.json", TEXT)
    found = set(states(run(t, "wrap", "--list", "--json", stderr=None)).values())
    found |= set(states(run(t, "wrap", "--list", "--json", "--file", managed)).values())
    for args, status in ((["wrap", "--list"], 0), (["wrap", "--dry-run"], 1), (["wrap"], 0), (["wrap"], 0), (["unwrap", "--dry-run"], 1),
                         (["unwrap"], 0)):
        found |= set(states(run(t, *args, "--json", "--file", path, status=status, stderr=None)).values())
    text = (lib.ROOT / "docs/clients.md").read_text()
    table = text[text.index("| state | meaning |"):].split("\n\n")[0]
    eq(set(re.findall("`([a-z ]+)`", re.sub(r"\|[^|]*\|$", "", table, flags=re.M))), found, "the states of docs/clients.md")


@case("--list names every server, its state and its file")
def _(t):
    settle(t)
    text = run(t, "wrap", "--list").stdout.decode()
    check(re.search(r"^SERVER +CLIENT +STATE +COMMAND +FILE$", text, re.M), f"no head in {text!r}")
    check(re.search(r"^filesystem +claude-code +plain +npx +~/\.claude\.json$", text, re.M), text)
    check(re.search(r"^issues +claude-code +remote +- ", text, re.M), text)
    run(t, "wrap", "filesystem")
    rows = [json.loads(x) for x in run(t, "wrap", "--list", "--json").stdout.splitlines()]
    row = [r for r in rows if r["server"] == "filesystem"][0]
    eq((row["client"], row["state"], row["wraps"], row["project"], row["why"]),
       ("claude-code", "wrapped", "npx", None, None), "the wrapped one")
    eq(row["command"], os.path.realpath(lib.PROGRAM), "its command")
    eq([r["project"] for r in rows if r["server"] == "git"], ["/home/me/notes"], "a server of one project")


def rows_of(text):
    """The rows of a list on a narrow terminal: [(file, server, state)]."""
    found, file = [], None
    for line in text.split("\n\n")[0].splitlines()[1:]:
        if line.startswith("  "):
            found.append((file, line.split()[0], re.split("  +", line.strip())[2]))
        else:
            file = line
    return found


@case("80 columns: the file is a line above its servers, also in what wrap and unwrap have done")
def _(t):
    desktop, project = "~/.config/Claude/claude_desktop_config.json", "~/project/.vscode/mcp.json"
    text = '{"mcpServers": {"filesystem": {"command": "npx"}, "other": {"command": "npx"}}}'
    config(t, desktop[2:], text)
    config(t, project[2:], text)

    def shown(*args):
        lines = on_terminal(t, *args, columns=80, vault=False, cwd=t.home / "project", env={"NO_COLOR": "1", "PATH": BARE})
        check(max(map(len, lines.splitlines())) <= 80, lines)
        return rows_of(lines)

    eq(shown("wrap", "--list"), [(f, s, "plain") for f in (desktop, project) for s in ("filesystem", "other")], "the list")
    eq(shown("wrap", "filesystem"), [(f, "filesystem", "wrapped now") for f in (desktop, project)], "of one server")
    eq(shown("unwrap", "filesystem"), [(f, "filesystem", "unwrapped") for f in (desktop, project)], "unwrapped")


# --- a wrapped server works -----------------------------------------------------------------------

def speak(t, path, name, env=None):
    """Start a server as a client would, and initialize it."""
    server = json.loads(path.read_text())["mcpServers"][name]
    r = subprocess.run([server["command"], *server["args"]], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       input=lib.request(1, "tools/list") + b"\n", timeout=30 * lib.PATIENCE, cwd=t.home,
                       env={"HOME": str(t.home), "PATH": BARE, "MCP_INTERPOSER_JOURNAL_DIR": str(t.journals), "MCP_INTERPOSER_GRACE": "30s",
                            **(env or {})})
    eq(r.returncode, 0, f"exit status of {name}; {r.stderr!r}")
    return json.loads(r.stdout.splitlines()[0])["result"]["tools"]


@case("a wrapped server answers its client, and is recorded under its name")
def _(t):
    example = str(lib.ROOT / "examples/mail-server.py")
    path = config(t, ".claude.json", json.dumps({"mcpServers": {"my notes": {
        "command": sys.executable, "args": [example]}}}, indent=2))
    run(t, "wrap", "--vault", "vaults/here")
    check(len(speak(t, path, "my notes")) > 0, "no tools")
    vault = t.home / "project/vaults/here"
    eq(lib.rows(vault, "SELECT name FROM sessions"), [(b"my notes",)], "the recorded name")
    config(t, ".claude.json", json.dumps({"mcpServers": {"x": {"command": sys.executable, "args": [example]}}}))
    run(t, "wrap", env={"MCP_INTERPOSER_VAULT": str(t.tmp / "by-environment")})
    speak(t, path, "x")
    eq(lib.rows(t.tmp / "by-environment", "SELECT name FROM sessions"), [(b"x",)], "the vault of the environment")


@case("a directory of journals that was given goes into the arguments, as an absolute path")
def _(t):
    for given, env in (["--journal-dir", "here"], {}), ([], {"MCP_INTERPOSER_JOURNAL_DIR": "here"}):
        path = config(t, ".claude.json", json.dumps({"mcpServers": {"x": {"command": "python3"}}}))
        run(t, "wrap", *given, env=env)
        eq(json.loads(path.read_text())["mcpServers"]["x"]["args"],
           ["proxy", "--name", "x", "--journal-dir", str(t.home / "project/here"), "--original", "no args", "--", "python3"], "the arguments")


@case("the short PATH of a desktop: the server is found where the terminal found it")
def _(t):
    far = t.home / ".nvm/versions/bin"
    far.mkdir(parents=True)
    (far / "helper").write_text(f"#!/bin/sh\nexec {sys.executable} {lib.ROOT}/examples/mail-server.py\n")
    (far / "notes-server").write_text("#!/bin/sh\nexec helper\n")
    for name in ("helper", "notes-server"):
        (far / name).chmod(0o755)
    text = json.dumps({"mcpServers": {"notes": {"command": "notes-server", "args": []},
                                      "near": {"command": "sh", "args": ["-c", "true"]}}})
    path = config(t, ".cursor/mcp.json", text)
    run(t, "wrap", env={"PATH": f"{far}:{BARE}"})
    servers = json.loads(path.read_text())["mcpServers"]
    eq(servers["notes"]["args"], ["proxy", "--name", "notes", "--path", str(far), "--", "notes-server"], "its args")
    eq(servers["near"]["args"], ["proxy", "--name", "near", "--", "sh", "-c", "true"], "args of what lies in PATH")
    check(len(speak(t, path, "notes")) > 0, "no tools")
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")
    # A client for the terminal has the terminal's PATH.
    path = config(t, ".gemini/settings.json", text)
    run(t, "wrap", "-c", "gemini", env={"PATH": f"{far}:{BARE}"})
    eq(json.loads(path.read_text())["mcpServers"]["notes"]["args"],
       ["proxy", "--name", "notes", "--", "notes-server"], "args for a client of the terminal")
    r = run(t, "proxy", "--path", "bin", "--", "true", status=2, stderr=None)
    check(b"--path: 'bin' is not an absolute path" in r.stderr, f"{r.stderr!r}")


@case("the program is named by its path in PATH, which survives an update")
def _(t):
    bin = t.home / "bin"
    bin.mkdir()
    (bin / "mcp-interposer").symlink_to(os.path.realpath(lib.PROGRAM))
    path = config(t, ".claude.json", '{"mcpServers": {"a": {"command": "a"}}}')
    run(t, "wrap", env={"PATH": f"{bin}:{BARE}"})
    eq(json.loads(path.read_text())["mcpServers"]["a"]["command"], f"{bin}/mcp-interposer", "the command")
    (bin / "mcp-interposer").unlink()
    run(t, "wrap")
    eq(json.loads(path.read_text())["mcpServers"]["a"],
       {"command": os.path.realpath(lib.PROGRAM), "args": ["proxy", "--name", "a", "--original", "no args", "--", "a"]}, "after the link has gone")
    check(subprocess.run([lib.PROGRAM, "proxy", "--vault", t.vault, "--original", "no args", "--", "true"], stdin=subprocess.DEVNULL).returncode == 0, "the options")
    run(t, "unwrap")
    eq(path.read_text(), '{"mcpServers": {"a": {"command": "a"}}}', "the file")


@case("a program with another name is rejected, because unwrap would not recognize it")
def _(t):
    other = t.home / "mi"
    shutil.copy(os.path.realpath(lib.PROGRAM), other)
    path = config(t, ".claude.json", TEXT)
    r = subprocess.run([other, "wrap"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=t.environ(), cwd=t.home)
    eq(r.returncode, 3, "exit status")
    check(b"wrapped servers are recognized by the name mcp-interposer; rename it" in r.stderr, f"{r.stderr!r}")
    eq(path.read_text(), TEXT, "the file")


# --- files as they are ----------------------------------------------------------------------------

TEXT = '{"mcpServers": {"a": {"command": "server-a", "args": ["x"]}}}'


@case("a symbolic link stays, and its target is edited")
def _(t):
    real = config(t, "dotfiles/mcp.json", TEXT)
    link = t.home / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/mcp.json")
    (t.home / "project/.cursor").mkdir()
    (t.home / "project/.cursor/mcp.json").symlink_to(link)  # the same file a second time
    run(t, "wrap")
    check(link.is_symlink() and os.readlink(link) == "../dotfiles/mcp.json", "the link has changed")
    eq(json.loads(real.read_text())["mcpServers"]["a"]["args"][0], "proxy", "the real file")
    eq(sorted(p.name for p in real.parent.iterdir()), ["mcp.json"], "beside it")
    eq(backup_of(t, real).read_text(), TEXT, "the backup, by the path of the real file")
    eq(sorted(p.name for p in link.parent.iterdir()), ["mcp.json"], "beside the link")
    run(t, "unwrap")
    eq(real.read_text(), TEXT, "the file")


@case("the owner of a file stays when another user edits it")
def _(t):
    if not lib.ROOT_USER:
        raise lib.Skip("only root can give files away")
    path = config(t, ".claude.json", TEXT)
    os.chown(path, 1234, 4321)
    path.chmod(0o600)
    run(t, "wrap")
    st = path.stat()
    eq((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)), (1234, 4321, 0o600), "owner and mode")
    run(t, "unwrap")
    eq((path.stat().st_uid, path.read_text()), (1234, TEXT), "afterwards")


@case("a read-only file is left alone with a warning, and the others are wrapped")
def _(t):
    path = config(t, ".cursor/mcp.json", TEXT)
    other = config(t, ".claude.json", TEXT)
    path.chmod(0o444)
    r = run(t, "wrap", status=3, stderr=None)
    check(b".cursor/mcp.json: the file is read-only; to allow changes: chmod u+w" in r.stderr, f"{r.stderr!r}")
    eq(path.read_text(), TEXT, "the read-only file")
    eq([p.name for p in path.parent.iterdir()], ["mcp.json"], "files beside it")
    check("proxy" in other.read_text(), "the other file")
    path.chmod(0o644)
    run(t, "wrap")
    path.chmod(0o444)
    wrapped = path.read_text()
    run(t, "unwrap", status=3, stderr=None)
    eq((path.read_text(), other.read_text()), (wrapped, TEXT), "after unwrap")


@case("a file that cannot be parsed is named with its line, and unchanged")
def _(t):
    bad = config(t, ".cursor/mcp.json", '{\n  "mcpServers": {\n    "a": {"command" "x"}\n  }\n}')
    other = config(t, ".claude.json", TEXT)
    was = bad.read_bytes()
    r = run(t, "wrap", status=3, stderr=None)
    check(b".cursor/mcp.json: cannot parse the file, which is not changed: line 3: expected a colon" in r.stderr,
          f"{r.stderr!r}")
    eq(bad.read_bytes(), was, "the bad file")
    check("proxy" in other.read_text(), "the other file")
    r = run(t, "wrap", "--file", t.home / "nowhere.json", status=3, stderr=None)
    check(b"nowhere.json: No such file or directory" in r.stderr, f"{r.stderr!r}")
    r = run(t, "wrap", "--file", t.home, status=3, stderr=None)
    check(b"not a regular file" in r.stderr, f"{r.stderr!r}")


@case("unusual entries are left alone and reported; unknown names are an error")
def _(t):
    text = json.dumps({"mcpServers": {
        "split": {"command": "npx -y thing"}, "ours": {"command": "mcp-interposer", "args": ["replay", "1"]},
        "recordings": {"command": "mcp-interposer", "args": ["mcp"]},
        "good": {"command": "good"}}}, indent=1)
    path = config(t, ".claude.json", text)
    r = run(t, "wrap", stderr=None)
    check(b"server 'split' is not changed: the command contains blanks, and no program has this name; move the arguments to `args`" in r.stderr
          and b"server 'ours' is not changed: the command runs the interposer, but not as a proxy" in r.stderr, f"{r.stderr!r}")
    check(b"recordings" not in r.stderr and '"args": ["mcp"]' in json.dumps(json.loads(path.read_text())), f"our own MCP server: {r.stderr!r}")
    servers = json.loads(path.read_text())["mcpServers"]
    eq((servers["split"], servers["ours"]["args"]), ({"command": "npx -y thing"}, ["replay", "1"]), "what is odd")
    eq(servers["good"]["args"][-1], "good", "what is good")
    r = run(t, "wrap", "nobody", status=3, stderr=None)
    check(b"unknown server 'nobody'; see: mcp-interposer wrap --list" in r.stderr, f"{r.stderr!r}")
    for verb in (["wrap", "god"], ["wrap", "--list", "god"], ["unwrap", "good", "god"]):
        r = run(t, *verb, status=3, stderr=None)
        check(b"unknown server 'god'; did you mean 'good'?" in r.stderr, f"{verb}: {r.stderr!r}")
    run(t, "wrap", stderr=None)
    r = run(t, "wrap", "-c", "emacs", status=2, stderr=None)
    names = re.search(r"--client: unknown client 'emacs': use one of (.+)\n", r.stderr.decode()).group(1).split(", ")
    eq(names[:2], ["claude-code", "claude-desktop"], "the clients")
    for where in (run(t, "wrap", "--help").stdout.decode(), (lib.ROOT / "docs/clients.md").read_text(),
                  (lib.ROOT / "docs/mcp-interposer.1").read_text()):
        eq([n for n in names if n not in where], [], f"clients that are not in {where[:60]!r}")
    r = run(t, "unwrap", "-c", "curser", status=2, stderr=None)
    check(b"--client: unknown client 'curser'; did you mean 'cursor'?" in r.stderr, f"{r.stderr!r}")
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")
    path.unlink()
    r = run(t, "wrap", stderr=None)
    check(b"no configuration file of an MCP client found" in r.stderr, f"{r.stderr!r}")


@case("a command with a blank is a program if there is one of this name")
def _(t):
    example = f"#!/bin/sh\nexec {sys.executable} {lib.ROOT}/examples/mail-server.py\n"
    for place in ("project/srv dir/run me.sh", "bin/my server"):
        config(t, place, example).chmod(0o755)
    config(t, "project/srv dir/data file", "")
    (t.home / "project/a dir/sub dir").mkdir(parents=True)
    commands = {"relative": "./srv dir/run me.sh", "named": "my server", "absolute": str(t.home / "bin/my server"),
                "no program": "./srv dir/data file", "directory": "./a dir/sub dir", "arguments": "sh -c true"}
    text = json.dumps({"mcpServers": {name: {"command": command, "args": []} for name, command in commands.items()}})
    path = config(t, "project/.mcp.json", text)
    env = {"PATH": f"{t.home}/bin:{BARE}"}
    r = run(t, "wrap", env=env, stderr=None)
    servers = json.loads(path.read_text())["mcpServers"]
    eq([name for name, s in servers.items() if s["args"]], ["relative", "named", "absolute"], "the wrapped ones")
    eq(r.stderr.count(b"the command contains blanks, and no program has this name"), 3, f"warnings {r.stderr!r}")
    eq(servers["relative"]["args"], ["proxy", "--name", "relative", "--", "./srv dir/run me.sh"], "the arguments")
    done = subprocess.run([servers["relative"]["command"], *servers["relative"]["args"]], input=lib.request(1, "tools/list") + b"\n",
                          stdout=subprocess.PIPE, cwd=t.home / "project", timeout=30 * lib.PATIENCE, env=t.environ(env))
    check(b'"tools"' in done.stdout, f"{done.stdout!r}")
    run(t, "unwrap", env=env)
    eq(path.read_text(), text, "the file")


@case("Copilot does not read .github/mcp.json beside .mcp.json: it is listed as unused, and unwrapped all the same")
def _(t):
    path = config(t, "project/.github/mcp.json", TEXT)
    run(t, "wrap")
    wrapped = path.read_text()
    check("proxy" in wrapped, wrapped)
    config(t, "project/.mcp.json", TEXT.replace('"a"', '"b"'))
    run(t, "unwrap")
    eq(path.read_text(), TEXT, "unwrapped")
    eq(states(run(t, "wrap", "--json")), {"a": "unused", "b": "wrapped now"}, "the states")
    eq(path.read_text(), TEXT, "a file that is not used")
    row = next(r for r in map(json.loads, run(t, "wrap", "--list", "--json").stdout.splitlines()) if r["server"] == "a")
    eq(row["why"], "the client does not read this file, because .mcp.json exists", "why")
    r = run(t, "wrap", "a", status=3, stderr=None)
    check(b"server 'a' is in a file that is not changed; for the reason, see: mcp-interposer wrap --list --json" in r.stderr, f"{r.stderr!r}")
    run(t, "wrap", "--file", path)
    eq(path.read_text(), wrapped, "a file that is named is changed")


@case("~/.config/claude-code/mcp.json is wrapped, but not as a file of Claude Code")
def _(t):
    config(t, ".config/claude-code/mcp.json", TEXT)
    eq([r["client"] for r in map(json.loads, run(t, "wrap", "--list", "--json").stdout.splitlines())], ["-"], "the client")
    r = run(t, "wrap")
    check(f"Restart these clients: the client that reads {t.home}/.config/claude-code/mcp.json;".encode() in r.stdout, f"{r.stdout!r}")


@case("names with control characters, or that look like options, do no harm")
def _(t):
    text = json.dumps({"mcpServers": {"\x1b[31mred\n": {"command": "a"}, "--vault": {"command": "b", "args": []},
                                      "$(touch x)": {"command": "c; d", "args": ["`"]}}})
    path = config(t, ".claude.json", text)
    r = run(t, "wrap", stderr=None)
    check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", r.stdout + r.stderr), f"{r.stdout!r} {r.stderr!r}")
    servers = json.loads(path.read_text())["mcpServers"]
    eq(servers["--vault"]["args"], ["proxy", "--", "b"], "a name like an option")
    run(t, "unwrap", stderr=None)
    eq(path.read_text(), text, "the file")


# --- others write, too ----------------------------------------------------------------------------

@case("unwrap works after the client has rewritten its file, and keeps the backup")
def _(t):
    old = {"mcpServers": {"a": {"command": "server-a", "args": ["x", "y"]}, "b": {"command": "server-b"}}}
    path = config(t, ".claude.json", json.dumps(old))
    run(t, "wrap")
    tree = json.loads(path.read_text())
    tree["numStartups"] = 5
    tree["mcpServers"]["b"] = dict(reversed(tree["mcpServers"]["b"].items()))
    path.write_text(json.dumps(tree, indent=4))
    r = run(t, "unwrap", stderr=None)
    check(b"the file has changed since it was wrapped; its backup is kept" in r.stderr and b"it may contain secrets" in r.stderr, f"{r.stderr!r}")
    old["numStartups"] = 5
    old["mcpServers"]["b"]["args"] = []  # it is not where wrap puts it, directly behind command
    eq(json.loads(path.read_text()), old, "what is in it")
    check(backup_of(t, path).exists(), "the backup has gone")
    # The next wrap is of another file: its backup is that one.
    text = path.read_text()
    run(t, "wrap")
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")


@case("the backup is the file as it was before the first server was wrapped")
def _(t):
    text = json.dumps({"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}}})
    path = config(t, ".claude.json", text)
    backup = backup_of(t, path)
    run(t, "wrap", "a")
    run(t, "wrap", "b")
    eq(backup.read_text(), text, "the backup")
    run(t, "unwrap", "a")
    eq(backup.read_text(), text, "the backup, with one server still wrapped")
    run(t, "unwrap", "b")
    check(not backup.exists(), "the backup is still there")
    eq(path.read_text(), text, "the file")


@case("a backup beside the file, as older versions made it, is found and removed")
def _(t):
    path = config(t, ".claude.json", TEXT)
    run(t, "wrap")
    beside = path.with_name(".claude.json.mcp-interposer.bak")
    backup_of(t, path).rename(beside)
    run(t, "wrap")
    check(not backup_of(t, path).exists(), "a second backup was made")
    run(t, "unwrap")
    eq((path.read_text(), beside.exists()), (TEXT, False), "the file, and its old backup")


@case("backups are in a private directory outside of the vault: configuration files contain secrets")
def _(t):
    path = config(t, ".claude.json", TEXT)
    vault = t.home / ".local/state/mcp-interposer"
    run(t, "wrap", "--vault", vault)
    eq(backup_of(t, path).read_text(), TEXT, "the backup")
    eq(stat.S_IMODE(backup_of(t, path).parent.stat().st_mode), 0o700, "mode of its directory")
    check(not vault.exists() or "server-a" not in "".join(p.read_text() for p in vault.rglob("*") if p.is_file()), "the vault")
    run(t, "unwrap")
    eq((path.read_text(), backup_of(t, path).exists()), (TEXT, False), "the file and the backup")
    state = t.tmp / "state"
    run(t, "wrap", env={"XDG_STATE_HOME": str(state)})
    eq([p.parent for p in state.rglob("*") if p.is_file()], [state / "mcp-interposer-backups"], "with XDG_STATE_HOME")
    run(t, "unwrap", env={"XDG_STATE_HOME": str(state)})
    long = t.home
    for _ in range(5):
        long = long / ("x" * 60)
    path = config(t, long / "mcp.json", TEXT)
    r = run(t, "wrap", "--file", path, status=3, stderr=None)
    check(b"cannot write the file's backup to " in r.stderr and b": the path of the file is too long" in r.stderr, f"{r.stderr!r}")
    eq(path.read_text(), TEXT, "a file without a backup")


@case("two files never share a backup")
def _(t):
    texts = {}
    for place in ("a/b%2Fc.json", "a%2Fb/c.json", "a/b/c.json", "a/b%c.json", "a/b\u00e4.json"):
        texts[config(t, place, TEXT.replace("server-a", place.replace("%", "_")))] = None
    for path in texts:
        texts[path] = path.read_text()
    run(t, "wrap", *(x for p in texts for x in ("--file", p)))
    eq({backup_of(t, p).read_text() for p in texts}, set(texts.values()), "the backups")
    run(t, "unwrap", *(x for p in texts for x in ("--file", p)))
    eq({p: p.read_text() for p in texts}, texts, "the files")


# --- files of other directories ---------------------------------------------------------------------

@case("unwrap names the files of other directories that are still wrapped, and --all unwraps them; wrap --list lists them")
def _(t):
    text = TEXT.replace('"a"', '"db"')
    home = config(t, ".claude.json", TEXT)
    projects = [config(t, f"{name}/.vscode/mcp.json", text) for name in ("one", "two", "three")]
    for path in projects:
        run(t, "wrap", cwd=path.parent.parent)
    run(t, "unwrap", cwd=t.home / "three")
    projects[2].write_text("{")         # its backup has gone: not looked at
    gone = config(t, "gone/.mcp.json", text)
    run(t, "wrap", cwd=gone.parent)
    gone.unlink()
    run(t, "wrap")
    rows = [json.loads(x) for x in run(t, "wrap", "--list", "--json").stdout.splitlines()]
    eq([(r["server"], r["client"], r["state"], r["file"]) for r in rows],
       [("a", "claude-code", "wrapped", str(home))] + [("db", "vscode", "wrapped", str(p)) for p in projects[:2]], "the list")
    r = run(t, "unwrap", "db", status=3, stderr=None)
    check(b"server 'db' is in a file of another directory; to change it, add --all" in r.stderr, f"{r.stderr!r}")
    check(b"Still wrapped" not in run(t, "unwrap", "--client", "claude-code").stdout, "another client was asked for")
    eq(home.read_text(), TEXT, "the file of this client")
    lines = run(t, "unwrap").stdout.decode().splitlines()
    eq([x.split() for x in lines[2:4]], [["db", "vscode", "wrapped", "server-a", f"~/{p}/.vscode/mcp.json"] for p in ("one", "two")], "rows")
    eq(lines[-1], "Files of other directories whose servers are still wrapped: ~/one/.vscode/mcp.json, ~/two/.vscode/mcp.json; "
       "to unwrap these as well: mcp-interposer unwrap --all", "the advice")
    r = run(t, "unwrap", "--all", "--file", home, status=2, stderr=None)
    check(b"--all and --file cannot be combined" in r.stderr, f"{r.stderr!r}")
    run(t, "unwrap", "--all", "db")
    eq([p.read_text() for p in projects[:2]], [text, text], "the files")
    check(b"Still" not in run(t, "unwrap").stdout, "nothing is wrapped")


@case("doctor looks at the wrapped servers of other directories, too")
def _(t):
    path = config(t, "one/.mcp.json", '{"mcpServers": {"db": {"command": "sh"}}}')
    run(t, "wrap", cwd=path.parent)
    path.write_text(path.read_text().replace('"sh"', '"no-such-server"'))
    r = run(t, "doctor", status=1)
    check(f"{path}: server db runs no-such-server, which does not exist".encode() in r.stdout, f"{r.stdout!r}")
    path.write_text(re.sub('"/[^"]*/mcp-interposer"', '"/gone/mcp-interposer"', path.read_text()))
    text = " ".join(run(t, "doctor", status=1).stdout.decode().split())
    check("/gone/mcp-interposer, which does not exist" in text and "correct the path in that file by hand" in text, text)


# --- files in git, and what wrap says -------------------------------------------------------------

@case("a file in a git work tree gets the plain name of the program, and no path of this machine")
def _(t):
    bin, far = t.home / "bin", t.home / ".nvm/bin"
    for d in (bin, far, t.home / "project/sub", t.home / "project/.git"):
        d.mkdir(parents=True)
    (bin / "mcp-interposer").symlink_to(os.path.realpath(lib.PROGRAM))
    (far / "server-a").write_text("#!/bin/sh\n")
    (far / "server-a").chmod(0o755)
    env = {"PATH": f"{bin}:{far}:{BARE}", "MCP_INTERPOSER_VAULT": str(t.tmp / "by-environment")}
    inside = config(t, "project/sub/.cursor/mcp.json", TEXT)
    outside = config(t, ".cursor/mcp.json", TEXT)
    cwd = t.home / "project/sub"
    r = run(t, "wrap", cwd=cwd, env=env)
    eq(json.loads(inside.read_text())["mcpServers"]["a"],
       {"command": "mcp-interposer", "args": ["proxy", "--name", "a", "--", "server-a", "x"]}, "inside the work tree")
    eq(json.loads(outside.read_text())["mcpServers"]["a"]["command"], f"{bin}/mcp-interposer", "outside")
    check(f"{inside} is in a git work tree: its servers are started by the plain name mcp-interposer"
          in r.stdout.decode(), f"{r.stdout!r}")
    eq([p.name for p in inside.parent.iterdir()], ["mcp.json"], "files beside it")
    run(t, "wrap", cwd=cwd, env=env)
    run(t, "unwrap", cwd=cwd, env=env)
    eq((inside.read_text(), outside.read_text()), (TEXT, TEXT), "after unwrapping")
    # What the user asks for is written.
    run(t, "wrap", "--vault", t.tmp / "asked", cwd=cwd, env=env)
    eq(json.loads(inside.read_text())["mcpServers"]["a"]["args"][3:5], ["--vault", str(t.tmp / "asked")], "--vault")
    run(t, "unwrap", cwd=cwd, env=env)
    # A work tree of `git worktree` or a submodule has a file .git.
    (t.home / "project/.git").rmdir()
    (t.home / "project/.git").write_text("gitdir: elsewhere\n")
    run(t, "wrap", cwd=cwd, env=env)
    eq(json.loads(inside.read_text())["mcpServers"]["a"]["command"], "mcp-interposer", "with a file .git")
    run(t, "unwrap", cwd=cwd, env=env)
    # PATH leads to another program of this name: the plain name would start that one.
    (bin / "mcp-interposer").unlink()
    (bin / "mcp-interposer").write_text("#!/bin/sh\n")
    (bin / "mcp-interposer").chmod(0o755)
    r = run(t, "wrap", cwd=cwd, env=env)
    eq(json.loads(inside.read_text())["mcpServers"]["a"]["command"], os.path.realpath(lib.PROGRAM), "not in PATH")
    check(b"because PATH does not lead to this program; install it, unwrap and wrap again" in r.stdout, f"{r.stdout!r}")


@case("wrap ends with what to do next, and with the deadline of calls")
def _(t):
    config(t, ".claude.json", TEXT)
    config(t, ".cursor/mcp.json", TEXT)
    config(t, "project/.cursor/mcp.json", TEXT)
    other = config(t, "other.json", TEXT)
    last = run(t, "wrap").stdout.decode().splitlines()
    eq(last[-1], "Restart these clients: claude-code, cursor; undo with: mcp-interposer unwrap", "the last line")
    check("Calls end after 30 s by default" in last[-2] and "wrap --timeout tool:NAME=5m" in last[-2], f"{last}")
    check("git" not in "".join(last), f"{last}")
    check(b"Restart" not in run(t, "wrap").stdout, "advice although nothing was changed")
    last = run(t, "wrap", "--file", other).stdout.decode().splitlines()
    eq(last[-1], f"Restart these clients: the client that reads {other}; undo with: mcp-interposer unwrap", "a file")
    for args in (["wrap", "--list"], ["unwrap", "--dry-run", "--file", other], ["unwrap", "--json", "--file", other]):
        r = run(t, *args, status=1 if "--dry-run" in args else 0)
        check(b"Restart" not in r.stdout, f"{args}: {r.stdout!r}")
    eq(run(t, "unwrap").stdout.decode().splitlines()[-1], "Restart these clients: claude-code, cursor", "of unwrap")


@case("a list with dashes that loses all its strings becomes an empty list")
def _(t):
    path = config(t, ".config/goose/config.yaml", "extensions:\n  a:\n    args:\n    - proxy\n    - --name\n    - a\n"
                  "    - a-server\n    cmd: /x/mcp-interposer\n    type: stdio\n")
    run(t, "unwrap")
    eq(path.read_text(), "extensions:\n  a:\n    args: []\n    cmd: a-server\n    type: stdio\n", "the file")


@case("an element of a list has its name in a member: without one it is left alone; and a name that is used twice is wrapped twice")
def _(t):
    text = "mcpServers:\n- command: nameless\n- command: a-server\n  name: twin\n- name: twin\n  command: b-server\n"
    path = config(t, ".continue/config.yaml", text)
    r = run(t, "wrap", stderr=None)
    check(b"server '-' is not changed: the server has no `name`" in r.stderr, f"{r.stderr!r}")
    args = '    args: ["proxy", "--name", "twin", "--original", "no args", "--", {}-server]\n'.replace("    ", "  ", 1)
    eq(path.read_text().count(args.format("a")) + path.read_text().count(args.format("b")), 2, path.read_text())
    check("- command: nameless\n" in path.read_text(), path.read_text())
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")


@case("YAML that cannot be edited safely is left alone, with the reason")
def _(t):
    text = ("extensions:\n  anchor:\n    cmd: &c npx\n    args: [x]\n  lines:\n    cmd: |\n      npx\n"
            "  alias:\n    cmd: *c\n  number:\n    cmd: ok\n    args: [&n -y]\n"
            "  below:\n    cmd: ok\n    args:\n      -\n        x\n")
    path = config(t, ".config/goose/config.yaml", text)
    r = run(t, "wrap", stderr=None)
    for name, why in (("anchor", "`command` is not a string"), ("lines", "`command` is not a string"),
                      ("alias", "`command` is not a string"), ("number", "`args` is not an array of strings"),
                      ("below", "the first string of `args` is not on the same line as its dash")):
        check(f"server '{name}' is not changed: {why}".encode() in r.stderr, f"{name}: {r.stderr!r}")
    eq(path.read_text(), text, "the file")
    # A plain scalar that means something else in brackets: the round trip in memory fails.
    text = "extensions:\n  a:\n    cmd: /opt/a,b\n"
    path.write_text(text)
    r = run(t, "wrap", status=3, stderr=None)
    check(b"config.yaml: unwrap could not restore this file exactly; edit it by hand" in r.stderr, f"{r.stderr!r}")
    eq(path.read_text(), text, "the file")


def documented(heading):
    """(client, path) of each file in the table below a heading of docs/clients.md."""
    text = (lib.ROOT / "docs/clients.md").read_text()
    table = text[text.index(f"\n{heading}\n"):]
    rows = re.findall(r"^\| `([a-z-]+)`[^|]*\| ([^|]*)\|", table[table.index("|---"):].split("\n\n")[0], re.M)
    return [(client, path) for client, files in rows for path in re.findall("`([^`]+)`", files)]


CONTENT = {"goose": "extensions: {a: {cmd: a}}", ".yaml": "mcpServers: [{name: a, command: a}]", ".toml": '[mcp_servers.a]\ncommand = "a"\n'}


def found_at(t, client, path, state):
    """Whether the client's file is found at this place of the document."""
    name = re.match(r"\$(\w+)", path)
    value = t.home / "by [variable]" / (path[1:] if path == f"${name[1]}" else "") if name else None
    place = str(value) + path[len(name[0]):] if name else str(t.home / path[2:]) if path[0] == "~" else str(t.home / "project" / path)
    file = config(t, place.replace("*", "a [b]"), CONTENT.get(client, CONTENT.get(Path(path).suffix, '{"mcpServers": {"a": {"command": "a"}}}')))
    r = run(t, "wrap", "--list", "--json", env={name[1]: str(value)} if name else None)
    eq([(d["client"], d["state"], d["file"]) for d in map(json.loads, r.stdout.splitlines())], [(client, state, str(file))], f"the file {path}")
    file.unlink()


@case("every place of docs/clients.md is found, and the document has every place that is looked at")
def _(t):
    known = set()
    for heading, state in ("## Files", "plain"), ("### Plugins and extensions", "plugin"):
        for client, path in documented(heading):
            known.add((client, re.sub(r"^(~/\.config/|~/|/|\$\w+/)", "", path)))
            if path != "plugins/installed_plugins.json" and (client, path) != ("copilot", ".mcp.json"):
                found_at(t, client, path, state)
            if client != "-":
                run(t, "wrap", "--list", "--client", client, stderr=None)
    document = (lib.ROOT / "docs/clients.md").read_text()
    source = (lib.ROOT / "cli/wrap/clients.c").read_text()
    for name in "CLINE", "PLUGINS":
        value = re.search(f'#define {name} "(.*)"', source)[1]
        source = source.replace(f'" {name} "', value).replace(f'{name} "', f'"{value}').replace(f'" {name}', f'{value}"')
    places = re.findall(r'^    \{"([a-z-]+)", (?:ROOT|HOME|CONFIG|DIRECTORY|HERE), (?:MAC )?"(.*?)"(.*)', source, re.M)
    places += [(client, f"${name}", "") for client, name in re.findall(r'^    \{"([a-z-]+)", FILE_ITSELF, NULL, "(\w+)"', source, re.M)]
    check(len(places) > 100, f"places {len(places)}")
    for client, below, rest in places:
        below = re.sub("^(Code - Insiders|VSCodium)/", "Code/", below)
        managed = "MANAGED" in rest and f"/{below}`" in document
        check((client, below) in known or managed or "SCRIPT" in rest, f"docs/clients.md does not name {below} of {client}")
    # The names of editors that the document does not spell out.
    for place in (".config/Code - Insiders/User/profiles/x/mcp.json", ".config/VSCodium/User/mcp.json", "Library/Application Support/Code/User/mcp.json",
                  "Library/Application Support/VSCodium/User/profiles/x/mcp.json"):
        found_at(t, "vscode", f"~/{place}", "plain")


@case("plugins and the administrator: their servers are listed, doctor names them, and nothing changes them")
def _(t):
    cache = ".claude/plugins/cache/market/notes"
    bare = '{"fs": {"command": "server-fs", "args": ["x"]}, "web": {"type": "http", "url": "https://x/mcp"}}'
    plugin = config(t, f"{cache}/2.0.0/.mcp.json", bare)
    inline = config(t, f"{cache}/2.0.0/.claude-plugin/plugin.json", '{"name": "notes", "mcpServers": {"inline": {"command": "server-i"}}}')
    config(t, f"{cache}/1.0.0/.mcp.json", '{"old": {"command": "server-old"}}')
    extension = config(t, ".gemini/extensions/maps/gemini-extension.json", '{"name": "maps", "mcpServers": {"maps": {"command": "server-maps"}}}')
    eq(states(run(t, "wrap", "--list", "--json")), {name: "plugin" for name in ("old", "fs", "web", "inline", "maps")}, "all versions")
    config(t, ".claude/plugins/installed_plugins.json",
           json.dumps({"version": 2, "plugins": {"notes@market": [{"installPath": str(plugin.parent), "version": "2.0.0"}]}}))
    own = config(t, ".claude.json", TEXT)
    texts = {p: p.read_text() for p in (plugin, inline, extension)}
    r = run(t, "wrap", "--remote", "--json")
    eq(states(r), {"a": "wrapped now", "fs": "plugin", "web": "plugin", "inline": "plugin", "maps": "plugin"}, "what wrap says")
    row = next(d for d in map(json.loads, r.stdout.splitlines()) if d["server"] == "maps")
    eq((row["client"], row["why"]), ("gemini", "this file is part of a plugin or an extension, which replaces it at each update; copy the server to a file "
                                     "of your own"), "the row of an extension")
    check(b"maps" not in run(t, "unwrap", "--dry-run", status=1).stdout, "unwrap")
    note = run(t, "doctor", status=None, stderr=None).stdout.decode()
    note = " ".join(note.split())
    check(f"these servers are not recorded, because wrap does not change the files of plugins, extensions and the administrator: fs (~/{cache}/2.0.0/.mcp.json), "
          f"web (~/{cache}/2.0.0/.mcp.json), inline (~/{cache}/2.0.0/.claude-plugin/plugin.json), maps (~/.gemini/" in note, note)
    for args in ("wrap", "maps"), ("unwrap", "fs"):
        r = run(t, *args, status=3, stderr=None)
        check(f"server '{args[1]}' is in a file that is not changed".encode() in r.stderr, f"{r.stderr!r}")
    managed = config(t, "etc/claude-code/managed-mcp.json", TEXT)
    for path, why in (plugin, "this file is part of a plugin or an extension"), (managed, "the file belongs to the administrator"):
        r = run(t, "wrap", "--file", path, status=3, stderr=None)
        check(why.encode() in r.stderr, f"{r.stderr!r}")
    eq(states(run(t, "wrap", "--list", "--json", "--file", managed)), {"a": "managed"}, "of the administrator")
    eq({p: p.read_text() for p in texts}, texts, "the files of plugins")
    check("proxy" in own.read_text(), "the user's own file")


@case("a plugin's file is not changed from its own directory either, nor is it an error that it is broken")
def _(t):
    plugin = config(t, ".claude/plugins/cache/market/notes/1.0.0/.mcp.json", '{"fs": {"command": "server-fs"}, "own": {"command": "mcp-interposer", "args": ["mcp"]}}')
    text = plugin.read_text()
    for args, status in ([], 0), (["--file", ".mcp.json"], 3):
        run(t, "wrap", *args, status=status, cwd=plugin.parent, stderr=None)
        eq(plugin.read_text(), text, f"the file after wrap {args}")
    config(t, ".claude/plugins/installed_plugins.json", json.dumps({"plugins": {"notes@market": [{"installPath": str(plugin.parent)}]}}))
    by_variable = {"CLAUDE_CONFIG_DIR": f"{t.home}/.claude//"}
    eq(len(states(run(t, "wrap", "--list", "--json", env=by_variable, stderr=None))), 2, "servers, by a directory with a slash at its end")
    note = run(t, "doctor", status=None, stderr=None).stdout.decode()
    check("fs (" in note and "own (" not in note, note)
    plugin.write_text("{")
    r = run(t, "wrap", stderr=None)
    check(b"cannot parse the file" in r.stderr, f"{r.stderr!r}")
    run(t, "wrap", "--file", plugin, status=3, stderr=None)
    plugin.write_text('{"fs": {"command": "mcp-interposer", "args": ["proxy", "--", "server-fs"]}}')
    row = json.loads(run(t, "wrap", "--list", "--json").stdout)
    check(row["state"] == "wrapped" and row["why"].startswith("this file is part of a plugin"), f"wrapped by its author: {row}")
    there = config(t, "one/.mcp.json", '{"mcpServers": {"fs": {"command": "sh"}}}')
    run(t, "wrap", cwd=there.parent, stderr=None)
    r = run(t, "unwrap", "fs", status=3, stderr=None)
    check(b"to change it, add --all" in r.stderr, f"{r.stderr!r}")
    plugin.write_text("{")
    check("correct the file" not in run(t, "doctor", status=None, stderr=None).stdout.decode(), "doctor on a file of a plugin")


@case("a plugin's .mcp.json in its own repository has the servers at the top level")
def _(t):
    text = '{\n  "fs": {\n    "command": "server-fs"\n  }\n}\n'
    path = config(t, "project/.mcp.json", text)
    run(t, "wrap")
    eq(json.loads(path.read_text())["fs"]["args"][:3], ["proxy", "--name", "fs"], "the arguments")
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")
    other = config(t, "project/other.json", text)
    r = run(t, "wrap", "--file", other, status=3, stderr=None)
    check(b"no MCP servers found" in r.stderr, "in a file of another name")


@case("a devcontainer.json gets the plain name of the program and no path of this machine, because its servers run in the container")
def _(t):
    far = t.home / ".nvm/bin"
    config(t, far / "server-a", "#!/bin/sh\n").chmod(0o755)
    text = '{"customizations": {"vscode": {"mcp": {"servers": {"a": {"command": "server-a", "args": []}}}}}}'
    path = config(t, "project/.devcontainer/node/devcontainer.json", text)
    env = {"PATH": f"{far}:{BARE}", "MCP_INTERPOSER_VAULT": str(t.tmp / "by-environment")}
    r = run(t, "wrap", env=env)
    server = json.loads(path.read_text())["customizations"]["vscode"]["mcp"]["servers"]["a"]
    eq(server, {"command": "mcp-interposer", "args": ["proxy", "--name", "a", "--", "server-a"]}, "the server")
    check(f"The servers of {path} are started in a container: install mcp-interposer there." in " ".join(r.stdout.decode().split()), f"{r.stdout!r}")
    r = run(t, "doctor", status=None, stderr=None)
    check(b"does not exist" not in r.stdout, f"doctor looks for the programs here: {r.stdout!r}")
    wrapped = path.read_text().replace('"mcp-interposer"', '"/in/the/container/mcp-interposer"')
    path.write_text(wrapped)
    run(t, "wrap", env=env)
    eq(path.read_text(), wrapped, "a path of the container")
    path.write_text(wrapped.replace("/in/the/container/", ""))
    run(t, "unwrap", env=env)
    eq(path.read_text(), text, "the file")
    r = run(t, "wrap", env={**env, "MCP_INTERPOSER_COMMAND": "npx -y mcp-interposer@1.2.3"})
    server = json.loads(path.read_text())["customizations"]["vscode"]["mcp"]["servers"]["a"]
    eq((server["command"], server["args"][:2]), ("npx", ["-y", "mcp-interposer@1.2.3"]), "by a package runner")
    check("started in a container: install npx there." in " ".join(r.stdout.decode().split()), f"{r.stdout!r}")


@case("Crush's crushrc is a script: wrap says what to do by hand")
def _(t):
    path = config(t, ".config/crush/crushrc", "# none\n")
    run(t, "wrap", "--list")
    path.write_text("mcp add files npx -y files\n")
    for args, status in (["wrap", "--list"], 0), (["wrap"], 0), (["wrap", "--file", path], 3), (["unwrap", "--file", path], 3):
        r = run(t, *args, status=status, stderr=None)
        check(b"crushrc: the file is a shell script, which is not read or changed: put `mcp-interposer proxy --` before the command of each `mcp add`"
              in r.stderr, f"{args}: {r.stderr!r}")
    run(t, "unwrap")
    eq(path.read_text(), "mcp add files npx -y files\n", "the file")
    path.write_text("# mcp add x\n\n  mcp add files mcp-interposer proxy -- npx -y files")
    run(t, "wrap")


@case("wrap --remote: every URL of the corpus becomes a command, and unwrap restores the bytes")
def _(t):
    files = settle(t)
    named = [x for name in NAMED for x in ("--file", t.home / PLACES[name])]
    def remotes():
        rows = map(json.loads, run(t, "wrap", "--list", "--json").stdout.splitlines())
        return sorted((r["client"], r["server"]) for r in rows if r["state"] == "remote")
    urls = remotes()
    r = run(t, "wrap", "--remote", stderr=None)
    warned = r.stderr.decode().splitlines()
    refused = {"my_http_server": "the server has login settings", "table of headers": "`headers` are not in braces", "remote": "the server has login settings",
               "signed": "the server has login settings", "login": "the server has login settings", "stream": "OpenClaw has no `transport` for a command"}
    eq({name for name, why in refused.items() if any(f"server '{name}' is not changed: {why}" in line for line in warned)}, set(refused), "refused")
    eq(len(warned), len(refused), f"warnings {warned}")
    check(b"wrap --remote connects" not in r.stdout, f"{r.stdout!r}")
    run(t, "wrap", *named)
    check(len(urls) >= 9, f"only {urls}")
    eq({name for _, name in remotes()}, set(refused), "what is left")
    for path, old in files.items():
        if parse(path, old) is None:
            continue
        before = {name: s for name, s in servers_of(parse(path, old)) if "command" not in s and "cmd" not in s}
        after = dict(servers_of(parse(path, path.read_bytes())))
        for name, server in before.items():
            url = next((server[k] for k in ("url", "serverUrl", "httpUrl", "baseUrl", "uri") if k in server), None)
            if url is None or name in refused:
                continue
            now = after[name]
            words = now["command"] if isinstance(now.get("command"), list) else now["args"]
            words = words[words.index("--") + 1:]
            eq(words[:2] + words[3:4], ["npx", "-y", url], f"{path.name}: {name}")
            for header in server.get("headers", {}).items():
                check(": ".join(header) in words, f"{path.name}: {name} has no header {header}")
            gone = {"url", "serverUrl", "httpUrl", "baseUrl", "uri", "headers", "type", "transport"}
            eq({k: v for k, v in now.items() if k not in {"command", "cmd", "args", "type", "transport", "environment"}},
               {k: v for k, v in json.loads(json.dumps(server)).items() if k not in gone}, f"the rest of {name}")
            for key in "type", "transport":
                eq(now.get(key), {"remote": "local"}.get(server[key], "stdio") if key in server else None, key)
    run(t, "unwrap")
    run(t, "unwrap", *named)
    for path, old in files.items():
        eq(path.read_bytes(), old, f"{path.name} after unwrapping")


@case("wrap --remote: the version of mcp-remote is the one that is tested and documented")
def _(t):
    path = config(t, ".claude.json", '{"mcpServers": {"a": {"url": "https://x/mcp"}}}')
    run(t, "wrap", "--remote")
    args = json.loads(path.read_text())["mcpServers"]["a"]["args"]
    tested = json.loads((lib.ROOT / "tests/sdk/package.json").read_text())["devDependencies"]["mcp-remote"]
    eq(args[args.index("-y") + 1], f"mcp-remote@{tested}", "the package")
    eq(set(re.findall(r"mcp-remote@([0-9.]+)", (lib.ROOT / "docs/clients.md").read_text())), {tested}, "docs/clients.md")


@case("wrap --remote: a client that rewrites its file keeps what unwrap needs")
def _(t):
    old = {"mcpServers": {"a": {"type": "http", "url": "https://x/mcp", "headers": {"X-Key": "k"}, "timeout": 5},
                          "b": {"disabled": True, "url": "https://y/mcp"}}}
    path = config(t, ".claude.json", json.dumps(old))
    run(t, "wrap", "--remote")
    for change in (lambda s: s, lambda s: dict(reversed(s.items()))):
        tree = json.loads(path.read_text())
        tree["mcpServers"] = {name: change(server) for name, server in tree["mcpServers"].items()}
        path.write_text(json.dumps(tree, indent=4))
        run(t, "unwrap", stderr=None)
        eq(json.loads(path.read_text()), old, "the servers")
        run(t, "wrap", "--remote", stderr=None)


@case("deadlines that are given go into the arguments of the server")
def _(t):
    path = config(t, ".claude.json", TEXT)
    config(t, ".config/mcp-interposer/config.ini", "[timeout]\ntool:x = 7m\n")
    r = run(t, "wrap", "--timeout", "tool:build=10m", "-t", "1m", env={"MCP_INTERPOSER_TIMEOUT": "ping=5s"})
    eq(json.loads(path.read_text())["mcpServers"]["a"]["args"],
       ["proxy", "--name", "a", "--timeout", "ping=5s", "--timeout", "tool:build=10m", "--timeout", "1m", "--", "server-a", "x"],
       "the arguments")
    check(b"Calls end after" not in r.stdout, f"{r.stdout!r}")
    check(b"wrapped before" not in r.stdout, f"{r.stdout!r}")
    r = run(t, "wrap", "--timeout", "1h")
    check(b"\nServers not changed, because they were wrapped before: a; to give them other deadlines, unwrap them first.\n" in r.stdout,
          f"{r.stdout!r}")
    check(b"wrapped before" not in run(t, "wrap").stdout, "nothing was given that is not used")
    run(t, "unwrap")
    eq(path.read_text(), TEXT, "the file")
    r = run(t, "wrap", "--timeout", "tool:build=soon", status=2, stderr=None)
    check(b"--timeout: " in r.stderr and path.read_text() == TEXT, f"{r.stderr!r}")


@case("the time limits that a client has for a server become deadlines, unless deadlines are given; the diff shows them")
def _(t):
    text = '[mcp_servers.a]\ncommand = "server-a"\nargs = ["x"]\ntool_timeout_sec = 1800\nstartup_timeout_sec = 20\n'
    path = config(t, ".codex/config.toml", text)
    r = run(t, "wrap", "--dry-run", status=1)
    args = '["proxy", "--name", "a", "--timeout", "tools/call=1799s", "--max-timeout", "1799s", "--", "server-a", "x"]'
    check(f"+args = {args}".encode() in r.stdout, f"{r.stdout!r}")
    run(t, "wrap")
    check(args in path.read_text() and path.read_text().endswith(text[text.index("tool_timeout"):]), path.read_text())
    run(t, "unwrap")
    eq(path.read_text(), text, "the file")
    run(t, "wrap", "--timeout", "tool:build=10m")
    check('["proxy", "--name", "a", "--timeout", "tool:build=10m", "--", "server-a", "x"]' in path.read_text(), path.read_text())
    run(t, "unwrap")
    path.unlink()
    path = config(t, "project/.mcp.json", '{"mcpServers": {"a": {"command": "server-a", "args": ["x"], "timeout": 60000}}}')
    run(t, "wrap")
    check('"--timeout", "tools/call=59s"' in path.read_text(), path.read_text())


@case("an invalid configuration file: unwrap and wrap --list work, with a warning; wrap does not, because no server would start")
def _(t):
    path = config(t, ".claude.json", TEXT)
    run(t, "wrap")
    wrapped = path.read_text()
    ini = config(t, ".config/mcp-interposer/config.ini", "[proxy]\nrecrd = full\n")
    warning = f": the rest of the configuration file is ignored: {ini}:2: unknown key 'recrd'; did you mean 'record'?\n"
    r = run(t, "wrap", "--list", "--json", stderr=None)
    eq(states(r), {"a": "wrapped"}, "the list")
    check(r.stderr.decode().endswith(warning), f"{r.stderr!r}")
    r = run(t, "unwrap", stderr=None)
    eq((path.read_text(), r.stderr.decode().endswith(warning)), (TEXT, True), f"unwrapped; {r.stderr!r}")
    r = run(t, "wrap", status=2, stderr=None)
    check(b"unknown key 'recrd'" in r.stderr and path.read_text() == TEXT, f"{r.stderr!r}")
    path.write_text(wrapped)
    run(t, "unwrap", "--config", t.home / "no-such.ini", stderr=None)
    eq(path.read_text(), TEXT, "with a configuration file that does not exist")


@case("a named file without servers is an error that says what was expected")
def _(t):
    for text in ("{}", '{"server": {"a": {"command": "b"}}}', ""):
        path = config(t, "any.json", text)
        for command in ("wrap", "unwrap"):
            r = run(t, command, "--file", path, status=3, stderr=None)
            check(b"any.json: no MCP servers found: expected an object `mcpServers`, " in r.stderr
                  and b"put `mcp-interposer proxy --` before the server's command by hand" in r.stderr, f"{r.stderr!r}")
    config(t, ".claude.json", "{}")
    run(t, "wrap")  # a client without servers is no error


lib.main()
