#!/usr/bin/env python3
"""Five client contracts: a client that follows its contract exactly passes against the replay of a cassette with
the contract's messages, directly and through the interposer."""
import json
import subprocess
import sys

import lib
from lib import case, check, eq

FOLDER = lib.ROOT / "tests/contracts"
CONTRACTS = sorted(p.stem for p in FOLDER.glob("*.jsonl"))


def client(t, name, *server):
    """Runs the contract's client with this server. Returns its output if it failed."""
    done = subprocess.run([sys.executable, "-S", FOLDER / f"{name}.py", *(str(x) for x in server)], env=t.environ({"CONTRACT_SLOW": str(2 * lib.PATIENCE)}),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * lib.PATIENCE)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def replay(name, *options):
    return lib.PROGRAM, "replay", *options, FOLDER / f"{name}.jsonl"


def passes(t, name, *server):
    status, said = client(t, name, *server)
    eq(status, 0, f"{name}: {said}")


def said(lines):
    """What the two ends said to each other, in order."""
    return [(m["dir"], m["msg"]) for m in map(json.loads, lines) if "msg" in m]


def declare(name):
    @case(f"contract {name}: the client passes against the replay, and requests everything in it")
    def _(t):
        report = t.tmp / "report.json"
        passes(t, name, *replay(name, "--strict", "--report", report))
        counts = json.loads(report.read_text())
        eq((counts["missed"], counts["exit_status"]), (0, 0), f"what the replay found: {counts}")

    @case(f"contract {name}: the client passes through the interposer, and the recording is the cassette")
    def _(t):
        passes(t, name, lib.PROGRAM, "proxy", "--vault", t.vault, "--", *replay(name))
        done = t.run("export", "--vault", t.vault)
        eq(done.returncode, 0, "export")
        want = said((FOLDER / f"{name}.jsonl").read_text().splitlines())
        got = said(done.stdout.decode().splitlines())
        for direction in "c2s", "s2c":  # messages written at the same time have no order
            # some clients say shutdown, which needs no recording
            mine = [m for d, m in got if d == direction and m.get("method") != "shutdown" and m.get("result") != {}]
            eq(mine, [m for d, m in want if d == direction and m.get("method") != "shutdown"], direction)

    @case(f"contract {name}: the client fails when an answer differs")
    def _(t):
        status, _ = client(t, name, *replay(name, "--fault", "error=-32099@tools/*#2"))
        check(status != 0, "a client that takes any answer shows nothing")


for contract in CONTRACTS:
    declare(contract)


@case("there is a cassette and a client for each of the five contracts")
def _(t):
    eq([x[0] for x in CONTRACTS], list("12345"), "contracts")
    for name in CONTRACTS:
        done = t.run("import", "--vault", t.vault, FOLDER / f"{name}.jsonl")
        eq(done.returncode, 0, f"{name}: {done.stderr}")


if __name__ == "__main__":
    lib.main()
