#!/usr/bin/env python3
"""docs/ci.md: its files and commands, run as described."""
import re
import shutil
import subprocess
from pathlib import Path

import actions
import lib
from lib import case, check, eq

DOCUMENT = (lib.ROOT / "docs/ci.md").read_text()
SDK = lib.ROOT / "tests/sdk/node_modules"


def checkout(t):
    """A folder with the files of the document, and a function that runs a shell command in it."""
    folder = t.tmp / "checkout"
    files, before = {}, 0
    for block in re.finditer(r"```\w+\n(.*?)```", DOCUMENT, re.S):  # the file named last before a block is that block
        files[re.findall(r"`([\w./-]+\.\w+)`", DOCUMENT[before:block.start()])[-1]] = block.group(1)
        before = block.end()
    eq(sorted(files), [".github/workflows/test.yml", ".gitlab-ci.yml", "record.sh", "session.jsonl", "tests/rules.sh", "tests/words.sh",
                       "tests/words.test.mjs"], "files of the document")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copy(lib.ROOT / "examples/mail-server.py", folder / "server.py")
    env = t.environ({"PATH": actions.program_in_path(t)})

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


def change_server(folder):
    server = folder / "server.py"
    server.write_text(server.read_text().replace("words\"", "Worte\""))


@case("the GitHub workflow works as documented, without checkouts and installation")
def _(t):
    folder, run = checkout(t)
    text = (folder / ".github/workflows/test.yml").read_text()
    workflow = actions.load(text)
    used = {}
    for job in workflow["jobs"].values():
        eq(job["runs-on"], "ubuntu-latest", "machine")
        names = {step["uses"] for step in job["steps"] if "uses" in step}
        eq(names - {"actions/checkout@v4", "actions/upload-artifact@v4", "./interposer"}, set(), "actions")
        used.update({step["with"]["command"]: step["with"] for step in job["steps"] if step.get("uses") == "./interposer"})
    eq(list(used), ["replay", "verify", "check"], "commands")
    env = {"PATH": actions.program_in_path(t)}

    def status(command):
        done = actions.run(t, used[command], folder, env)
        outputs = re.findall(r"\$\{\{ steps\.\w+\.outputs\.(\w+) \}\}", text)
        check(outputs and all(Path(done.outputs[x]).exists() for x in outputs), f"files of {command}: {done.outputs}")
        return done.status
    eq([status(x) for x in used], [0, 0, 0], "exit status")
    change_server(folder)
    eq(status("verify"), 1, "exit status with a changed server")
    update = re.search(r"`(mcp-interposer verify [^`]*--update[^`]*)`", DOCUMENT).group(1)
    run(update.replace("\n", " "), 1)
    eq(status("verify"), 0, "exit status with the new answers")
    scripts = re.findall(r"interposer/(scripts/\w+)", text)
    check(scripts and all((lib.ROOT / x).exists() for x in scripts), "what the workflow installs with is there")


@case("the tables of docs/ci.md have the inputs and outputs of action.yml")
def _(t):
    action = actions.definition()
    for kind in ("input", "output"):
        table = re.search(rf"^\| {kind} \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", DOCUMENT, re.M).group(1)
        eq(set(re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.M)), set(action[f"{kind}s"]), f"{kind}s")


@case("the GitLab jobs work as documented, without the installation")
def _(t):
    folder, run = checkout(t)
    jobs = actions.load((folder / ".gitlab-ci.yml").read_text())
    default = jobs.pop("default")
    eq((set(default), set(jobs)), ({"image", "before_script"}, {"client", "server"}), "jobs")
    for name, job in jobs.items():
        eq((set(job), job["artifacts"]["when"]), ({"script", "artifacts"}, "always"), f"keys of {name}")
        run("set -e\n" + "\n".join(job["script"]))
        files = job["artifacts"]["reports"]["junit"]
        for file in files if isinstance(files, list) else [files]:
            check('failures="0"' in (folder / file).read_text(), f"the JUnit file {file}")
    change_server(folder)
    run("set -e\n" + "\n".join(jobs["server"]["script"]), 1)
    scripts = re.findall(r"interposer/(scripts/\w+)", "".join(default["before_script"]))
    check(scripts and all((lib.ROOT / x).exists() for x in scripts), "what the jobs install with is there")


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
