#!/usr/bin/env python3
"""docs/ci.md: its files and commands, run as described."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import lib
from lib import case, check, eq

DOCUMENT = (lib.ROOT / "docs/ci.md").read_text()
SDK = lib.ROOT / "tests/sdk/node_modules"


def checkout(t):
    """A folder with the files of the document, and a function that runs a shell command in it."""
    folder = t.tmp / "checkout"
    files, before = {}, 0
    for block in re.finditer(r"```\w+\n(.*?)```", DOCUMENT, re.S):  # the file named last before a block is that block
        files[re.findall(r"`([\w./]+\.\w+)`", DOCUMENT[before:block.start()])[-1]] = block.group(1)
        before = block.end()
    eq(sorted(files), [".github/workflows/test.yml", "record.sh", "session.jsonl", "tests/rules.sh", "tests/words.sh",
                       "tests/words.test.mjs"], "files of the document")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(lib.ROOT / "examples/mail-server.py", folder / "server.py")
    bin = t.tmp / "bin"
    bin.mkdir()
    (bin / "mcp-interposer").symlink_to(lib.PROGRAM)
    env = t.environ({"PATH": f"{bin}:{os.environ['PATH']}"})

    def run(command, status=0):
        done = subprocess.run(command, shell=True, cwd=folder, env=env, timeout=60 * lib.PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        eq(done.returncode, status, f"{command}: {done.stdout.decode()}")
        return done.stdout.decode()
    run("sh record.sh")
    return folder, run


@case("the shell snippets record a session and test a client with it")
def _(t):
    folder, run = checkout(t)
    run("sh tests/words.sh")
    check('failures="0"' in (folder / "replay.xml").read_text(), "the JUnit file is there and has no failure")
    run("sh tests/rules.sh")
    check('"results":[]' in (folder / "findings.sarif").read_text(), "the server keeps to the protocol")
    session = folder / "session.jsonl"
    session.write_text(session.read_text().replace("one two three", "one two"))
    run("sh tests/words.sh", 1)


@case("the commands of the GitHub workflow work as documented, without the installation")
def _(t):
    folder, run = checkout(t)
    workflow = (folder / ".github/workflows/test.yml").read_text()
    commands = re.findall(r"^ +run: ([^|\n].*)$", workflow, re.M)
    eq(len(commands), 2, "commands of one line")
    for command in commands:
        run(command)
    check('failures="0"' in (folder / "verify.xml").read_text(), "the JUnit file of verify")
    server = folder / "server.py"
    server.write_text(server.read_text().replace("words\"", "Worte\""))
    run(commands[1], 1)
    update = re.search(r"`(mcp-interposer verify [^`]*--update[^`]*)`", DOCUMENT).group(1)
    run(update.replace("\n", " "), 1)
    run(commands[1])
    scripts = re.findall(r"interposer/(scripts/\w+)", workflow)
    check(scripts and all((lib.ROOT / x).exists() for x in scripts), "what the workflow installs with is there")


@case("the snippet for the TypeScript SDK passes, and fails with another recording")
def _(t):
    if shutil.which("node") is None or not (SDK / "@modelcontextprotocol/sdk").exists():
        raise lib.Skip("no node, or the SDK is not installed (tests/sdk/run does)")
    folder, run = checkout(t)
    Path(folder / "node_modules").symlink_to(SDK)
    run("node --test tests/words.test.mjs")
    cassette = folder / "tests/words.jsonl"
    cassette.write_text(cassette.read_text().replace("3 words", "4 words"))
    run("node --test tests/words.test.mjs", 1)


if __name__ == "__main__":
    lib.main()
