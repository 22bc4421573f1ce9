#!/usr/bin/env python3
"""completion: what bash, zsh and fish make of the beginning of a command line."""
import os
import pty
import re
import select
import shutil
import subprocess
import time

import lib
from lib import call, case, check, eq, text_result

SHELLS = ("bash", "zsh", "fish")


def script(t, shell):
    r = t.run("completion", shell)
    eq((r.returncode, r.stderr), (0, b""), f"completion {shell}")
    path = t.tmp / f"completion.{shell}"
    path.write_bytes(r.stdout)
    return path


def commands(t):
    text = t.run("--help").stdout.decode()
    return re.findall(r"^  ([a-z]+) ", text.split("Commands:")[1].split("Options:")[0], re.M)


def options(t, command):
    """(letter or None, name, argument or None) of each option in the help."""
    text = t.run(command, "--help").stdout.decode()
    return [(m[0] or None, m[1], m[2] or None)
            for m in re.findall(r"^  (?:-(\w), |    )--([a-z-]+)(?: (\S+))?  ", text, re.M)]


def environ(t, more=None):
    """The program in PATH under its name, and the vault of the case."""
    bin = t.tmp / "bin"
    if not bin.exists():
        bin.mkdir()
        (bin / "mcp-interposer").symlink_to(lib.PROGRAM)
    return t.environ({"PATH": f"{bin}:{os.environ['PATH']}", "MCP_INTERPOSER_VAULT": str(t.vault), "LC_ALL": "C.UTF-8",
                      "PS1": "$ ", **(more or {})})


def bash(t, *words, cwd=None):
    """What bash offers for the last word. The words are as bash splits them: `--a=b` is three."""
    path = script(t, "bash")
    text = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcp_interposer 2>/dev/null;'
            ' printf "%s\\n" "${COMPREPLY[@]}"')
    r = subprocess.run(["bash", "--norc", "-c", text, "bash", path, "mcp-interposer", *words], stdout=subprocess.PIPE,
                       env=environ(t), cwd=cwd or t.tmp, timeout=20 * lib.SLOW)
    return [x for x in r.stdout.decode().split("\n") if x]


@case("each shell takes its script")
def _(t):
    found = 0
    for shell in SHELLS:
        path = script(t, shell)
        if shutil.which(shell):
            found += 1
            r = subprocess.run([shell, "-n", path], stderr=subprocess.PIPE)
            eq((r.returncode, r.stderr), (0, b""), f"{shell} -n")
    check(found > 0, "no shell at all")
    for args, says in ((["completion"], b"no shell: bash, zsh or fish"),
                       (["completion", "csh"], b"'csh' is none of bash, zsh and fish")):
        r = t.run(*args)
        eq((r.returncode, r.stdout), (2, b""), f"{args}")
        check(says in r.stderr, f"{args}: {r.stderr!r}")


@case("bash: commands, every option, and the values of options")
def _(t):
    names = commands(t)
    offered = bash(t, "")
    check(set(names) <= set(offered) and "--version" in offered, f"commands: {offered}")
    eq(bash(t, "se"), [x for x in offered if x.startswith("se")], "what begins with se")
    for name in names:
        if name == "help":
            continue
        wanted = {f"--{o[1]}" for o in options(t, name)} | {f"-{o[0]}" for o in options(t, name) if o[0]}
        eq(set(bash(t, name, "-")), wanted, f"options of {name}")
        for letter, option, argument in options(t, name):
            if argument and "|" in argument:
                eq(bash(t, name, f"--{option}", ""), argument.split("|"), f"{name} --{option}")
                eq(bash(t, name, f"--{option}", "=", argument[0]),
                   [x for x in argument.split("|") if x.startswith(argument[0])], f"{name} --{option}={argument[0]}")
                if letter:
                    eq(bash(t, name, f"-{letter}", ""), argument.split("|"), f"{name} -{letter}")
    check(set(names) <= set(bash(t, "help", "")), "help")
    eq(bash(t, "completion", ""), list(SHELLS), "completion")
    eq(bash(t, "wrap", "-c", "cl"), ["claude-code", "claude-desktop"], "wrap -c")
    eq(bash(t, "--on-hang", "k"), ["kill"], "the short form of proxy")
    eq(bash(t, "sessions", "--server", ""), [], "what nobody can know")


@case("bash: paths, sessions, and the server's own command line")
def _(t):
    for i in (1, 2):
        p = t.proxy("--name", f"s{i}").initialize()
        p.end()
    here = t.tmp / "here"
    (here / "a folder").mkdir(parents=True)
    (here / "a file").touch()
    eq(bash(t, "show", "", cwd=here), ["2", "1"], "sessions")
    eq(sorted(bash(t, "replay", "", cwd=here)), ["1", "2", "a file", "a folder"], "sessions and files")
    eq(bash(t, "export", "", cwd=here), ["2", "1"], "sessions of export")
    eq(sorted(bash(t, "export", "-o", "a", cwd=here)), ["a file", "a folder"], "its file")
    eq(bash(t, "sessions", "--vault", "", cwd=here), ["a folder"], "a directory")
    check("python3" in bash(t, "proxy", "pyth"), "the server of proxy")
    check("python3" in bash(t, "proxy", "--name", "x", "--", "pyth"), "the server of proxy behind --")
    check("python3" in bash(t, "verify", "1", "--", "pyth"), "the server of verify")
    eq(sorted(bash(t, "proxy", "-v", "python3", "a", cwd=here)), ["a file", "a folder"], "an argument of the server")
    eq(bash(t, "proxy", "python3", "--on-hang", "", cwd=here), bash(t, "proxy", "python3", "", cwd=here),
       "an option of the server is no option of ours")


INTERACTIVE = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "bind 'set bell-style none'"),
    "zsh": (["zsh", "-f", "-i"], "bindkey -e; unsetopt zle_bracketed_paste beep; autoload -Uz compinit; compinit -u -D"),
}


def typed(t, text, shell="bash"):
    """The line that an interactive shell has after `text`, which ends with a tab: it goes to echo in the end."""
    path, (argv, first) = script(t, shell), INTERACTIVE[shell]
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(shell, argv, environ(t, {"TERM": "dumb", "INPUTRC": "/dev/null"}))
    out = b""

    def until(done, what):
        nonlocal out
        end = time.monotonic() + 20 * lib.SLOW
        while not done(out):
            check(select.select([fd], [], [], max(0, end - time.monotonic()))[0], f"{what}; so far {out!r}")
            out += os.read(fd, 4096)
    try:
        os.write(fd, f"{first}; source {path}; echo rea'dy'\n".encode())
        until(lambda x: b"\nready\r\n" in x, f"{shell} is ready")
        out = out[out.index(b"\nready\r\n"):]
        os.write(fd, text.encode())
        os.write(fd, b"\x01echo it is: \n")  # Ctrl-A; it reaches the line after the completion
        until(lambda x: re.search(rb"\nit is: .*\n", x), "the line is complete")
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
    return re.search(rb"\nit is: (.*?)\s*\n", out).group(1).decode()


@case("bash: a person at a terminal presses tab")
def _(t):
    eq(typed(t, "mcp-interposer expo\t--form\tmark\t"), "mcp-interposer export --format markdown", "the line")
    eq(typed(t, "mcp-interposer proxy --on-hang=k\t"), "mcp-interposer proxy --on-hang=kill", "the line")


@case("fish: commands, options and values")
def _(t):
    if not shutil.which("fish"):
        raise lib.Skip("no fish here")
    path = script(t, "fish")

    def fish(line):
        r = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=environ(t), timeout=30 * lib.SLOW)
        eq(r.stderr, b"", f"stderr of fish for {line}")
        return [x.split("\t")[0] for x in r.stdout.decode().splitlines()]
    t.proxy("--name", "s1").initialize().end()
    check(set(commands(t)) <= set(fish("mcp-interposer ")), "commands")
    check({"--format", "--output", "--vault"} <= set(fish("mcp-interposer export --")), "options")
    eq(fish("mcp-interposer export --format c"), ["cassette", "csv"], "values")
    eq(fish("mcp-interposer show "), ["1"], "sessions")


@case("zsh: it loads into the completion system")
def _(t):
    if not shutil.which("zsh"):
        raise lib.Skip("no zsh here")
    folder = t.tmp / "functions"
    folder.mkdir()
    shutil.copy(script(t, "zsh"), folder / "_mcp-interposer")
    text = (f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {t.tmp}/dump;"
            " print $_comps[mcp-interposer]; unfunction _mcp-interposer 2>/dev/null; autoload +X _mcp-interposer && print loaded")
    r = subprocess.run(["zsh", "-f", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ(t),
                       timeout=30 * lib.SLOW)
    eq((r.stdout, r.stderr), (b"_mcp-interposer\nloaded\n", b""), "zsh")
    eq(typed(t, "mcp-interposer expo\t--form\tmark\t", "zsh"), "mcp-interposer export --format=markdown", "the line")
    eq(typed(t, "mcp-interposer proxy --on-hang=k\t", "zsh"), "mcp-interposer proxy --on-hang=kill", "the line")


lib.main()
