"""A handshake with notifications/initialized, two pages of tools, text and an image."""
from serve import serve

PLACE = {"type": "object", "properties": {"location": {"type": "string", "description": "City name or zip code"}},
         "required": ["location"]}
PAGES = {None: {"tools": [{"name": "get_weather", "description": "Get current weather information for a location",
                           "inputSchema": PLACE}], "nextCursor": "next-page-cursor"},
         "next-page-cursor": {"tools": [{"name": "get_map", "description": "Draw a map", "inputSchema": {
             "type": "object", "properties": {"location": {"type": "string"}}}}]}}


def content(name, location):
    if name == "get_map":
        return {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    return {"type": "text", "text": f"Current weather in {location}:\nTemperature: 72\u00b0F\nConditions: Partly cloudy"}


def handle(m):
    method, params = m["method"], m.get("params") or {}
    if method == "initialize":
        return {"result": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "weather", "version": "1.0.0"}}}
    if method == "tools/list":
        return {"result": PAGES[params.get("cursor")]}
    if method == "tools/call" and params["name"] in ("get_weather", "get_map"):
        return {"result": {"content": [content(params["name"], params["arguments"]["location"])], "isError": False}}
    if method == "tools/call":
        return {"error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}}
    return {"error": {"code": -32601, "message": "Method not found"}}


serve(handle)
