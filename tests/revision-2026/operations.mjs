// Which call each request of a session continues, by the messages alone, and whether each form of the program says the same.
// Usage: operations.mjs PROGRAM VAULT, of a vault with one session of tasks_client.mjs. Prints what differs.
import { execFileSync } from "node:child_process";
import { isDeepStrictEqual } from "node:util";

const [, , program, vault] = process.argv;
const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
const ENDED = { completed: "ok", failed: "error", cancelled: "cancelled" };
const PERSON_US = 100_000; // a person of tasks_client.mjs takes longer
const run = (command, ...options) => execFileSync(program, [command, "--vault", vault, ...options], { encoding: "utf8", maxBuffer: 1 << 26 });
const lines = (text) => text.trim().split("\n").map((line) => JSON.parse(line));
let wrong = 0;
function same(what, got, wanted) {
  if (isDeepStrictEqual(got, wanted)) return;
  wrong++;
  console.error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
}

// What the messages say.
const [session, ...rows] = lines(run("show", "--json"));
const messages = rows.filter((row) => row.type === "message" && row.kind !== "stderr");
const operations = new Map(); // by seq of the first request
const continues = new Map(); // by seq: that of the operation's first request, null of what continues none
const asked = new Map(); // requests without an answer by id: row, params, first
const find = (fits) => [...operations.values()].find((o) => o.end === undefined && fits(o));
const end = (o, seq, status) => (o.end === undefined ? Object.assign(o, { end: seq, status }) : o);
// The state of a task, which asks each question once.
function learn(o, seq, { status, inputRequests = {} }) {
  if (o === undefined) return;
  for (const key of Object.keys(inputRequests).filter((key) => !o.keys.has(key))) {
    o.keys.add(key);
    o.asked++;
  }
  if (ENDED[status]) end(o, seq, ENDED[status]);
}
for (const { seq, body } of messages) {
  const { id, method, params, result, error } = body;
  if (method !== undefined && id !== undefined) {
    const task = method.startsWith("tasks/") && [...operations.values()].find((o) => o.task === params.taskId);
    const first = task || (params.requestState && find((o) => o.state === params.requestState && o.tool === params.name));
    if (first) first.requests++;
    asked.set(JSON.stringify(id), { seq, method, params, first });
    continues.set(seq, first?.seq ?? null);
  } else if (method === "notifications/tasks") {
    learn(find((o) => o.task === params.taskId), seq, params);
  } else if (method === undefined) {
    const request = asked.get(JSON.stringify(id));
    const start = () => {
      const o = { seq: request.seq, tool: request.params.name, requests: 1, asked: 0, keys: new Set() };
      operations.set(request.seq, o);
      return o;
    };
    continues.set(seq, request.first?.seq ?? null);
    let o = request.first || undefined;
    if (result?.resultType === "task") start().task = result.taskId;
    else if (result?.resultType === "input_required") Object.assign((o ??= start()), { state: result.requestState, asked: o.asked + 1 });
    else if (request.method === "tools/call" && o) end(o, seq, error ? "error" : "ok");
    else if (request.method === "tasks/get" && result) learn(o, seq, result);
  }
}
const all = [...operations.values()];
same("operations of the conversation", all.map((o) => [o.tool, o.asked, o.status]),
  [["ask", 1, "ok"], ["ask", 1, "ok"], ["report", 1, "ok"], ["endless", 0, "cancelled"], ["broken", 0, "error"], ["report", 1, "ok"]]);
const told = (of) => Object.fromEntries(all.map(of));
const members = told((o) => [o.seq, [o.requests, o.asked, o.status]]);

// What the forms say.
const inRows = (rows) => Object.fromEntries(rows.filter((r) => r.operation_seq).map((r) => [r.seq, r.operation_seq]));
const linked = Object.fromEntries([...continues].filter(([, first]) => first !== null));
same("show --json", inRows(rows), linked);
const requests = messages.filter(({ body }) => body.method !== undefined && body.id !== undefined && body.method !== "server/discover").length + 1;
const calls = requests - all.reduce((n, o) => n + o.requests - 1, 0);
const [one] = lines(run("sessions", "--json"));
same("sessions --json", [one.calls, one.operations, one.person_us > 4 * PERSON_US], [requests, calls, true]);
const stats = lines(run("stats", "--json")).filter((r) => ["ask", "report", "endless", "broken"].includes(r.tool));
same("stats --json", Object.fromEntries(stats.map((r) => [r.tool, [r.operations, r.person_us > PERSON_US, r.open]])),
  { ask: [2, true, 0], report: [2, true, 0], endless: [1, false, 0], broken: [1, false, 0] });
const text = run("show");
const marks = Object.fromEntries([...text.matchAll(/^ *(\d+) .*\[continues (\d+)/gm)].map((m) => [m[1], Number(m[2])]));
same("show: continues", marks, Object.fromEntries(messages.filter((m) => m.kind === "request" && linked[m.seq]).map((m) => [m.seq, linked[m.seq]])));
const ends = Object.fromEntries([...text.matchAll(/^ *(\d+) .*\[ends (\d+): (\d+) requests? in [^\]]*?(, of which a person took [^\]]*)?\]/gm)].map((m) => [m[2], [Number(m[1]), Number(m[3]), !!m[4]]]));
same("show: ends", ends, told((o) => [o.seq, [o.end, o.requests, o.asked > 0]]));

same("export -F jsonl", lines(run("export", "-F", "jsonl", "last")).slice(1), rows);
const [columns, ...cells] = run("export", "-F", "csv", "last").trim().split(/\r?\n/).map((line) => line.match(/("([^"]|"")*"|[^,]*)(,|$)/g).map((x) => x.replace(/,$/, "")));
const csv = cells.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
same("export -F csv: operation_seq", Object.fromEntries(csv.filter((r) => r.operation_seq).map((r) => [r.request_seq, Number(r.operation_seq)])), marks);
same("export -F csv: requests", Object.fromEntries(csv.filter((r) => r.requests).map((r) => [r.request_seq, [Number(r.requests), Number(r.asked)]])),
  told((o) => [o.seq, [o.requests, o.asked]]));
const titles = [...run("export", "-F", "markdown", "last").matchAll(/^#{3,4} (\d+) /gm)].filter((m) => m[0].startsWith("####")).map((m) => Number(m[1]));
same("export -F markdown", titles, Object.keys(marks).map(Number));
const page = run("export", "-F", "html", "last");
const [, ...items] = JSON.parse(page.slice(page.indexOf(">", page.indexOf(' id="data"')) + 1, page.indexOf("</script>", page.indexOf(' id="data"'))));
same("export -F html", Object.fromEntries(items.filter((m) => m.requests).map((m) => [m.seq, [m.requests, m.status, m.end]])),
  told((o) => [o.seq, [o.requests, o.status, o.end]]));
const spans = lines(run("export", "-F", "otlp", "last")).flatMap((line) => line.resourceSpans[0].scopeSpans[0].spans);
const attributes = (span) => Object.fromEntries(span.attributes.map(({ key, value }) => [key.replace("mcp_interposer.", ""), Object.values(value)[0]]));
const ofOperations = new Map(spans.map((s) => [attributes(s), s.spanId]).filter(([a]) => a.operation));
same("export -F otlp", Object.fromEntries([...ofOperations.keys()].map((a) => [a.operation, [Number(a.requests), Number(a.asked), a.status]])), members);
const parents = Object.fromEntries([...ofOperations].map(([a, id]) => [id, Number(a.operation)]));
same("export -F otlp: parents", Object.fromEntries(spans.map((s) => [attributes(s).seq, parents[s.parentSpanId]]).filter(([, parent]) => parent)),
  { ...marks, ...told((o) => [o.seq, o.seq]) });

// Our own server, in one process.
const ask = all.map((o, id) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { _meta: META, name: "get_call", arguments: { session: session.id, seq: o.seq } } }));
const answers = lines(execFileSync(program, ["mcp", "--vault", vault], { input: `${ask.join("\n")}\n`, encoding: "utf8", maxBuffer: 1 << 26 }));
same("mcp: get_call", Object.fromEntries(answers.map((a) => a.result.structuredContent.operation ?? {}).map((o) => [o.seq, [o.requests, o.asked, o.status]])), members);
process.exit(wrong === 0 ? 0 : 1);
