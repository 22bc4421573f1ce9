"""Connect, list, call within five seconds, and a shutdown whose answer is ignored."""
import time

from client import SLOW, Client

c = Client()
began = time.monotonic()
c.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                         "clientInfo": {"name": "gherkinlang-js", "version": "1.0.0"}}, seconds=2)
tools = {t["name"]: t for t in c.request("tools/list", seconds=2)["tools"]}
assert time.monotonic() - began < 2 * SLOW, "connected and listed within two seconds"
assert set(tools) == {"analyzer"} and tools["analyzer"]["inputSchema"]["required"] == ["code"]
for code in "...", "const x = 1;":
    result = c.request("tools/call", {"name": "analyzer", "arguments": {"code": code, "checks": ["syntax", "purity"]}})
    assert result["content"][0]["text"] == "no findings", result
c.request("shutdown")
c.close()
