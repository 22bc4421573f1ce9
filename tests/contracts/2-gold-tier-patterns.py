"""No handshake: each request is independent. A tool's result has a format of its own."""
import json
import subprocess
import sys

from client import Client

# the manual test: one line, then the end of stdin
request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
done = subprocess.run(sys.argv[1:], input=json.dumps(request).encode(), stdout=subprocess.PIPE)
response = json.loads(done.stdout)
assert response["jsonrpc"] == "2.0" and response["id"] == 1 and "tools" in response["result"], response

c = Client()
assert [t["name"] for t in c.request("tools/list", {})["tools"]] == ["send_email"]
sent = c.request("tools/call", {"name": "send_email", "arguments": {
    "to": "user@example.com", "subject": "Test", "body": "Test message"}}, seconds=30)
assert sent == {"message_id": "<1@example.com>", "status": "sent"}, sent
c.fails(-32603, "tools/call", {"name": "no_such_tool", "arguments": {}})
c.fails(-32601, "tools/stop", {})
c.close()
