"""Workflow tools that report progress with a token that no client has set, are cancelled by `$/cancelRequest`, and a server
that exits after `exit`: with 0 after `shutdown`, else with 1. `task_filter` selects what `speckit.implement` does: `wait`
(the default) works until it is cancelled, `ignore` does not answer even then, `steps N` reports progress N times, every
0.2 s."""
import os
import sys
import threading
import time

import serve

DIRECTORY = {"type": "string", "description": "Absolute path to specification directory"}
MORE = {"specify": {"feature_description": {"type": "string", "description": "Natural language description of the feature"}},
        "clarify": {"questions": {"type": "array", "items": {"type": "string"}}}, "plan": {}, "tasks": {},
        "implement": {"task_filter": {"type": "string"}}}
WORDS = {"specify": "Create or update feature specification", "clarify": "Ask about what is unclear",
         "plan": "Generate implementation plan", "tasks": "Break the plan into tasks", "implement": "Implement the tasks"}
PLAN = [(25, "Reading the specification"), (50, "Looking at the code"), (75, "Writing the plan")]
cancelled, shut_down, lock = {}, False, threading.Lock()


def say(message):
    with lock:
        serve.send(message)


def report(id, progress, message):
    say({"method": "notifications/progress", "params": {"progressToken": f"tool-{id}", "progress": progress, "total": 100,
                                                        "message": message}})


def done(id, text):
    say({"id": id, "result": {"content": [{"type": "text", "text": text}], "isError": False}})


def work(id, tool, arguments):
    command = arguments.get("task_filter", "wait").split() if tool == "implement" else []
    if tool == "tasks":
        say({"id": id, "error": {"code": -32000, "message": "Tool failed to execute", "data": {"reason": "there is no plan"}}})
    elif command[:1] in (["wait"], ["ignore"]):
        cancelled[id].wait()
        if command[0] == "wait":
            say({"id": id, "error": {"code": -32002, "message": "Operation was cancelled"}})
    elif tool == "plan" or command[:1] == ["steps"]:
        steps = PLAN if tool == "plan" else [(i + 1, "working") for i in range(int(command[1]))]
        for progress, message in steps:
            report(id, progress, message)
            time.sleep(0.01 if tool == "plan" else 0.2)
        done(id, "Plan created." if tool == "plan" else "Worked.")
    else:
        report(id, 50, "Analyzing requirements...")
        done(id, f"Specification created successfully at {arguments['spec_directory']}/spec.md")


def handle(m):
    global shut_down
    method, params = m["method"], m.get("params", {})
    if method == "initialize":
        return {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                           "serverInfo": {"name": "claude-code", "version": "1.0.0"}}}
    if method == "tools/list":
        return {"result": {"tools": [{"name": f"speckit.{name}", "description": WORDS[name], "inputSchema": {
            "type": "object", "properties": {**more, "spec_directory": DIRECTORY},
            "required": ["feature_description"] * (name == "specify") + ["spec_directory"]}} for name, more in MORE.items()]}}
    if method == "tools/call":
        cancelled[m["id"]] = threading.Event()
        tool = params["name"].removeprefix("speckit.")
        threading.Thread(target=work, args=(m["id"], tool, params["arguments"]), daemon=True).start()
        return None
    if method == "$/cancelRequest" and params["id"] in cancelled:
        cancelled[params["id"]].set()
    if method == "shutdown":
        shut_down = True
        return {"result": None}
    if method == "exit":
        sys.stdout.flush()
        os._exit(0 if shut_down else 1)
    return {"error": {"code": -32601, "message": "Method not found"}}


serve.serve(handle)
