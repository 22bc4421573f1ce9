"""Progress before the answer, a request that is cancelled as in LSP, and a shutdown."""
from client import Client, RpcError

DIRECTORY = {"spec_directory": "/path/to/specs/001-feature"}

c = Client()
hello = c.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"sampling": {}},
                                 "clientInfo": {"name": "spec-tui", "version": "0.1.0"}})
assert hello["capabilities"]["tools"]["listChanged"] is True
c.notify("notifications/initialized")
names = [t["name"] for t in c.request("tools/list")["tools"]]
assert names == ["speckit." + x for x in ("specify", "clarify", "plan", "tasks", "implement")], names


def run(tool, **arguments):
    c.notes.clear()
    result = c.request("tools/call", {"name": tool, "arguments": {**arguments, **DIRECTORY}}, seconds=60)
    assert result["isError"] is False
    return [n["params"] for n in c.notes if n["method"] == "notifications/progress"]


bar = run("speckit.specify", feature_description="User-provided feature description")
assert [(p["progress"], p["total"], p["message"]) for p in bar] == [(50, 100, "Analyzing requirements...")], bar
assert [p["progress"] for p in run("speckit.plan")] == [25, 50, 75]

id = c.ask("tools/call", {"name": "speckit.implement", "arguments": DIRECTORY})
c.notify("$/cancelRequest", {"id": id})
try:
    raise AssertionError(c.answer(id, 60))
except RpcError as error:
    assert error.code == -32002, error.code
assert c.fails(-32000, "tools/call", {"name": "speckit.tasks", "arguments": DIRECTORY}).data["reason"]

assert c.request("shutdown", id=99) is None
c.notify("exit")
c.close()
