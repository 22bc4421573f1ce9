"""No handshake. Every line gets an answer: notifications and lines that are not JSON get one with a null id."""
import json
import os
import sys

from serve import Shared, strike


def send_email(to, subject, body):
    if to == "nobody@example.com":
        raise RuntimeError("535 5.7.8 Username and Password not accepted")
    return {"message_id": "<1@example.com>", "status": "sent"}


TEXT = {"type": "string"}
TOOLS = {"send_email": send_email}
LIST = [{"name": "send_email", "description": "Send an email via SMTP", "inputSchema": {
    "type": "object", "properties": {"to": TEXT, "subject": TEXT, "body": TEXT}, "required": ["to", "subject", "body"]}}]


def result_of(method, params):
    if method == "tools/list":
        return {"tools": LIST}
    if params["name"] not in TOOLS:
        raise ValueError(f"Tool not found: {params['name']}")
    return TOOLS[params["name"]](**params.get("arguments", {}))


def answer(request):
    head = {"jsonrpc": "2.0", "id": request.get("id")}
    method = request.get("method")
    if method not in ("tools/list", "tools/call"):
        return {**head, "error": {"code": -32601, "message": f"Method not found: {method}"}}
    try:
        return {**head, "result": result_of(method, request.get("params", {}))}
    except Exception as e:
        return {**head, "error": {"code": -32603, "message": f"Internal error: {e}"}}


shared = Shared()
if shared.folder and "SMTP_PASSWORD" in os.environ:
    (shared.folder / "environment").write_text(os.environ["SMTP_PASSWORD"])
for line in sys.stdin:
    shared.note(line)
    try:
        request = json.loads(line.strip())
    except json.JSONDecodeError as e:
        print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"Parse error: {e}"}}),
              flush=True)
        continue
    if not strike(shared.fault_of(request)):
        print(json.dumps(answer(request)), flush=True)
