"""Notes as resources, and two tools, one of them without a schema. Does not know `notifications/initialized`."""
from serve import serve

NOTE = "meditation://note/morning-meditation-2024-12-01"
resources = [{"uri": NOTE, "name": "Morning Meditation - Dec 1", "description": "Meditation note",
              "mimeType": "text/markdown"}]
TOOLS = [{"name": "search_notes", "description": "Search meditation notes",
          "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}},
         {"name": "sync_repository", "description": "Sync repository and update index"}]


def call(name, arguments):
    if name == "sync_repository":
        resources[1:] = [{"uri": "meditation://note/evening", "name": "Evening", "mimeType": "text/markdown"}]
        return "Synced."
    return (f"Found 3 notes matching '{arguments['query']}':\n\n1. Morning Meditation - Dec 1\n2. Morning Routine\n...")


def handle(m):
    method, params = m["method"], m.get("params", {})
    if method == "initialize":
        return {"result": {"protocolVersion": "2024-11-05", "capabilities": {"resources": {}, "tools": {}},
                           "serverInfo": {"name": "meditation-mcp", "version": "1.0"}}}
    if method == "resources/list":
        return {"result": {"resources": resources}}
    if method == "resources/read" and params["uri"] == NOTE:
        return {"result": {"contents": [{"uri": NOTE, "mimeType": "text/markdown",
                                         "text": "# Morning Meditation\n\nContent here..."}]}}
    if method == "resources/read":
        return {"error": {"code": -32000, "message": "Resource not found", "data": {"uri": params["uri"]}}}
    if method == "tools/list":
        return {"result": {"tools": TOOLS}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": call(params["name"], params.get("arguments", {}))}]}}
    return {"error": {"code": -32601, "message": "Method not found"}}


serve(handle)
