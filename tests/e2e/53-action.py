#!/usr/bin/env python3
"""The GitHub Action: its definition, and its steps as a runner would run them."""
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import actions
import lib
from lib import call, case, check, eq, request
from replaying import sarif

HELLO = [request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}),
         b'{"jsonrpc":"2.0","method":"notifications/initialized"}', request(1, "tools/list"),
         call(2, "count_words", {"text": "one two three"})]


def checkout(t, more=()):
    """A folder with a server, a client's messages and a cassette of them; `more` are only in the cassette."""
    folder = t.tmp / "check out"
    folder.mkdir()
    shutil.copy(lib.ROOT / "examples/mail-server.py", folder / "server.py")
    (folder / "session.jsonl").write_bytes(b"\n".join([*HELLO, *more]) + b"\n")
    subprocess.run([lib.PROGRAM, "proxy", "--", "python3", "server.py"], cwd=folder, env=t.environ(), check=True,
                   stdin=open(folder / "session.jsonl"), stdout=subprocess.DEVNULL, timeout=30 * lib.PATIENCE)
    eq(t.run("export", "-o", folder / "a b.jsonl").returncode, 0, "export")
    (folder / "session.jsonl").write_bytes(b"\n".join(HELLO) + b"\n")
    return folder


def use(t, folder, status, **inputs):
    inputs = {k.replace("_", "-"): v for k, v in {"program": lib.PROGRAM, **inputs}.items()}
    done = actions.run(t, inputs, folder)
    eq(done.status, status, f"exit status of {inputs}: {done.log}")
    return done


def levels(done):
    return [x[0] for x in done.annotations]


@case("action.yml has the required keys, and no expression in the text of a script")
def _(t):
    action = actions.definition()
    eq(set(action), {"name", "description", "inputs", "outputs", "runs"}, "keys")
    for name, x in action["inputs"].items():
        eq((set(x), type(x["default"]), bool(re.fullmatch("[a-z][a-z0-9-]*", name))), ({"description", "default"}, str, True), name)
    eq(set(action["runs"]), {"using", "steps"}, "keys of runs")
    eq(action["runs"]["using"], "composite", "using")
    used = set()
    for step in action["runs"]["steps"]:
        eq(set(step) - {"if"}, {"id", "shell", "env", "run"}, "keys of a step")
        eq(step["shell"], "bash", "shell")
        check("${{" not in step["run"], f"an expression in {step['run']}")
        for name, value in step["env"].items():
            field = re.fullmatch(r"\$\{\{ inputs\.([a-z0-9-]+) \}\}", value).group(1)
            eq(name, "INPUT_" + field.upper().replace("-", "_"), "variable")
            used.add(field)
    eq(used, set(action["inputs"]), "inputs that a step gets")
    script = (lib.ROOT / "packaging/action/run").read_text()
    for name, x in action["outputs"].items():
        eq((set(x), x["value"]), ({"description", "value"}, "${{ steps.use.outputs.%s }}" % name), name)
        check(name in ("junit", "sarif") or f"output {name} " in script, f"the script does not write the output {name}")


@case("check: findings fail the step, with annotations at the lines of the cassette")
def _(t):
    folder = checkout(t, [request(3, "roots/list"), request(4, "my,method\n::error::x", {})])
    done = use(t, folder, 1, command="check", arguments='"a b.jsonl"')
    eq(done.outputs["status"], "1", "status")
    errors = [x for x in done.annotations if x[0] == "error"]
    check(("error", "wrong-direction") in [(k, p["title"]) for k, p, _ in done.annotations], done.log)
    lines = (folder / "a b.jsonl").read_text().splitlines()
    for kind, place, text in done.annotations:
        eq(place["file"], "a b.jsonl", "file")
        check(place["title"] in json.loads(lines[int(place["line"]) - 1]).get("finding", ""), f"{place}: {text}")
    check("x" not in [text for *_, text in done.annotations], "text of a message is not a command")
    eq(int(ET.parse(done.outputs["junit"]).getroot().find("testsuite").get("failures")), len(errors), "JUnit")
    results = json.load(open(done.outputs["sarif"]))["runs"][0]["results"]
    eq(sorted(r["level"].replace("note", "notice") for r in results), sorted(k for k, p, _ in done.annotations if "file" in p), "SARIF")
    check(done.summary.startswith("### mcp-interposer check: failed (exit status 1)\n\n    a b.jsonl (server): "), done.summary)
    check(all(not x or x.startswith("    ") for x in done.summary.splitlines()[1:]), done.summary)
    eq(done.outputs["answers"], "", "answers")
    done = use(t, folder, 0, command="check", arguments="'a b.jsonl'", fail_on="none")
    eq((done.outputs["status"], "error" in levels(done)), ("0", True), "fail-on: none")
    done = use(t, folder, 1, command="check", arguments=r"--ignore wrong-direction a\ b.jsonl", fail_on="note")
    check("wrong-direction" not in done.log and "failed" in done.summary, done.log)


@case("replay: the client's messages match, or the step fails")
def _(t):
    folder = checkout(t)
    done = use(t, folder, 0, command="replay", arguments="--strict 'a b.jsonl'", stdin="session.jsonl")
    eq((done.outputs["status"], done.annotations, sarif(done.outputs["sarif"])), ("0", [], []), "what it reports")
    check('"3 words"' in open(done.outputs["answers"]).read(), "answers")
    check("replay: passed (exit status 0)" in done.summary, done.summary)
    eq(ET.parse(done.outputs["junit"]).getroot().find("testsuite").get("failures"), "0", "JUnit")
    session = folder / "session.jsonl"
    session.write_text(session.read_text().replace("three", "100%"))
    done = use(t, folder, 1, command="replay", arguments="--strict 'a b.jsonl'", stdin="session.jsonl")
    eq([(k, p["title"]) for k, p, _ in done.annotations], [("error", "different"), ("error", "never-asked")], "annotations")
    check("one two 100%" in done.annotations[0][2] and "one two 100%25" in done.log, done.annotations)
    check("/arguments/text" in done.summary and "replay: failed (exit status 1)" in done.summary, done.summary)
    eq(ET.parse(done.outputs["junit"]).getroot().find("testsuite").get("failures"), "2", "JUnit")
    eq([x[0] for x in sarif(done.outputs["sarif"])], ["different", "never-asked"], "SARIF")
    done = use(t, folder, 0, command="replay", arguments="'a b.jsonl'", stdin="session.jsonl", fail_on="none")
    eq((done.outputs["status"], levels(done)), ("1", ["error"]), "fail-on: none")


@case("verify: the server answers as recorded, or the step fails")
def _(t):
    folder = checkout(t)
    inputs = {"command": "verify", "arguments": "--all 'a b.jsonl'\n-- python3 server.py"}
    done = use(t, folder, 0, **inputs)
    eq((done.outputs["status"], done.annotations), ("0", []), "what it reports")
    check("3 match" in done.summary and "verify: passed" in done.summary, done.summary)
    server = folder / "server.py"
    loud = 'import sys; sys.stderr.write("::error::not a command\\n")\n'
    server.write_text(loud + server.read_text().replace('words"', 'Worte"'))
    done = use(t, folder, 1, **inputs)
    eq([(k, p["title"]) for k, p, _ in done.annotations], [("error", "changed: tools/call count_words")], "annotations")
    check("3 Worte" in done.annotations[0][2], done.annotations)
    check("::error::not a command" in done.log, "the log contains what the server wrote to stderr")
    eq(ET.parse(done.outputs["junit"]).getroot().find("testsuite").get("failures"), "1", "JUnit")
    check("2 match, 1 changed" in done.text and "2 match, 1 changed" in done.summary, done.text)
    eq(use(t, folder, 0, fail_on="none", **inputs).outputs["status"], "1", "fail-on: none")


@case("wrong inputs are errors that say what is expected; nothing in an input is executed")
def _(t):
    folder = checkout(t)
    bad = f"$(touch {t.tmp}/executed) `touch {t.tmp}/executed`; touch {t.tmp}/executed"
    for words, inputs in (("expected replay, verify or check", {"command": bad}),
                          ("expected replay, verify or check", {"command": "proxy"}),
                          ("the input stdin", {"command": "replay", "stdin": bad}),
                          ("a quote is not closed", {"command": "check", "arguments": "'a"}),
                          ("expected error or none", {"command": "verify", "fail_on": "warning"}),
                          ("exit status 2", {"command": "check", "fail_on": bad}),
                          ("no such file", {"program": bad}),
                          ("use one of", {"release": "file:///x"}),
                          ("cannot download", {"program": "", "release": bad})):
        done = actions.run(t, {"program": lib.PROGRAM, **{k.replace("_", "-"): v for k, v in inputs.items()}}, folder)
        eq((done.status in (2, 3), levels(done)), (True, ["error"]), f"{inputs}: {done.log}")
        check(words in done.annotations[0][2], done.log)
    done = actions.run(t, {"program": lib.PROGRAM, "command": "check", "arguments": bad}, folder)
    check(done.status >= 2, done.log)
    check(not (t.tmp / "executed").exists(), "an input was executed")


@case("install: from PATH, or from a release whose sum is right")
def _(t):
    folder = t.tmp / "empty"
    folder.mkdir()
    without = ":".join(x for x in os.environ["PATH"].split(":") if not os.path.exists(f"{x}/mcp-interposer"))
    done = actions.run(t, {}, folder, {"PATH": without})
    eq((done.status, "not in PATH" in done.log, done.summary), (2, True, ""), done.log)
    done = actions.run(t, {}, folder, {"PATH": actions.program_in_path(t)})
    eq(done.status, 0, done.log)

    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine())
    if machine is None:
        raise lib.Skip(f"a release has no program for {platform.machine()}")
    release = t.tmp / "a release"
    release.mkdir()
    name = f"mcp-interposer-1.2.3-linux-{machine}"
    script = b"#!/bin/sh\necho the program of the release\n"      # stands for the program, whose size does not matter
    (release / name).write_bytes(script)
    for other in ("mcp-interposer-1.2.3-linux-riscv", f"{name}-licenses.txt"):
        (release / other).write_text(other)
    subprocess.run([lib.ROOT / "packaging/sums", release], check=True)
    url = "file://" + str(release).replace(" ", "%20")
    good = hashlib.sha256(script).hexdigest()
    for inputs in ({}, {"sha256": good}):
        done = actions.run(t, {"release": url, **inputs}, folder, {"PATH": without})
        eq((done.status, "the program of the release" in done.log), (0, True), done.log)
        found = shutil.which("mcp-interposer", path=done.path)
        eq(open(found, "rb").read(), script, "the next steps find it in PATH")
    for inputs, damage in (({"sha256": good[:-1] + "x"}, b""), ({"sha256": "0" * 64}, b""), ({}, b"echo more\n")):
        (release / name).write_bytes(script + damage)
        done = actions.run(t, {"release": url, **inputs}, folder, {"PATH": without})
        eq((done.status, levels(done), done.path), (3, ["error"], without), done.log)
        check("it was not installed" in done.log and "the program of" not in done.log, done.log)


if __name__ == "__main__":
    lib.main()
