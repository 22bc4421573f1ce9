"""Resources with a cache, tools, and an error from the server, each within its deadline."""
from client import Client

NOTE = "meditation://note/morning-meditation-2024-12-01"
INITIALIZE, RESOURCE, TOOL = 2.0, 0.5, 1.0  # seconds

c = Client()
cache = {}


def cached(method, params=None):
    key = (method, str(params))
    if key not in cache:
        cache[key] = c.request(method, params, seconds=RESOURCE)
    return cache[key]


hello = c.request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                 "clientInfo": {"name": "project_chat", "version": "1.0"}}, seconds=INITIALIZE)
assert hello["protocolVersion"] == "2024-11-05" and hello["serverInfo"]["name"] == "meditation-mcp", hello
for _ in range(2):  # the second time from the cache
    assert [r["uri"] for r in cached("resources/list")["resources"]] == [NOTE]
    assert cached("resources/read", {"uri": NOTE})["contents"][0]["text"].startswith("# Morning Meditation\n")
assert [t["name"] for t in c.request("tools/list", seconds=TOOL)["tools"]] == ["search_notes", "sync_repository"]
found = c.request("tools/call", {"name": "search_notes", "arguments": {"query": "morning", "limit": 10}}, seconds=TOOL)
assert found["content"][0]["text"].startswith("Found 3 notes matching 'morning'")
error = c.fails(-32000, "resources/read", {"uri": "meditation://note/non-existent"}, seconds=RESOURCE)
assert str(error) == "Resource not found" and error.data == {"uri": "meditation://note/non-existent"}
c.request("tools/call", {"name": "sync_repository", "arguments": {}}, seconds=TOOL)
cache.clear()  # a sync invalidates the cache
assert len(cached("resources/list")["resources"]) == 2
c.close()
