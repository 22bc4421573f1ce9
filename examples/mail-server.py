#!/usr/bin/env python3
"""A small MCP server over stdio: one JSON-RPC message a line, standard library only.

    mcp-interposer proxy -- python3 examples/mail-server.py
"""
import json
import sys

VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25")  # oldest first


class RpcError(Exception):
    """An answer with `error` in it: the request itself was wrong."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def send_email(to, subject, body):
    if "@" not in to:
        raise ValueError(f"not an address: {to}")
    return f"Queued '{subject}' ({len(body)} characters) for {to}."


def count_words(text):
    return f"{len(text.split())} words"


def tool(function, description, only_reads, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    shown = {"name": function.__name__, "description": description, "inputSchema": schema,
             "annotations": {"readOnlyHint": only_reads}}
    return function.__name__, (function, shown)


TEXT = {"type": "string"}
TOOLS = dict([
    tool(send_email, "Send an e-mail (this one only pretends to)", False, to=TEXT, subject=TEXT, body=TEXT),
    tool(count_words, "Count the words of a text", True, text=TEXT),
])


def initialize(params):
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "example-mail-server", "version": "1.0.0"},
    }


def tools_call(params):
    if params.get("name") not in TOOLS:
        raise RpcError(-32602, f"Unknown tool: {params.get('name')}")
    function, _ = TOOLS[params["name"]]
    try:
        text, failed = function(**params.get("arguments", {})), False
    except (TypeError, ValueError, AttributeError) as error:
        text, failed = str(error), True  # the tool ran and failed: a result, for the model to read
    return {"content": [{"type": "text", "text": text}], "isError": failed}


METHODS = {
    "initialize": initialize,
    "ping": lambda params: {},
    "tools/list": lambda params: {"tools": [shown for _, shown in TOOLS.values()]},
    "tools/call": tools_call,
}


def answer(line):
    """The answer to one line, or None for a notification, which never gets one."""
    request_id = None
    try:
        request = json.loads(line)
        if not isinstance(request, dict) or "method" not in request:
            raise RpcError(-32600, "Not a request")
        if "id" not in request:
            return None
        request_id = request["id"]
        if request["method"] not in METHODS:
            raise RpcError(-32601, f"Method not found: {request['method']}")
        params = request.get("params", {})
        if not isinstance(params, dict):
            raise RpcError(-32602, "params must be an object")
        result = METHODS[request["method"]](params)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}
    except json.JSONDecodeError as error:
        code, message = -32700, f"Parse error: {error}"
    except RpcError as error:
        code, message = error.code, str(error)
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


if __name__ == "__main__":
    for received in sys.stdin:
        reply = answer(received)
        if reply is not None:
            print(json.dumps(reply), flush=True)
