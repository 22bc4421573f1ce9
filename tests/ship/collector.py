"""A collector of OpenTelemetry for tests: keeps what it is sent, and answers as it is told."""
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Collector:
    """answers: what the next requests get, in order; then by_path, then 200. Each is a status, (status, headers, body), or a function of the
    handler that answers by itself and returns whether it took the data."""

    def __init__(self, certificate=None):
        self._requests, self.answers, self.by_path, self.lock = [], [], {}, threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.handle(self, body)

            def answer(self, status, headers=(), body=b"{}"):
                self.send_response(status)
                for name, value in dict({"Content-Type": "application/json", "Content-Length": str(len(body))}, **dict(headers)).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def handle(self, handler, body):
        with self.lock:
            answer = self.answers.pop(0) if self.answers else self.by_path.get(handler.path, 200)
            kept = {"path": handler.path, "headers": dict(handler.headers), "data": json.loads(body), "size": len(body)}
            if callable(answer):
                kept["taken"] = answer(handler)
            else:
                status, headers, text = answer if isinstance(answer, tuple) else (answer, (), b"{}")
                kept["taken"] = status == 200
                handler.answer(status, headers, text)
            self._requests.append(kept)

    @property
    def requests(self):
        """Those that were answered. Waits for one that is being answered: its sender may know the answer already."""
        with self.lock:
            return list(self._requests)

    def url(self, host="127.0.0.1"):
        return f"otlp+{self.scheme}://{host}:{self.server.server_port}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def paths(self):
        return [r["path"] for r in self.requests]

    def items(self, path, resources, scopes, kind, taken=True):
        """(resource, item) of all requests to this path that were taken."""
        found = []
        for r in self.requests:
            if r["path"] != path or (taken and not r["taken"]):
                continue
            for resource in r["data"][resources]:
                for scope in resource[scopes]:
                    assert scope[kind], "an empty envelope"
                    found += [(attributes(resource["resource"]), item) for item in scope[kind]]
        return found

    def spans(self, taken=True):
        return [s for _, s in self.items("/v1/traces", "resourceSpans", "scopeSpans", "spans", taken)]

    def logs(self):
        return [s for _, s in self.items("/v1/logs", "resourceLogs", "scopeLogs", "logRecords")]

    def points(self, name="mcp.client.operation.duration"):
        """(session, point) of a histogram of durations."""
        found = []
        for resource, metric in self.items("/v1/metrics", "resourceMetrics", "scopeMetrics", "metrics"):
            assert (metric["unit"], metric["histogram"]["aggregationTemporality"]) == ("s", 1)
            assert metric["name"] in ("mcp.client.operation.duration", "mcp.client.session.duration")
            if metric["name"] != name:
                continue
            found += [(resource["service.instance.id"], point) for point in metric["histogram"]["dataPoints"]]
        return found


def attributes(item):
    return {a["key"]: list(a["value"].values())[0] for a in item["attributes"]}


def seqs(spans, once=True):
    """{(session, seq)}. What is sent again has the same id."""
    keys = [(attributes(s)["mcp_interposer.session"], int(attributes(s)["mcp_interposer.seq"])) for s in spans]
    assert not once or len(keys) == len(set(keys)), "a span was sent twice"
    assert len({s["spanId"] for s in spans}) == len(set(keys)), "ids that differ, or are the same"
    return set(keys)
