#!/usr/bin/env python3
"""wrap when this program was started by a package runner: MCP_INTERPOSER_COMMAND (docs/options.md)."""
import json
import os
import subprocess

import lib
from lib import case, check, eq

BARE = "/usr/local/bin:/usr/bin:/bin"
NPX = "npx -y mcp-interposer@1.2.3"
TEXT = '{"mcpServers": {"a": {"command": "server-a", "args": ["x"]}, "b": {"command": "server-b"}}}'


def run(t, *args, status=0, command=NPX, path=BARE, cwd=None):
    (t.home / "project").mkdir(exist_ok=True)
    env = t.environ({"LC_ALL": "C.UTF-8", "PATH": path, "MCP_INTERPOSER_JOURNAL_DIR": None, "MCP_INTERPOSER_COMMAND": command})
    r = subprocess.run([lib.PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, cwd=cwd or t.home / "project", timeout=20 * lib.PATIENCE, env=env, text=True)
    eq(r.returncode, status, f"exit status of {args}; stderr {r.stderr[-600:]!r}")
    return r


def config(t, place, text=TEXT):
    path = t.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def servers(path):
    return json.loads(path.read_text())["mcpServers"]


def fake_npx(t):
    """A directory with an npx that starts the program under test."""
    bin = t.home / "bin"
    bin.mkdir(exist_ok=True)
    (bin / "npx").write_text(f'#!/bin/sh\n[ "$1 $2" = "-y mcp-interposer@1.2.3" ] || exit 99\nshift 2\nexec "{lib.PROGRAM}" "$@"\n')
    (bin / "npx").chmod(0o755)
    return bin


@case("npx: wrap writes its command, a client can use it, list and doctor recognize it, unwrap restores the bytes")
def _(t):
    bin = fake_npx(t)
    path = f"{bin}:{BARE}"
    text = json.dumps({"mcpServers": {"files": {"command": "python3", "args": [str(lib.ROOT / "examples/mail-server.py")]},
                                      "b": {"command": "python3"}}})
    file = config(t, ".claude.json", text)
    out = run(t, "wrap", path=path).stdout
    check(f"undo with: {NPX} unwrap" in out and f"{NPX} wrap --timeout tool:NAME=5m" in out, out)
    eq(servers(file)["files"], {"command": "npx", "args": [
        "-y", "mcp-interposer@1.2.3", "proxy", "--name", "files", "--", "python3", str(lib.ROOT / "examples/mail-server.py")]}, "a")
    eq(servers(file)["b"], {"command": "npx", "args": [
        "-y", "mcp-interposer@1.2.3", "proxy", "--name", "b", "--original", "no args", "--", "python3"]}, "b")
    entry = servers(file)["files"]
    r = subprocess.run([entry["command"], *entry["args"]], stdout=subprocess.PIPE, input=lib.request(1, "tools/list") + b"\n",
                       timeout=30 * lib.PATIENCE, env={"HOME": str(t.home), "PATH": path, "MCP_INTERPOSER_GRACE": "30s"})
    check(r.returncode == 0 and len(json.loads(r.stdout)["result"]["tools"]) > 0, f"the client's answer: {r}")
    for command in (NPX, None):     # by npx, and by an installed program
        rows = [json.loads(line) for line in run(t, "wrap", "--list", "--json", command=command, path=path).stdout.splitlines()]
        eq([(r["state"], r["command"], r["wraps"]) for r in rows], 2 * [("wrapped", "npx", "python3")], "the list")
        was = file.read_text()
        run(t, "wrap", command=command, path=path)
        eq(file.read_text(), was, "after wrapping again")
        check("1 configuration file, 2 wrapped servers" in run(t, "doctor", "-v", "--journal-dir", str(t.journals), command=command, path=path).stdout, "doctor")
    other = config(t, "other/.mcp.json", text)
    run(t, "wrap", path=path, cwd=other.parent)
    check(f"to unwrap these as well: {NPX} unwrap --all" in run(t, "unwrap", "b", path=path).stdout, "the advice of unwrap")
    run(t, "unwrap", "--all", "b", command="no-such-program", path=path)
    run(t, "unwrap", path=path, cwd=other.parent)
    run(t, "wrap", path=path)
    (bin / "npx").unlink()
    bare = t.home / "none"
    bare.mkdir()
    out = run(t, "doctor", path=str(bare), status=1).stdout
    check("server files is started by npx, which does not exist" in out and "install Node.js" in out, out)
    run(t, "unwrap")
    eq(file.read_text(), text, "the file")


@case("npx: wrap with another version updates the version of wrapped servers, and nothing else")
def _(t):
    file = config(t, ".claude.json")
    run(t, "wrap")
    wrapped = file.read_text()
    r = run(t, "wrap", command="npx -y mcp-interposer@1.10.0")
    eq(file.read_text(), wrapped.replace("@1.2.3", "@1.10.0"), "the file")
    check("wrapped now" in r.stdout, r.stdout)
    run(t, "unwrap")
    eq(file.read_text(), TEXT, "after unwrap")
    # What people have written by hand stays: no version, the newest one, another package runner, an installed program.
    for entry in ({"command": "npx", "args": ["-y", "mcp-interposer", "proxy", "x"]},
                  {"command": "npx", "args": ["-y", "mcp-interposer@latest", "proxy", "x"]},
                  {"command": "bunx", "args": ["mcp-interposer@1.0.0", "proxy", "x"]},
                  {"command": lib.PROGRAM, "args": ["proxy", "x"]}):
        text = json.dumps({"mcpServers": {"a": entry}})
        file.write_text(text)
        run(t, "wrap")
        eq(file.read_text(), text, "after wrap")
        run(t, "unwrap")
        eq(servers(file)["a"], {"command": "x"}, "after unwrap")
    # The directory of an interposer that was not installed has been removed.
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "/gone/_npx/1/mcp-interposer", "args": ["proxy", "x"]}}}))
    run(t, "wrap")
    eq(servers(file)["a"], {"command": "npx", "args": ["-y", "mcp-interposer@1.2.3", "proxy", "x"]}, "after its removal")


@case("npx: a file in a git work tree gets no path, a client of the desktop may not find the runner, --remote works as well")
def _(t):
    bin = fake_npx(t)
    (bin / "npx").rename(bin / "bunx")      # npx itself may be in /usr/bin
    (t.home / "project/.git").mkdir(parents=True)
    file = config(t, "project/.mcp.json")
    out = run(t, "wrap").stdout
    check("git" not in out and "may not find" not in out, out)
    eq(servers(file)["b"]["command"], "npx", "in a work tree")
    file.write_text(TEXT)
    config(t, ".cursor/mcp.json")
    out = run(t, "wrap", command="bunx mcp-interposer@1.2.3", path=f"{bin}:{BARE}").stdout
    check(f"cursor may not find bunx, which is in {bin}: if its servers do not start, install mcp-interposer" in out, out)
    check("claude-code may" not in out, out)
    file.unlink()
    file = config(t, ".claude.json", '{"mcpServers": {"a": {"type": "http", "url": "https://x/mcp"}}}')
    run(t, "wrap", "--remote")
    eq(servers(file)["a"]["args"][:5], ["-y", "mcp-interposer@1.2.3", "proxy", "--name", "a"], "a server with a URL")
    run(t, "unwrap")
    eq(servers(file)["a"], {"type": "http", "url": "https://x/mcp"}, "after unwrap")


@case("an installed package: the path of the program, and the plain name in a git work tree")
def _(t):
    (t.home / "project/.git").mkdir(parents=True)
    inside = config(t, "project/.mcp.json")
    outside = config(t, ".claude.json")
    out = run(t, "wrap", command="mcp-interposer").stdout
    eq((servers(inside)["a"]["command"], servers(outside)["a"]["command"]), ("mcp-interposer", os.path.realpath(lib.PROGRAM)), "commands")
    check("undo with: mcp-interposer unwrap" in out and "by the plain name" in out, out)


@case("MCP_INTERPOSER_COMMAND that does not start this program is an error, and changes nothing")
def _(t):
    file = config(t, ".claude.json")
    for command in ("echo", "npx -y other", f"{NPX} proxy"):
        r = run(t, "wrap", command=command, status=2)
        check(f"MCP_INTERPOSER_COMMAND: '{command}' does not start this program: expected a command such as npx -y mcp-interposer"
              in r.stderr, r.stderr)
    eq(file.read_text(), TEXT, "the file")
    run(t, "wrap", command="")
    eq(servers(file)["a"]["command"], os.path.realpath(lib.PROGRAM), "with an empty variable")
    run(t, "unwrap", command="echo")
    eq(file.read_text(), TEXT, "unwrap does not need it")


lib.main()
