#!/usr/bin/env python3
"""completion: candidates in bash, zsh and fish."""
import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import time

import lib
from lib import call, case, check, eq, text_result
from looking import add_message, add_session, make_vault

SHELLS = ("bash", "zsh", "fish")


def script(t, shell):
    r = t.run("completion", shell)
    eq((r.returncode, r.stderr), (0, b""), f"completion {shell}")
    eq(t.run("completion", shell, "--config", "/no/such/file").stdout, r.stdout, "without a valid configuration")
    path = t.tmp / f"completion.{shell}"
    path.write_bytes(r.stdout)
    return path


def commands(t):
    text = t.run("--help").stdout.decode()
    return re.findall(r"^  ([a-z]+) ", text.split("Commands:")[1].split("Options:")[0], re.M)


def verbs(t, command):
    """The verbs of a command that has verbs."""
    usage = t.run(command, "--help").stdout.decode().partition("\nUsage:\n")[2].partition("\n\n")[0]
    return re.findall(rf"^  mcp-interposer {command} ([a-z]+) ", usage, re.M)


def options(t, *command):
    """(letter or None, name, argument or None) of each option in the help."""
    text = re.sub(r"\n {9,}", "  ", t.run(*command, "--help").stdout.decode())  # long lines are broken
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


def bash(t, *words, cwd=None, more=None):
    """What bash offers for the last word. The words are as bash splits them: `--a=b` is three."""
    path = script(t, "bash")
    text = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcp_interposer 2>/dev/null;'
            ' printf "%s\\n" "${COMPREPLY[@]}"')
    r = subprocess.run(["bash", "--norc", "-c", text, "bash", path, "mcp-interposer", *words], stdout=subprocess.PIPE,
                       env=environ(t, more), cwd=cwd or t.tmp, timeout=20 * lib.PATIENCE)
    return [x for x in r.stdout.decode().split("\n") if x]


def offers(t, wanted, what, *words, order=list, **more):
    """What bash offers of what is recorded: that is read for 0.3 s, in which a busy machine may not read all of it."""
    got = []

    def same():
        got[:] = [order(bash(t, *words, **more))]
        return got == [wanted]
    lib.wait_until(same, 5, lambda: f"{what}: got {got[0]}, wanted {wanted}")


@case("each shell accepts its script")
def _(t):
    found = 0
    for shell in SHELLS:
        path = script(t, shell)
        if shutil.which(shell):
            found += 1
            r = subprocess.run([shell, "-n", path], stderr=subprocess.PIPE)
            eq((r.returncode, r.stderr), (0, b""), f"{shell} -n")
    check(found > 0, "no shell at all")
    for args, says in ((["completion"], b"missing shell: use bash, zsh or fish"),
                       (["completion", "csh"], b"unknown shell 'csh': use bash, zsh or fish")):
        r = t.run(*args)
        eq((r.returncode, r.stdout), (2, b""), f"{args}")
        check(says in r.stderr, f"{args}: {r.stderr!r}")


@case("bash: commands, every option, and the values of options", limit=120)
def _(t):
    names = commands(t)
    offered = bash(t, "")
    check(set(names) <= set(offered) and "--version" in offered, f"commands: {offered}")
    eq(bash(t, "se"), [x for x in offered if x.startswith("se")], "what begins with se")
    for name in names:
        if name == "help":
            continue
        for verb in verbs(t, name):
            wanted = {f"--{o[1]}" for o in options(t, name, verb)} | {f"-{o[0]}" for o in options(t, name, verb) if o[0]}
            check(verb in bash(t, name, "") and verb in bash(t, "help", name, ""), f"{name} {verb}")
            eq(set(bash(t, name, verb, "-")), wanted, f"options of {name} {verb}")
        if verbs(t, name):
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
    eq(bash(t, "audit", "no-verb", ""), [], "not a verb")
    eq(bash(t, "wrap", "-c", "cl"), ["claude-code", "claude-desktop", "cline"], "wrap -c")
    eq(bash(t, "--on-hang", "k"), ["kill", "kill-now"], "the short form of proxy")
    eq(bash(t, "sessions", "--server", ""), [], "there is no vault")
    eq(bash(t, "sessions", "--since", ""), [], "what nobody can know")
    eq(bash(t, "unknown", ""), [], "an unknown command")
    eq(bash(t, "check", "--fail-on", "warning,no"), ["warning,note", "warning,none", "warning,not-json",
                                                     "warning,no-newline", "warning,not-a-number",
                                                     "warning,not-jsonrpc", "warning,not-acknowledged", "warning,no-subscription",
                                                     "warning,no-progress"], "a list")


@case("bash: paths, sessions, and the server's own command line")
def _(t):
    for i in (1, 2):
        p = t.proxy("--name", f"s{i}").initialize()
        p.end()
    here = t.tmp / "here"
    (here / "a folder").mkdir(parents=True)
    (here / "a file").touch()
    offers(t, ["2", "s2", "1", "s1"], "sessions and their servers", "show", "", cwd=here)
    offers(t, ["1", "2", "a file", "a folder", "s1", "s2"], "sessions and files", "replay", "", cwd=here, order=sorted)
    offers(t, ["2", "s2", "1", "s1"], "sessions of export", "export", "", cwd=here)
    eq(sorted(bash(t, "export", "-o", "a", cwd=here)), ["a file", "a folder"], "its file")
    eq(bash(t, "sessions", "--vault", "", cwd=here), ["a folder"], "a directory")
    eq(bash(t, "sessions", "--journal-dir", "", cwd=here), ["a folder"], "another directory")
    check("python3" in bash(t, "proxy", "pyth"), "the server of proxy")
    check("python3" in bash(t, "proxy", "--name", "x", "--", "pyth"), "the server of proxy behind --")
    check("python3" in bash(t, "verify", "1", "--", "pyth"), "the server of verify")
    eq(sorted(bash(t, "proxy", "-v", "python3", "a", cwd=here)), ["a file", "a folder"], "an argument of the server")
    eq(bash(t, "proxy", "python3", "--on-hang", "", cwd=here), bash(t, "proxy", "python3", "", cwd=here),
       "an option of the server is no option of ours")


@case("bash: names from the vault")
def _(t):
    p = t.proxy("--name", "alpha").initialize(client={"name": "cli", "version": "1"})
    for i, tool in enumerate(("read_file", "read_all", "$(touch owned)", "a b", "semi;colon", ":files", "-x")):
        p.client.send(call(i, tool))
        p.server.recv()
        p.server.send(text_result(i, "x"))
        p.client.recv()
    p.end()
    t.proxy("--name", "beta; echo").initialize().end()
    t.proxy("--name", "gamma").initialize().end()
    offers(t, ["read_file", "read_all"], "tools of send", "send", "--seq", "1", "echo", "re")
    offers(t, ["resources/read"], "methods of send", "send", "resources/re")
    offers(t, ["alpha"], "recordings of send", "send", "--session", "al")
    offers(t, ["gamma", "alpha"], "servers; one could run a command", "sessions", "--server", "")
    offers(t, ["alpha"], "behind =", "sessions", "--server", "=", "al")
    offers(t, ["gamma", "alpha"], "servers of tools", "tools", "")
    offers(t, ["gamma"], "a server of replay", "replay", "--name", "g")
    eq(bash(t, "proxy", "--name", "g"), [], "a new name")
    offers(t, ["cli"], "the client; another one has a blank", "tail", "--client", "")
    offers(t, ["read_file", "read_all"], "tools; no name that a shell would interpret", "tail", "--tool", "")
    offers(t, ["read_file"], "one tool", "tail", "--tool", "read_f")
    offers(t, ["x,read_file"], "the last tool of a list", "proxy", "--vault", t.vault, "--hide-tools", "x,read_f")
    lib.wait_until(lambda: {"initialize", "tools/call"} <= set(bash(t, "tail", "--method", "")), 5, "methods")
    eq(bash(t, "search", "to"), ["tool:", "took:"], "fields")
    offers(t, ["read_file", "read_all"], "its values", "search", "tool", ":")
    offers(t, ["read_all"], "the beginning of one", "search", "tool", ":", "read_a")
    eq(bash(t, "search", "status", ":", "re"), ["refused"], "a status")
    eq(bash(t, "show", "-V", str(t.tmp / "none"), ""), [], "another vault")
    config = t.tmp / "config.ini"
    config.write_text(f"vault = {t.vault}\n")
    offers(t, ["3", "gamma", "2", "1", "alpha"], "a configuration", "show", "--config", str(config), "", more={"MCP_INTERPOSER_VAULT": ""})
    eq(bash(t, "show", "", more={"MCP_INTERPOSER_VAULT": "", "HOME": str(t.tmp)}), [], "no vault")


@case("__complete: candidates with descriptions, nothing on stderr, and not in the help")
def _(t):
    def complete(*words, **env):
        r = subprocess.run([lib.PROGRAM, "__complete", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=environ(t, env), timeout=20 * lib.PATIENCE)
        eq((r.returncode, r.stderr), (0, b""), f"{words}")
        return r.stdout.decode().splitlines()
    t.proxy("--name", "alpha").initialize().end()
    summary = re.search(r"^  export +(.*)$", t.run("--help").stdout.decode(), re.M)[1]
    eq(complete("expo"), [f"export\t{summary}"], "a command")
    check(re.fullmatch(r"1\talpha, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", complete("show", "")[0]), "a session")
    eq(complete("replay", ""), complete("show", "") + [":files"], "sessions and files")
    eq(complete("-V", "x", "--", "npx", ""), [":server 3"], "the short form of proxy")
    eq(complete("show", "1", ""), [], "an operand too many")
    eq(complete("sessions", "--no-such-option", "--js"), ["--json\t" + [x for x in complete("sessions", "--") if
                                                          x.startswith("--json\t")][0].split("\t")[1]], "an unknown option")
    eq(complete(), complete(""), "no word")
    vault = t.tmp / "broken"
    vault.mkdir()
    (vault / "interposer.db").write_bytes(b"no database" * 1000)
    eq(complete("show", "", MCP_INTERPOSER_VAULT=str(vault)), [], "a broken vault")
    eq(complete("show", "--vault", str(vault / "none"), ""), [], "no vault")
    check(not (vault / "none").exists(), "nothing is made")
    check(b"__complete" not in t.run("--help").stdout, "the help")
    config = t.tmp / "config.ini"
    config.write_text("[__complete]\nvault = x\n")
    eq(t.run("sessions", "--config", config).returncode, 2, "no section of the configuration")


@case("completion is quick in a large vault")
def _(t):
    with contextlib.closing(make_vault(t.vault)) as db:
        for s in range(1, 400):
            add_session(db, s, name=f"server-{s}")
        for i in range(1, 100):
            add_message(db, 1, i, kind="request", rpc_id=str(i), method="tools/call", target=f"tool_{i % 40}")
        copied = "seq, t_us, direction, origin, kind, size, redactions, action, rpc_id, method, target"
        db.execute(f"INSERT INTO messages (id, session_id, {copied}) SELECT (s.id << 36) + seq, s.id, {copied} FROM messages, sessions s WHERE s.id > 1")
    for words, n in ((("show", ""), 50), (("tail", "--server", ""), 50), (("tail", "--tool", ""), 40)):
        offers(t, n, f"candidates of {words}", *words, order=len)
        began = time.monotonic()
        bash(t, *words)
        check(time.monotonic() - began < 20 * lib.SLOW, f"{words}: {time.monotonic() - began:.1f} s")


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
        end = time.monotonic() + 20 * lib.PATIENCE
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


@case("bash: completion in an interactive terminal")
def _(t):
    eq(typed(t, "mcp-interposer expo\t--form\tmark\t"), "mcp-interposer export --format markdown", "the line")
    eq(typed(t, "mcp-interposer proxy --on-hang=c\t"), "mcp-interposer proxy --on-hang=cancel", "the line")
    eq(typed(t, "mcp-interposer search st\tti\t"), "mcp-interposer search status:timeout", "the line")


@case("fish: commands, options and values")
def _(t):
    if not shutil.which("fish"):
        raise lib.Skip("no fish here")
    path = script(t, "fish")

    def fish(line):
        r = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, env=environ(t), cwd=t.tmp, timeout=30 * lib.PATIENCE)
        eq(r.stderr, b"", f"stderr of fish for {line}")
        return [x.split("\t")[0] for x in r.stdout.decode().splitlines()]
    t.proxy("--name", "s1").initialize().end()
    check(set(commands(t)) <= set(fish("mcp-interposer ")), "commands")
    check({"--format", "--output", "--vault"} <= set(fish("mcp-interposer export --")), "options")
    eq(fish("mcp-interposer export --format c"), ["cassette", "csv"], "values")
    eq(fish("mcp-interposer show "), ["1"], "sessions")
    eq(fish("mcp-interposer proxy --on-hang=c"), ["--on-hang=cancel"], "a value behind =")
    (t.tmp / "a file").touch()
    (t.tmp / "a folder").mkdir()
    eq(fish("mcp-interposer export -o a"), ["a file", "a folder/"], "files")
    eq(fish("mcp-interposer export --output=a"), ["--output=a file", "--output=a folder/"], "files behind =")
    eq(fish("mcp-interposer show --vault a"), ["a folder/"], "directories")
    check("python3" in fish("mcp-interposer proxy -v -- pyth"), "the server")
    eq(fish("mcp-interposer proxy python3 a"), ["a file", "a folder/"], "an argument of the server")


@case("zsh: the script loads into the completion system")
def _(t):
    if not shutil.which("zsh"):
        raise lib.Skip("no zsh here")
    folder = t.tmp / "functions"
    folder.mkdir()
    shutil.copy(script(t, "zsh"), folder / "_mcp-interposer")
    text = (f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -d {t.tmp}/dump;"
            " print $_comps[mcp-interposer]; unfunction _mcp-interposer 2>/dev/null; autoload +X _mcp-interposer && print loaded")
    r = subprocess.run(["zsh", "-f", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ(t),
                       timeout=30 * lib.PATIENCE)
    eq((r.stdout, r.stderr), (b"_mcp-interposer\nloaded\n", b""), "zsh")
    eq(typed(t, "mcp-interposer expo\t--form\tmark\t", "zsh"), "mcp-interposer export --format markdown", "the line")
    eq(typed(t, "mcp-interposer proxy --on-hang=c\t", "zsh"), "mcp-interposer proxy --on-hang=cancel", "the line")
    (t.tmp / "a-file").touch()
    t.proxy("--name", "alpha").initialize().end()
    for line, whole in (("mcp-interposer show \t", "mcp-interposer show 1"),
                        ("mcp-interposer search st\tti\t", "mcp-interposer search status:timeout"),
                        ("mcp-interposer sessions --server a\t", "mcp-interposer sessions --server alpha"),
                        (f"mcp-interposer export -o {t.tmp}/a-\t", f"mcp-interposer export -o {t.tmp}/a-file"),
                        (f"mcp-interposer export --output={t.tmp}/a-\t", f"mcp-interposer export --output={t.tmp}/a-file"),
                        (f"mcp-interposer proxy -v -- cat {t.tmp}/a-\t", f"mcp-interposer proxy -v -- cat {t.tmp}/a-file")):
        eq(typed(t, line, "zsh"), whole, "the line")


lib.main()
