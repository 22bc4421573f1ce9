#!/usr/bin/env python3
"""README.md, docs/send.md and docs/audit-call.md: their commands for the example server, run as described."""
import os
import re
import shutil
import subprocess

import lib
from lib import case, check, eq

DOCUMENT = (lib.ROOT / "README.md").read_text()


def blocks(heading, document=DOCUMENT):
    """The shell blocks of a section, as lists of commands without comments; a command may have several lines."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", document, re.S | re.M).group(1)
    return blocks_in(section)


def blocks_in(text):
    return [[x for x in re.split(r"(?<!\\)\n(?! )", re.sub(r" +# .*", "", block)) if x]
            for block in re.findall(r"```sh\n(.*?)```", text, re.S)]


def before_sections(name):
    """The last shell block before the sections of a document, as a list of commands."""
    return blocks_in((lib.ROOT / "docs" / name).read_text().partition("\n## ")[0])[-1]


def checkout(t):
    """A folder with the example, and a function that runs a command in it, as a user does who has installed the program."""
    folder, bin = t.tmp / "checkout", t.tmp / "bin"
    shutil.copytree(lib.ROOT / "examples", folder / "examples")
    bin.mkdir()
    (bin / "mcp-interposer").symlink_to(lib.PROGRAM)
    env = t.environ({"PATH": f"{bin}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"})

    def run(command):
        lib.settle()
        done = subprocess.run(command, shell=True, cwd=folder, env=env, timeout=60 * lib.PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        eq(done.returncode, 0, f"{command}: {done.stdout.decode()}")
        return done.stdout.decode()
    return folder, run


@case("the first session has no findings, a sensible name, a redacted password and a truncated text")
def _(t):
    _, run = checkout(t)
    first, show, one = blocks("Install")[-1]
    answers = run(first).splitlines()
    check(len(answers) == 4 and all('"result"' in x for x in answers), answers)
    shown = run(show)
    check("server    mail-server (" in shown and "4 calls: 4 ok" in shown, shown)
    check("(mail-server): 9 messages, 0 errors, 0 warnings, 0 notes\n" in run("mcp-interposer check"), "findings")
    check("password=[redacted:" in run(one) and "… [+80 chars]" in run(one), run(one))


@case("the commands that look at a recording end with success and print something")
def _(t):
    _, run = checkout(t)
    run(blocks("Install")[-1][0])
    commands, = blocks("Look at what was recorded")
    eq(len(commands), 5, "commands")
    for command in commands:
        if command.split()[1] != "ui":      # it does not end by itself
            check(run(command) != "", command)


@case("a recording replays, and the server still answers as recorded")
def _(t):
    _, run = checkout(t)
    first = blocks("Install")[-1][0]
    answers = run(first)
    (export, replay), (verify,) = blocks("Replay it in CI")
    run(export)
    eq(run(replay), answers, "the answers of the replay")
    check(run(verify).endswith("4 requests: 3 match, 1 skipped\n"), "what verify says")


@case("requests are sent, typed and recorded ones")
def _(t):
    _, run = checkout(t)
    run(blocks("Install")[-1][0])
    tools, typed, again = before_sections("send.md")
    check(run(tools).startswith("count_words  read-only"), "the tools")
    check(run(typed).startswith("2 words\n"), "a typed request")
    check("2 words\n" in run(again) and "difference from the recorded answer:\n" in run(again), "a recorded request")


@case("a session is verified, signed, proven and checked")
def _(t):
    folder, run = checkout(t)
    run(blocks("Install")[-1][0])
    verify, key, sign, prove, look = before_sections("audit-call.md")
    check("valid, not anchored" in run(verify), "before there is a key")
    check("file    " in run(key), "the key")
    eq(run(sign), (folder / "checkpoints.txt").read_text(), "the note and its copy")
    run(prove)
    check(run(look).startswith("PROVEN  "), "the proof")


@case("no line of code is wider than a terminal")
def _(t):
    for block in re.findall(r"```\w*\n(.*?)```", DOCUMENT, re.S):
        for line in block.splitlines():
            check(len(line) <= 80, f"{len(line)} columns: {line}")


lib.main()
