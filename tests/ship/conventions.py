"""Whether what a collector was sent follows the OpenTelemetry conventions for MCP (semantic-conventions-genai: docs/gen-ai/mcp.md and
model/mcp/, in development; read in their state of August 2026) and our own documents (docs/otlp.md). Types and fields are those of
decode.cjs. Recommended attributes that can be known here count as required."""
import collections
import re

REVISIONS = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
TEXT, INTEGER = "stringValue", "intValue"
OF_CONVENTIONS = {**dict.fromkeys(("mcp.method.name", "mcp.protocol.version", "mcp.resource.uri", "gen_ai.tool.name", "gen_ai.operation.name",
                                   "gen_ai.prompt.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "jsonrpc.request.id",
                                   "rpc.response.status_code", "error.type", "network.transport", "network.protocol.name", "server.address"), TEXT),
                  "server.port": INTEGER}
OPERATION = {"mcp.method.name", "mcp.protocol.version", "gen_ai.tool.name", "gen_ai.operation.name", "gen_ai.prompt.name", "error.type",
             "rpc.response.status_code", "network.transport", "network.protocol.name", "server.address", "server.port"}
SESSION = {"mcp.protocol.version", "network.protocol.name", "error.type", "server.address", "server.port"}
METRICS = {"mcp.client.operation.duration": OPERATION, "mcp.client.session.duration": SESSION}
BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
RESOURCE = {"service.name", "service.version", "service.instance.id", "host.name", "mcp_interposer.client.name", "mcp_interposer.client.version"}
WITH_URI = {"resources/read", "resources/subscribe", "resources/unsubscribe", "notifications/resources/updated"}
SEVERITIES = {"INFO": range(9, 13), "WARN": range(13, 17), "ERROR": range(17, 21)}
OF_OPERATIONS = ("session", "operation", "status", "requests", "asked", "server_us", "person_us")


class Checker:
    def __init__(self):
        self.warnings, self.spans, self.named = [], {}, []

    def warn(self, where, what):
        self.warnings.append(f"{where}: {what}")

    def expect(self, fine, where, what):
        if not fine:
            self.warn(where, what)

    def attributes(self, where, item, allowed=None):
        found = {}
        for a in item.get("attributes", []):
            key, ((kind, value),) = a["key"], a["value"].items()
            own = key.startswith("mcp_interposer.")
            known = own or key in OF_CONVENTIONS or re.fullmatch(r"gen_ai\.prompt\.variable\..+", key)
            self.expect(known if allowed is None else key in allowed, where, f"{key} is not for it")
            self.expect(key not in found, where, f"{key} twice")
            self.expect(own or kind == OF_CONVENTIONS.get(key, TEXT), where, f"{key} is a {kind}")
            self.expect(value != "", where, f"{key} is empty")
            found[key] = int(value) if kind == INTEGER else value
        return found

    def network(self, where, a):
        tcp = a.get("network.transport") == "tcp"
        self.expect(a.get("network.transport") in ("pipe", "tcp"), where, "network.transport is missing")
        for key in ("server.address", "server.port", "network.protocol.name"):
            self.expect((key in a) == tcp, where, f"{key} with network.transport {a.get('network.transport')}")

    def call(self, where, a):
        """What spans and durations of calls have in common."""
        method = a.get("mcp.method.name", "")
        self.expect(method, where, "mcp.method.name is missing")
        self.expect(a.get("mcp.protocol.version") in REVISIONS, where, "mcp.protocol.version is missing")
        self.expect(("gen_ai.tool.name" in a) == (method == "tools/call"), where, "gen_ai.tool.name")
        self.expect(a.get("gen_ai.operation.name") == ("execute_tool" if method == "tools/call" else None), where, "gen_ai.operation.name")
        self.expect(("gen_ai.prompt.name" in a) == (method == "prompts/get"), where, "gen_ai.prompt.name")
        self.error(where, a)
        self.network(where, a)

    def error(self, where, a):
        code = a.get("rpc.response.status_code")
        self.expect(code is None or (code == a.get("error.type") and re.fullmatch(r"-?\d+", code)), where, "error.type is not the code of the error")

    # ---- signals

    def resource(self, where, resource):
        a = self.attributes(where, resource, RESOURCE)
        for key in ("service.name", "service.instance.id", "host.name"):
            self.expect(key in a, where, f"{key} is missing")

    def span(self, span):
        where = f"span {span.get('name')}"
        a = self.attributes(where, span)
        own = {k.removeprefix("mcp_interposer."): v for k, v in a.items() if k.startswith("mcp_interposer.")}
        target = a.get("gen_ai.tool.name", a.get("gen_ai.prompt.name"))
        name = a.get("mcp.method.name", "") + (f" {target}" if target else "")
        key = (span["traceId"], span["spanId"])
        self.expect(key not in self.spans, where, "its id twice")
        self.spans[key] = span
        self.named += [(where, (span["traceId"], span["parentSpanId"]))] if "parentSpanId" in span else []
        self.named += [(where, (link["traceId"], link["spanId"])) for link in span.get("links", [])]
        self.expect(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), where, "it ends before it starts")
        self.expect(("error.type" in a) == (span.get("status", {}).get("code") == 2), where, "error.type and the status")
        self.expect("message" not in span.get("status", {}) or "error.type" in a, where, "a message without an error")
        if "operation" in own:
            self.expect(span["name"] == f"operation {name}" and span["kind"] == 1, where, "name or kind of an operation")
            self.expect(set(own) == set(OF_OPERATIONS), where, f"attributes of an operation: {sorted(own)}")
            return self.error(where, a)
        notification = "status" not in own
        self.call(where, a)
        self.expect(span["name"] == name and span["kind"] == 3, where, "name or kind")
        self.expect(("jsonrpc.request.id" in a) != notification, where, "jsonrpc.request.id")
        self.expect(a.get("mcp.method.name") not in WITH_URI or "mcp.resource.uri" in a, where, "mcp.resource.uri is missing")
        self.expect({"session", "seq"} <= set(own), where, "session or seq is missing")

    def log(self, log):
        where = f"log {log.get('eventName')}"
        a = self.attributes(where, log)
        self.expect(log.get("eventName", "").startswith("mcp_interposer."), where, "eventName")
        self.expect("stringValue" in log.get("body", {}), where, "no body")
        self.expect(log.get("severityNumber") in SEVERITIES.get(log.get("severityText"), ()), where, "severity")
        self.expect(log.get("timeUnixNano", "0") != "0", where, "no time")
        self.expect("mcp_interposer.session" in a, where, "no session")
        if "spanId" in log:
            self.named.append((where, (log["traceId"], log["spanId"])))

    def metric(self, metric):
        name = metric.get("name")
        self.expect(name in METRICS and metric.get("unit") == "s" and "histogram" in metric, f"metric {name}", "name, unit or kind")
        for point in metric.get("histogram", {}).get("dataPoints", []):
            where = f"point of {name}"
            a = self.attributes(where, point, METRICS.get(name, set()))
            buckets = list(map(int, point["bucketCounts"]))
            count, low, high, total = int(point["count"]), point["min"], point["max"], point["sum"]
            self.expect(point["explicitBounds"] == BOUNDS and len(buckets) == len(BOUNDS) + 1, where, "bounds")
            self.expect(sum(buckets) == count > 0, where, "its buckets have not its count")
            self.expect(0 <= low <= high and low * count - 1e-6 <= total <= high * count + 1e-6, where, "minimum, maximum, sum")
            self.expect(int(point["startTimeUnixNano"]) <= int(point["timeUnixNano"]), where, "it ends before it starts")
            if name == "mcp.client.operation.duration":
                self.call(where, a)
            else:
                self.expect(a.get("mcp.protocol.version") in REVISIONS, where, "mcp.protocol.version is missing")


def warnings(requests, parents=()):
    """What is wrong with these requests of a Collector. parents: (trace, span) that clients have named."""
    c = Checker()
    kinds = {"/v1/traces": ("resourceSpans", "scopeSpans", "spans", c.span), "/v1/logs": ("resourceLogs", "scopeLogs", "logRecords", c.log),
             "/v1/metrics": ("resourceMetrics", "scopeMetrics", "metrics", c.metric)}
    for r in requests:
        resources, scopes, items, check = kinds[r["path"]]
        for resource in r["data"][resources]:
            c.resource(f"resource of {r['path']}", resource["resource"])
            for scope in resource[scopes]:
                c.expect(scope["scope"].get("name") == "mcp-interposer" and scope["scope"].get("version"), r["path"], "the scope has no name or version")
                for item in scope[items]:
                    check(item)
    for where, key in c.named:
        c.expect(key in c.spans or key in parents, where, "it names a span that was not sent")
    return c.warnings


def names(requests):
    """How often which kinds of items were sent."""
    found = collections.Counter()
    for r in requests:
        for resource in next(iter(r["data"].values())):
            for scope in resource[next(k for k in resource if k.startswith("scope"))]:
                found.update(i.get("eventName") or i["name"] for i in next(v for k, v in scope.items() if k != "scope"))
    return found
