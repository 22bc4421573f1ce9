#!/usr/bin/env python3
"""A server and a client whose session has an answer of each kind. `session.py` alone is the server, on stdin and stdout."""
import json
import subprocess
import sys

VERSION = {"protocolVersion": "2025-11-25"}
SERVER = [sys.executable, __file__]


def tool(name):
    return {"name": name, "description": f"a tool named {name}", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


def serve():
    """The tools answer as they are called: `wait` never, `ask` after a question to the user; `long` has a body that is stored in a
    file of its own."""
    print("the server is ready", file=sys.stderr, flush=True)

    def say(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        method, params = message["method"], message.get("params", {})
        answer = {"result": {}}
        if method == "initialize":
            answer = {"result": {**VERSION, "capabilities": {"tools": {}, "resources": {}}, "serverInfo": {"name": "old-server", "version": "2"}}}
        elif method == "tools/list":
            answer = {"result": {"tools": [tool(name) for name in ("echo", "long", "fail", "wait")]}}
        elif method == "resources/read":
            answer = {"result": {"contents": [{"uri": params["uri"], "text": "a marigold"}]}}
        elif method == "tools/call" and params["name"] == "wait":
            continue
        elif method == "tools/call":
            if params["name"] == "ask":
                say(id="q1", method="elicitation/create", params={"message": "which flower?", "requestedSchema": {"type": "object", "properties": {}}})
                sys.stdin.readline()
            text = params["arguments"]["text"] * (70_000 if params["name"] == "long" else 1)
            answer = {"result": {"content": [{"type": "text", "text": text}], "isError": params["name"] == "fail"}}
        elif method != "ping":
            answer = {"error": {"code": -32601, "message": "unknown method"}}
        say(id=message["id"], **answer)


def record(proxy, more=None):
    """A session: results, failures, a cancelled call, a secret, a line of stderr, and what `more(say, ask)` does."""
    with subprocess.Popen(proxy, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as client:
        def say(**message):
            print(json.dumps({"jsonrpc": "2.0", **message}), file=client.stdin, flush=True)

        def ask(id, method, **params):
            say(id=id, method=method, params=params)
            while (answer := json.loads(client.stdout.readline())).get("method"):
                say(id=answer["id"], result={"action": "decline"})
            assert answer["id"] == id, answer

        ask(1, "initialize", **VERSION, capabilities={"elicitation": {}}, clientInfo={"name": "old-client", "version": "1"})
        say(method="notifications/initialized")
        ask(2, "tools/list")
        ask(3, "tools/call", name="echo", arguments={"text": "periwinkle", "password": "swordfish"})
        ask("4", "tools/call", name="long", arguments={"text": "x"})
        ask(5, "tools/call", name="fail", arguments={"text": "no such flower"})
        ask(6, "resources/read", uri="file:///flowers")
        ask(7, "flowers/count")
        say(id=8, method="tools/call", params={"name": "wait", "arguments": {"text": "w"}})
        say(method="notifications/cancelled", params={"requestId": 8})
        ask(9, "ping")
        if more:
            more(say, ask)
        client.stdin.close()
    assert client.returncode == 0, client.returncode


if __name__ == "__main__":
    serve()
