"""Shared by the tests of replay: a recording made from a few lines, and a replay with the test as its client.

A script is a list of lines that start with `>` (the client) or `<` (the server)."""
import json
import os
import re
import subprocess
import urllib.parse
from pathlib import Path
from xml.etree import ElementTree

import lib
from lib import check, eq, note, request, result


def handshake(version="2025-11-25", capabilities=None):
    return [b">" + request("init", "initialize", {"protocolVersion": version, "capabilities": {},
                                                  "clientInfo": {"name": "test client", "version": "1.0"}}),
            b"<" + result("init", {"protocolVersion": version, "capabilities": capabilities or {"tools": {}},
                                   "serverInfo": {"name": "test server", "version": "2.0"}}),
            b">" + note("notifications/initialized")]


def record(t, script, *options, end=0, **more):
    """Plays both sides of the script through a proxy. Returns the session's uid."""
    p = t.proxy(*options, **more)
    for line in script:
        here, there = (p.client, p.server) if line[:1] == b">" else (p.server, p.client)
        here.send(line[1:])
        eq(json.loads(there.recv()), json.loads(line[1:]), "a line on its way")
    if end is not None:
        p.end(end)
        lib.recorders_ended(more.get("vault") or t.vault)
    return t.rows("SELECT uid FROM sessions ORDER BY id DESC LIMIT 1", vault=more.get("vault"))[0][0].decode()


def cassette(t, script, name="recording.jsonl", **header):
    """The script as a cassette file, with one message per millisecond."""
    lines = [json.dumps({"format": "mcp-interposer-cassette", "version": 1, "name": "recorded", **header})]
    for i, line in enumerate(script):
        lines.append('{"t":%d,"dir":"%s","msg":%s}' % ((i + 1) * 1000, "c2s" if line[:1] == b">" else "s2c",
                                                     line[1:].decode()))
    lines.append('{"end":true}')
    path = t.tmp / name
    path.write_text("\n".join(lines) + "\n")
    return path


class Replay:
    """One `mcp-interposer replay`, and its client."""

    def __init__(self, t, *options, vault=True, command="replay"):
        self.t = t
        place = ("--vault", t.vault) if vault is True else ("--vault", vault) if vault else ()
        self.err_path = t.tmp / f"replay-stderr-{next(t.numbers)}"
        self.args = [lib.PROGRAM, command, *(str(x) for x in (*place, *options))]
        (in_r, in_w), (out_r, out_w) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        self.client = lib.End("client", out_r, in_w)
        t.closing.callback(self.release)
        with open(self.err_path, "wb") as err:
            self.proc = subprocess.Popen(self.args, stdin=in_r, stdout=out_w, stderr=err, env=t.environ())
        os.close(in_r)
        os.close(out_w)

    def release(self):
        self.client.close()
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()

    def stderr(self):
        return self.err_path.read_text()

    def wait(self, seconds=5):
        try:
            status = self.proc.wait(seconds * lib.PATIENCE)
        except subprocess.TimeoutExpired:
            raise lib.Failure(f"the replay is still running after {seconds * lib.PATIENCE:g} s") from None
        return status if status >= 0 else 128 - status

    def play(self, script):
        """The client sends its lines and must receive the recorded ones, byte for byte."""
        for line in script:
            if line[:1] == b">":
                self.client.send(line[1:])
            else:
                got = self.client.recv()
                eq(json.loads(got), json.loads(line[1:]), "what the client gets")
        return self

    def ask(self, message):
        """Sends a request. Returns its answer."""
        self.client.send(message)
        got = self.client.recv_json()
        eq(got.get("id"), json.loads(message)["id"], f"the id in {got}")
        return got

    def refuses(self, message, code, *words):
        """The request must be a miss whose error contains these words."""
        got = self.ask(message)
        check("error" in got, lambda: f"an answer, and no miss: {got}")
        eq((got["error"]["code"], got["error"]["data"]["source"]), (code, "mcp-interposer"), f"the miss {got}")
        for word in words:
            check(word in got["error"]["message"], lambda: f"{word!r} is not in {got['error']['message']!r}")
        return got["error"]

    def end(self, status=0, rest=b""):
        """The client closes its side; no other message arrives, and the replay exits."""
        self.client.close_write()
        eq(self.client.rest(), rest, "what comes at the end")
        eq(self.wait(), status, f"exit status; stderr: {self.stderr()}")
        bad = re.search(r"AddressSanitizer|runtime error:|Assertion|LeakSanitizer", self.stderr())
        check(bad is None, lambda: self.stderr())


# --- JUnit ----------------------------------------------------------------------------------------

# The parts of the JUnit schema that most readers depend on: the children of an element, in order, and its
# attributes; those in upper case are required.
TEXT, NAME, COUNT, SECONDS = r"[\s\S]*", r"\S[\s\S]*", r"\d+", r"\d+(\.\d+)?"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
SCHEMA = {
    "testsuites": (r"(testsuite )*", {}),
    "testsuite": (r"properties (testcase )*system-out system-err ",
                  {"NAME": NAME, "TIMESTAMP": TIME, "HOSTNAME": NAME, "TESTS": COUNT, "FAILURES": COUNT, "ERRORS": COUNT,
                   "TIME": SECONDS, "skipped": COUNT, "ID": COUNT, "PACKAGE": NAME}),
    "properties": (r"(property )*", {}),
    "property": (r"", {"NAME": NAME, "VALUE": TEXT}),
    "testcase": (r"((skipped|error|failure) )?", {"NAME": NAME, "CLASSNAME": NAME, "TIME": SECONDS}),
    "skipped": (r"", {"message": TEXT}),
    "failure": (r"", {"TYPE": TEXT, "message": TEXT}),
    "error": (r"", {"TYPE": TEXT, "message": TEXT}),
    "system-out": (r"", {}),
    "system-err": (r"", {}),
}


def _check_element(e):
    check(e.tag in SCHEMA, f"JUnit knows no element {e.tag}")
    children, attributes = SCHEMA[e.tag]
    order = "".join(f"{x.tag} " for x in e)
    check(re.fullmatch(children, order), f"children of {e.tag}: {order}")
    for name, pattern in attributes.items():
        value = e.get(name.lower())
        check(value is not None or not name.isupper(), f"{e.tag} has no {name.lower()}")
        check(value is None or re.fullmatch(pattern, value), f"{e.tag} {name.lower()}={value!r}")
    unknown = set(e.keys()) - {x.lower() for x in attributes}
    check(not unknown, f"{e.tag} has {unknown}")
    for child in e:
        _check_element(child)


def junit(path):
    """Checks the file and its counts against the schema. Returns its only suite."""
    root = ElementTree.parse(path).getroot()
    eq(root.tag, "testsuites", "the root")
    _check_element(root)
    suite, = root
    cases = suite.findall("testcase")
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        eq(int(suite.get(name, "0")), len(suite.findall(f"testcase/{tag}")), f"{name} of the suite")
    eq(int(suite.get("tests")), len(cases), "tests of the suite")
    return suite


def sarif(path):
    """(rule, level, file or session/message, line) of each result, after checks of what SARIF requires."""
    log = json.loads(Path(path).read_text())
    eq((log["version"], len(log["runs"])), ("2.1.0", 1), "version and runs")
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    rules = {x["id"]: x for x in driver["rules"]}
    eq((driver["name"], len(rules)), ("mcp-interposer", len(driver["rules"])), "the tool, and rules that are listed twice")
    check(all(x["shortDescription"]["text"] and x["defaultConfiguration"]["level"] for x in rules.values()), f"rules {rules}")

    def place(result):
        location, = result["locations"]
        logical, = location["logicalLocations"]
        physical = location.get("physicalLocation")
        if physical:
            file = urllib.parse.unquote(physical["artifactLocation"]["uri"].removeprefix("file://"))
            return file, physical.get("region", {}).get("startLine")
        return logical.get("fullyQualifiedName", logical["name"]), None
    check(all(x["ruleId"] in rules and x["message"]["text"] for x in results), f"results {results}")
    return [(x["ruleId"], x["level"], *place(x)) for x in results]
