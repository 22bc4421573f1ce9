#!/usr/bin/env python3
"""A small MCP client: starts a server, sends it the lines of stdin, waits for the answer to each request, and prints what
the server sends. Standard library only. Exits with the status of the server.

    examples/client.py mcp-interposer proxy -- python3 examples/mail-server.py < examples/requests.jsonl
"""
import json
import subprocess
import sys


def talk(lines, server):
    for line in lines:
        server.stdin.write(line)
        server.stdin.flush()
        request = json.loads(line)
        while "id" in request:
            reply = server.stdout.readline()
            if not reply:
                sys.exit(f"client: the server ended without an answer to {request['method']}")
            print(reply.decode(), end="", flush=True)
            message = json.loads(reply)
            if "method" not in message and message.get("id") == request["id"]:
                break
    server.stdin.close()
    for line in server.stdout:
        print(line.decode(), end="")
    return server.wait()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: client.py COMMAND... < requests.jsonl")
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        sys.exit(talk(sys.stdin.buffer, child))
    except BrokenPipeError:
        sys.exit("client: the server does not read")
