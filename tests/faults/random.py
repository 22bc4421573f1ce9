#!/usr/bin/env python3
"""Sessions of the program in which allocations fail at random: a message that cannot be handled is refused, and the
session goes on.

    tests/faults/random.py [--seeds N] [--first SEED]

Each session ends by itself with a documented exit status, never with a signal. Each request of the client is answered
exactly once, unless the interposer fails (exit status 3) or closes the connection, and stderr says why. Some sessions
have a crash of the server and its restart, a few have failures in the recorder process, too. Ends with one line,
`ok - ...` or `not ok - ...`. MCP_INTERPOSER names the program, TEST_BUILD the build directory."""
import argparse
import contextlib
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TEST_BUILD") or ROOT / "build").resolve()
PROGRAM = os.environ.pop("MCP_INTERPOSER", None) or str(BUILD / "mcp-interposer")
PATIENCE = 60       # seconds; a session takes a fraction of one
STATUSES = (0, 1, 3)    # the server ended at the end of its stdin; it crashed and is not restarted; we failed


def request(id, method, params=None):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}})


def call(id, tool, pad=0):
    return request(id, "tools/call", {"name": tool, "arguments": {"x": "y" * pad}})


def lines(crashes):
    """What the client sends, and the ids of its requests."""
    text = [request(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                      "clientInfo": {"name": "c", "version": "1"}}),
            json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})]
    text += [call(i, "answer", i * 371 % 9000) for i in range(1, 60)]
    if crashes:
        text += [call(60, "exit:1"), call(61, "answer")]
    text += ["this is not JSON", call(62, "answer", 100000), request(63, "tools/list"), request("s", "ping")]
    return text, {json.dumps(json.loads(x)["id"]) for x in text if '"id"' in x}


def judge(status, out, err, ids):
    """What is wrong; None: nothing."""
    if status < 0:
        return f"ended by signal {-status}"
    if b"signal=6" in err:
        return "the recorder process ended by signal 6"
    if status not in STATUSES:
        return f"exit status {status}"
    if status != 0 and not err:
        return f"exit status {status}, and nothing on stderr"
    answered = [json.dumps(m["id"]) for m in map(json.loads, out.splitlines()) if "method" not in m]
    twice = {i for i in answered if i != "null" and answered.count(i) > 1}
    if twice:
        return f"answered twice: {twice}"
    missing = ids - set(answered)
    if missing and status != 3 and b"out of memory" not in err:
        return f"no answer to {sorted(missing)}, and stderr does not say why"
    return None


def send(p, text):
    with contextlib.suppress(BrokenPipeError):
        p.stdin.write("\n".join(text + [""]).encode())
        p.stdin.flush()


def talk(p, text, waits_for):
    """Sends all, and closes stdin when everything is answered. Returns what came."""
    sender = threading.Thread(target=send, args=(p, text))
    sender.start()
    out = []
    for line in p.stdout:
        out.append(line)
        waits_for.discard(json.dumps(json.loads(line).get("id")))
        if not waits_for:
            break
    sender.join()
    with contextlib.suppress(BrokenPipeError):
        p.stdin.close()
    return b"".join(out) + p.stdout.read()


def session(seed):
    """Returns what is wrong, whether the server answered to the end, and whether a message was refused."""
    crashes = seed % 4 == 3
    text, ids = lines(crashes)
    tmp = Path(tempfile.mkdtemp(prefix="mi-random-"))
    journals = Path(tempfile.mkdtemp(prefix="mi-random-", dir="/dev/shm"))
    server = [BUILD / "fakes/misbehave", tmp] if crashes else [BUILD / "fakes/answer"]
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp), "LD_PRELOAD": str(BUILD / "faults/alloc.so"),
           "MCP_INTERPOSER_JOURNAL_DIR": str(journals), "ALLOC_SEED": str(seed),
           "ALLOC_ONE_IN": str((2, 4, 10, 40)[seed // 4 % 4]), "ALLOC_SKIP": str(seed * 7 % 500)}
    if seed % 40 == 5:
        env["ALLOC_WHO"] = "all"
    with open(tmp / "stderr", "wb") as stderr:
        p = subprocess.Popen([PROGRAM, "proxy", "--vault", tmp / "vault", "--timeout", "20s", "--", *server],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=env)
    alarm = threading.Timer(PATIENCE, p.kill)
    alarm.start()
    out = talk(p, text, set(ids))
    status = p.wait()
    alarm.cancel()
    err = (tmp / "stderr").read_bytes()
    wrong = judge(status, out, err, ids)
    whole = status == 0 and b"closing" not in err
    refused = b"out-of-memory" in out
    shutil.rmtree(tmp, ignore_errors=True)
    shutil.rmtree(journals, ignore_errors=True)
    if wrong:
        wrong += f"\n# stderr: {err[-1500:].decode('utf-8', 'backslashreplace')}"
    return wrong, whole, refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200 if os.environ.get("TEST_LONG") else 100)
    parser.add_argument("--first", type=int, default=0)
    a = parser.parse_args()
    seeds = range(a.first, a.first + a.seeds)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(session, seeds))
    bad = [(seed, wrong) for seed, (wrong, _, _) in zip(seeds, results) if wrong]
    whole, refused = sum(w for _, w, _ in results), sum(r for _, _, r in results)
    if len(seeds) >= 100 and refused < 10:
        bad.append((a.first, "hardly any message was refused: do allocations fail?"))
    print(f"{'not ok' if bad else 'ok'} - allocations fail at random: {len(seeds)} sessions, {whole} went to their end, "
          f"messages were refused in {refused}")
    for seed, wrong in bad[:5]:
        print(f"# --seeds 1 --first {seed}: {wrong}")
    sys.exit(1 if bad else 0)


main()
