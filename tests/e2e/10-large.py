#!/usr/bin/env python3
"""Large messages are forwarded and stored outside the database; those over the limit are rejected in little memory."""
import json
import os
import subprocess
import time

import lib
from lib import Background, Skip, case, check, eq, note

MIB = 1 << 20
BIG = 64 * MIB if lib.SLOW == 1 else 8 * MIB


def padded(size):
    """A call whose line has `size` bytes."""
    empty = lib.call("big", "x", {"a": ""})
    return lib.call("big", "x", {"a": "p" * (size - len(empty))})


def padded_result(size):
    empty = lib.text_result("big", "")
    return lib.text_result("big", "r" * (size - len(empty)))


def stored(t, m):
    if m.body is not None:
        return m.body
    uid = t.rows("SELECT uid FROM sessions WHERE id = ?", m.session_id)[0][0].decode()
    with open(t.vault / "Bodies" / uid, "rb") as f:
        f.seek(m.body_offset)
        return f.read(m.body_length)


@case(f"{BIG // MIB} MiB in each direction, byte for byte, in Bodies", limit=120)
def _(t):
    p = t.proxy().initialize()
    ask, answer = padded(BIG), padded_result(BIG)
    with Background(lambda: p.client.send(ask, seconds=60)):
        eq(p.server.recv(60) == ask, True, "the request is what was sent")
    with Background(lambda: p.server.send(answer, seconds=60)):
        eq(p.client.recv(60) == answer, True, "the answer is what was sent")
    if not lib.SIZES_MEAN_NOTHING:
        hwm = lib.kib(p.pid, "VmHWM")
        check(hwm < (BIG >> 10) * 2.5 + 16384 + lib.JOURNAL_KIB, f"{hwm} KiB at the most for messages of {BIG >> 10} KiB")
    p.round()
    p.end()
    for line, direction in ((ask, "c2s"), (answer, "s2c")):
        m = t.messages("size = ? AND direction = ?", BIG, direction)[0]
        eq((m.body, m.body_length, m.action), (None, BIG, "forwarded"), "row of the large message")
        eq(stored(t, m) == line, True, "body in Bodies is what was sent")
    eq(os.listdir(t.vault / "Bodies"), [t.rows("SELECT uid FROM sessions")[0][0].decode()], "files in Bodies")
    eq((t.vault / "Bodies").stat().st_mode & 0o777, 0o700, "mode of Bodies")


def large_rounds(p, size, n):
    """Round trips of large messages."""
    ask, answer = padded(size), padded_result(size)
    for _ in range(n):
        with Background(lambda: p.client.send(ask, seconds=60)):
            p.server.recv(60)
        with Background(lambda: p.server.send(answer, seconds=60)):
            p.client.recv(60)


def wait_until_freed(p):
    lib.wait_until(lambda: lib.kib(p.pid, "RssAnon") < 6 << 10, 20, "the memory is given back")


def wait_until_journal_is_small(t):
    lib.wait_until(lambda: sum(x.stat().st_blocks * 512 for x in t.journals.iterdir()) < MIB, 20, "so is that of the journal")


@case("the memory of large messages is freed soon after the last", limit=120)
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise Skip(f"sizes under {lib.UNDER} say nothing")
    p = t.proxy().initialize()
    large_rounds(p, 12 * MIB, 6)
    wait_until_freed(p)
    wait_until_journal_is_small(t)
    p.end()


@case("the memory of a large message is also freed if it is not recorded, or read after a while", limit=120)
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise Skip(f"sizes under {lib.UNDER} say nothing")
    p = t.proxy("--max-message", "16MiB").initialize()
    p.client.send(padded(17 * MIB), seconds=60)
    eq(json.loads(p.client.recv(60))["error"]["code"], -32600, "code")
    wait_until_freed(p)
    ask = padded(12 * MIB)
    with Background(lambda: p.client.send(ask, seconds=60)):
        lib.wait_until(lambda: lib.kib(p.pid, "RssAnon") > 10 << 10, 20, "the message is in memory")
        wait_until_journal_is_small(t)
        p.server.recv(60)
    wait_until_freed(p)
    p.server.send(lib.text_result("big", "done"))
    p.client.recv()
    p.end()


def resident(path):
    """Bytes of the file that are in the page cache."""
    r = subprocess.run(["fincore", "--bytes", "--noheadings", "--raw", "--output", "RES", path],
                       stdout=subprocess.PIPE, check=True)
    return int(r.stdout)


@case("large bodies are written to the disk and leave the page cache", limit=120)
def _(t):
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        kinds = {x[4]: x[x.index("-") + 1] for x in map(str.split, f)}
    if kinds[max((m for m in kinds if (str(t.vault) + "/").startswith(m.rstrip("/") + "/")), key=len)] == "tmpfs":
        raise Skip("on tmpfs there is no disk")
    p = t.proxy().initialize()
    path = t.vault / "Bodies" / t.rows("SELECT uid FROM sessions")[0][0].decode()

    pause, due = 0.5, 0

    def mostly_gone():  # a body that arrived while the recorder was busy waits for the next one; the disk may be slower than messages come
        nonlocal pause, due
        if time.monotonic() >= due:
            large_rounds(p, 4 * MIB, 2)
            pause, due = 2 * pause, time.monotonic() + pause
        return path.exists() and resident(path) < path.stat().st_size / 2
    lib.wait_until(mostly_gone, 60, "the recorder has written bodies out")
    p.end()


@case("bodies of about 64 KiB are stored either in the database or in Bodies, and never lost")
def _(t):
    p = t.proxy().initialize()
    sizes = [65534, 65535, 65536, 65537, 65538, 70000, 131072, 200001, 65536, 100]
    for i, size in enumerate(sizes):
        line = note("n", {"a": ""})
        line = note("n", {"a": chr(97 + i) * (size - len(line))})
        p.client.send(line)
        p.server.expect(line)
    p.end()
    rows = t.messages("method = 'n'")
    eq([m.size for m in rows], sizes, "sizes")
    for i, m in enumerate(rows):
        body = stored(t, m)
        eq(len(body), sizes[i], f"length of the body of {sizes[i]} bytes")
        check(body.count(bytes([97 + i])) >= sizes[i] - 60, f"body of {sizes[i]} bytes is another's")
        eq(m.body is None, sizes[i] > 65536, f"a body of {sizes[i]} bytes lies in Bodies")


def refusal(p, rid=(None, "big")):
    m = p.client.recv_json(30)
    eq(m["error"]["code"], -32600, f"code in {m}")
    check(m["id"] in rid, f"id in {m}")
    eq(m["error"]["data"]["source"], "mcp-interposer", "source")
    return m


@case("a line of 64 MiB with a limit of 1 MiB is rejected in little memory, and the session continues", limit=120)
def _(t):
    p = t.proxy("--max-message", "1MiB").initialize()
    with Background(lambda: p.client.send(padded(64 * MIB), seconds=60)):
        m = refusal(p)
    check("1" in m["error"]["message"] or "data" in m["error"], "the error does not say what the limit is")
    with Background(lambda: p.server.send(padded_result(64 * MIB), seconds=60)):
        pass
    p.round()
    if not lib.SIZES_MEAN_NOTHING:
        hwm = lib.kib(p.pid, "VmHWM")
        check(hwm < 16 << 10, f"{hwm} KiB at the most")
    fits = padded(MIB)
    with Background(p.client.send, fits):
        eq(p.server.recv() == fits, True, "a line as long as the limit goes on")
    p.end(gone=[b'"big"'])
    for direction in ("c2s", "s2c"):
        rows = t.messages("direction = ? AND action != 'forwarded'", direction)
        eq(len(rows), 1, f"rows of the long line {direction}")
        check(rows[0].finding, "no finding")
        check(MIB < rows[0].size <= 64 * MIB + 1, f"size of the long line: {rows[0].size}")
        check(rows[0].body is None or len(rows[0].body) <= MIB, "the long line is stored")


@case("an endless line from the client: an error at once, little memory, and the session continues after it", limit=120)
def _(t):
    p = t.proxy("--max-message", "1MiB").initialize()
    block = b"x" * MIB
    p.client.write(b'{"jsonrpc":"2.0","id":"big","method":"')
    for _ in range(3):
        p.client.write(block)
    refusal(p)          # the line has not ended yet
    with Background(lambda: [p.client.write(block) for _ in range(300)]):
        for i in range(20):
            p.server.send(note("meanwhile", {"i": i}))
            p.client.expect(note("meanwhile", {"i": i}), seconds=2)
    if not lib.SIZES_MEAN_NOTHING:
        hwm = lib.kib(p.pid, "VmHWM")
        check(hwm < 16 << 10, f"{hwm} KiB at the most")
    p.client.write(b'"}\n')
    p.round()
    p.end()
    eq(len(t.messages("direction = 's2c' AND origin = 'interposer'")), 1, "errors of our own")


@case("an endless line from the server: little memory, and the session continues after it", limit=120)
def _(t):
    p = t.proxy("--max-message", "1MiB").initialize()
    block = b"x" * MIB
    with Background(lambda: [p.server.write(block) for _ in range(300)]):
        for i in range(20):
            p.client.send(note("meanwhile", {"i": i}))
            p.server.expect(note("meanwhile", {"i": i}), seconds=2)
    if not lib.SIZES_MEAN_NOTHING:
        hwm = lib.kib(p.pid, "VmHWM")
        check(hwm < 16 << 10, f"{hwm} KiB at the most")
    p.server.write(b"\n")
    p.round()
    p.end()


@case("an endless line does not keep the end of stdin from ending the session")
def _(t):
    p = t.proxy("--max-message", "64KiB").initialize()
    p.client.write(b"y" * MIB)
    refusal(p)
    p.end()


@case("an answer over the limit is replaced by an error")
def _(t):
    p = t.proxy("--max-message", "64KiB").initialize()
    p.client.send(lib.call("big", "x"))
    p.server.recv()
    with Background(lambda: p.server.send(padded_result(MIB), seconds=30)):
        m = p.client.recv_json(5)
    eq((m["id"], m["error"]["code"]), ("big", -32603), f"what the client is told: {m}")
    p.round()
    p.end()


@case("memory is freed after large messages")
def _(t):
    if lib.SIZES_MEAN_NOTHING:
        raise lib.Skip(f"sizes under {lib.UNDER} say nothing")
    p = t.proxy().initialize()
    ask = padded(16 * MIB)
    for _ in range(3):
        with Background(lambda: p.client.send(ask, seconds=30)):
            check(p.server.recv(30) == ask, "the request is what was sent")
        p.server.send(lib.result("big"))
        p.client.recv()
    hwm = lib.kib(p.pid, "VmHWM")
    check(hwm < (60 << 10) + lib.JOURNAL_KIB, f"{hwm} KiB at the most for messages of 16 MiB")
    for i in range(100):
        p.round(f"f{i}")
    lib.wait_until(lambda: lib.kib(p.pid, "VmRSS") < 16 << 10, 20, "less than 16 MiB resident")
    p.end()


@case("50 messages of 1 MiB in flight arrive in order", limit=90)
def _(t):
    p = t.proxy().initialize()
    lines = [note("n", {"i": i, "a": "z" * MIB}) for i in range(50)]
    with Background(lambda: p.server.send(*lines, seconds=60)):
        for line in lines:
            check(p.client.recv(20) == line, "a line is not what was sent")
    p.end()
    rows = t.messages("method = 'n'")
    eq([json.loads(stored(t, m))["params"]["i"] for m in rows], list(range(50)), "recorded, in order")


lib.main()
