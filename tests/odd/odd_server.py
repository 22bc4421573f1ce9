#!/usr/bin/env python3
"""An MCP server over stdio whose tool answers with the bytes of a row of odd_answers.py.

Arguments of the tool:
    answer  the name of the row
    clean   write the answer without the flaw
    n       a number of the call
    end     write a notification with that number behind the answer: who has read it has read the answer, too
`ping` is answered with the process id, so that a client sees a restart.
"""
import json
import os
import sys
import time

from odd_answers import ANSWERS, Pause

ROWS = {row.name: row for row in ANSWERS}


def write(data):
    while data:
        data = data[os.write(1, data):]


def send(message):
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(id_, arguments):
    row = ROWS[arguments["answer"]]
    spelt = json.dumps(id_).encode()
    for part in [row.clean] if arguments.get("clean") else row.parts:
        if isinstance(part, Pause):
            time.sleep(part.seconds)
        else:
            write(part.replace(b"%id%", spelt))
    if arguments.get("end"):
        send({"method": "notifications/message", "params": {"level": "info", "data": {"end": arguments["n"]}}})


for line in sys.stdin.buffer:
    message = json.loads(line)
    method, id_ = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": id_, "result": {"protocolVersion": message["params"]["protocolVersion"],
                                    "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "odd", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id_, "result": {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        answer(id_, message["params"]["arguments"])
    elif method == "ping":
        send({"id": id_, "result": {"_meta": {"pid": os.getpid()}}})
    elif id_ is not None:
        send({"id": id_, "error": {"code": -32601, "message": "Method not found"}})
