"""The handshake with notifications/initialized, pages of tools, and content of two types."""
from client import Client

c = Client()
c.request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                         "clientInfo": {"name": "smolcode", "version": "1.0.0"}}, id=1)
c.notify("notifications/initialized")
tools, params = [], {}
while params is not None:
    page = c.request("tools/list", params, id=1)  # the client counts ids separately for each kind of request
    tools += page["tools"]
    params = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
assert [t["name"] for t in tools] == ["get_weather", "get_map"], tools
assert tools[0]["inputSchema"]["required"] == ["location"]
place = {"location": "New York"}
text = c.request("tools/call", {"name": "get_weather", "arguments": place}, id=2)
assert text["content"] == [{"type": "text", "text": "Current weather in New York:\nTemperature: 72\u00b0F\n"
                                                    "Conditions: Partly cloudy"}] and text["isError"] is False
image = c.request("tools/call", {"name": "get_map", "arguments": place}, id=3)["content"][0]
assert (image["type"], image["mimeType"]) == ("image", "image/png") and image["data"], image
c.fails(-32602, "tools/call", {"name": "no_such_tool", "arguments": {}}, id=4)
c.close()
