"""One tool. CONTRACT_SHUTDOWN selects what `shutdown` does: answer (the default), exit or fail (without an answer),
refuse (like servers that do not know it)."""
import os
import sys

from serve import serve

TOOL = {"name": "analyzer", "description": "Analyze code", "inputSchema": {
    "type": "object", "properties": {"code": {"type": "string"}, "checks": {"type": "array", "items": {"type": "string"}}},
    "required": ["code"]}}


def handle(m):
    method = m["method"]
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "mcp-server", "version": "1.0.0"}}}
    if method == "tools/list":
        return {"result": {"tools": [TOOL]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "no findings"}]}}
    how = os.environ.get("CONTRACT_SHUTDOWN", "answer")
    if method == "shutdown" and how in ("exit", "fail"):
        sys.exit(0 if how == "exit" else 1)
    if method == "shutdown" and how == "answer":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "Method not found"}}


serve(handle)
