// Compares the vault's record of a session with the bytes on the client's side.
// The database is read with the sqlite3 program.

import { open, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { kindOf } from "./client.mjs";
import { checkFindings } from "./findings.mjs";
import { Sqlite } from "./sqlite.mjs";

const BODY_IN_DATABASE = 64 * 1024; // bytes; longer ones are in Bodies/
const ARGUMENTS_IN_LOG = 4096; // bytes; longer ones are truncated in the log
const HEAD = 50; // characters

export class Vault {
  constructor(dir) {
    this.dir = dir;
    this.database = new Sqlite(join(dir, "interposer.db"));
  }

  query(sql) {
    return this.database.query(sql);
  }

  // The only session with that name; slashes in a name are replaced, because it is used in file names.
  async session(name) {
    const rows = await this.query(`SELECT * FROM sessions WHERE name = '${name.replaceAll("/", "_").replaceAll("'", "''")}'`);
    if (rows.length !== 1) throw new Error(`${rows.length} sessions are named '${name}', not one`);
    return rows[0];
  }

  async messages(session) {
    const rows = await this.query(
      `SELECT id, seq, t_us, direction, origin, kind, rpc_id, method, target, hex(body) AS body, body IS NULL AS outside,
              body_offset, body_length, size, action, request_seq, finding, redactions
       FROM messages WHERE session_id = ${session.id} ORDER BY seq`,
    );
    let bodies;
    try {
      for (const row of rows) {
        row.body = Buffer.from(row.body ?? "", "hex");
        if (!row.outside) continue;
        bodies ??= await open(join(this.dir, "Bodies", session.uid));
        row.body = Buffer.alloc(row.body_length);
        await bodies.read(row.body, 0, row.body_length, row.body_offset);
      }
    } finally {
      await bodies?.close();
    }
    return rows;
  }

  invocations(session) {
    return this.query(`SELECT * FROM invocations WHERE session_id = ${session.id} ORDER BY request_seq`);
  }

  // All lines of the log directory; each must be a complete line of JSON.
  async log() {
    const dir = join(this.dir, "Logs", "MCP_Actions");
    const lines = [];
    for (const file of (await readdir(dir)).sort()) {
      if (!/^\d{4}-\d\d-\d\d\.jsonl$/.test(file)) throw new Error(`a file with a strange name in the log directory: ${file}`);
      const text = await readFile(join(dir, file), "utf8");
      if (!text.endsWith("\n")) throw new Error(`${file} does not end with a newline`);
      for (const line of text.slice(0, -1).split("\n")) lines.push(JSON.parse(line));
    }
    return lines;
  }
}

// The status of each client request, from the wire alone.
export function outcomes(lines) {
  const parse = (bytes) => ({ message: JSON.parse(bytes), size: bytes.length });
  const sent = lines.c2s.map(parse);
  const answers = new Map();
  for (const line of lines.s2c.map(parse)) {
    if (line.message.method === undefined) answers.set(JSON.stringify(line.message.id), line);
  }
  const cancelled = new Set(
    sent
      .filter(({ message }) => message.method === "notifications/cancelled")
      .map(({ message }) => JSON.stringify(message.params.requestId)),
  );
  return sent
    .filter(({ message }) => kindOf(message) === "request")
    .map(({ message: request, size }) => {
      const id = JSON.stringify(request.id);
      const answer = answers.get(id);
      let status = cancelled.has(id) ? "cancelled" : "open";
      if (answer) status = answer.message.error ? "error" : answer.message.result.isError === true ? "tool-error" : "ok";
      return { id, request, size, answer: answer?.message, answerSize: answer?.size ?? null, status };
    });
}

// The target of a request or notification: a tool, a prompt, a resource, a task.
function targetOf({ params }) {
  const names = isObject(params?.ref) ? [params.ref.name, params.ref.uri] : [params?.name, params?.uri, params?.taskId];
  return names.find((name) => typeof name === "string") ?? null;
}

// Throws at the first row that differs from the wire.
export async function checkRecord(vault, name, run) {
  const session = await vault.session(name);
  const server = run.client.getServerVersion();
  const sent = run.messages("c2s");
  const received = run.messages("s2c");
  const initialized = received.find((m) => m.id === 0)?.result;
  same("the session", {
    command: JSON.parse(session.command),
    client_name: session.client_name,
    client_version: session.client_version,
    server_name: session.server_name,
    server_version: session.server_version,
    protocol_version: session.protocol_version,
    exit_status: session.exit_status,
    pid: session.pid > 1,
    ended: session.ended_at_us >= session.started_at_us,
    reason: typeof session.end_reason,
  }, {
    command: run.argv.slice(run.argv.indexOf("--") + 1),
    client_name: "sdk-test",
    client_version: "1.2.3",
    server_name: server?.name ?? null,
    server_version: server?.version ?? null,
    protocol_version: initialized?.protocolVersion ?? null,
    exit_status: run.exit.code,
    pid: true,
    ended: true,
    reason: "string",
  });

  const rows = await vault.messages(session);
  rows.forEach((row, i) => {
    same(`seq of row ${i}`, [row.seq, row.id - session.id * 2 ** 36], [i + 1, i + 1]);
    if (i > 0 && row.t_us < rows[i - 1].t_us) throw new Error(`seq ${row.seq} is earlier than the one before`);
  });
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  for (const way of ["c2s", "s2c"]) {
    const recorded = rows.filter((r) => r.direction === way && r.kind !== "stderr");
    const passed = run.lines[way];
    if (recorded.length !== passed.length) {
      throw new Error(`${way}: ${passed.length} messages passed, ${recorded.length} are recorded: ${counts(way === "c2s" ? sent : received)}`);
    }
    recorded.forEach((row, i) => checkRow(row, passed[i], bySeq));
  }
  checkFindings(rows);
  same("stderr", rows.filter((r) => r.kind === "stderr").map((r) => String(r.body)), run.serverStderr());
  const events = await vault.query(`SELECT kind FROM events WHERE session_id = ${session.id} ORDER BY id`);
  same("the first and the last event", [events.at(0)?.kind, events.at(-1)?.kind], ["spawn", "exit"]);
  return { session, rows, calls: outcomes(run.lines) };
}

function checkRow(row, bytes, bySeq) {
  const what = `seq ${row.seq} (${row.direction})`;
  const message = JSON.parse(bytes);
  const kind = kindOf(message);
  const { origin, action, size, redactions } = row;
  same(what, { kind: row.kind, rpc_id: row.rpc_id, origin, action, size, redactions, outside: row.outside }, {
    kind,
    rpc_id: message.id === undefined ? null : JSON.stringify(message.id),
    origin: "peer",
    action: "forwarded",
    size: bytes.length,
    redactions: 0,
    outside: bytes.length > BODY_IN_DATABASE ? 1 : 0,
  });
  if (!row.body.equals(bytes)) {
    let at = 0;
    while (row.body[at] === bytes[at]) at++;
    throw new Error(`${what}: body differs at byte ${at}: '${row.body.subarray(at, at + 60)}' is recorded, '${bytes.subarray(at, at + 60)}' passed`);
  }
  if (message.method !== undefined) {
    same(`${what}: method`, row.method, message.method);
    same(`${what}: target`, row.target, targetOf(message));
    return;
  }
  const request = bySeq.get(row.request_seq);
  same(`${what}: its request`, request && [request.kind, request.rpc_id, request.direction !== row.direction, request.seq < row.seq], [
    "request",
    row.rpc_id,
    true,
    true,
  ]);
}

// The view has one row for each request of the client, with its status.
export async function checkInvocations(vault, { session, rows, calls }) {
  const bySeq = new Map(rows.map((row) => [row.seq, row]));
  const seen = (await vault.invocations(session)).map((row) => ({
    id: bySeq.get(row.request_seq)?.rpc_id,
    method: row.method,
    target: row.target,
    status: row.status,
    answered_by: row.response_seq === null ? null : bySeq.get(row.response_seq)?.request_seq === row.request_seq,
    code: row.error_code,
    request_size: row.request_size,
    response_size: row.response_size,
    timed: row.response_seq === null || (row.duration_us >= 0 && row.started_at_us >= session.started_at_us),
  }));
  same("invocations", seen, calls.map(({ id, request, size, answer, answerSize, status }) => ({
    id,
    method: request.method,
    target: targetOf(request),
    status,
    answered_by: answer ? true : null,
    code: answer?.error?.code ?? null,
    request_size: size,
    response_size: answerSize,
    timed: true,
  })));
}

// Requests about a task, and those of the other side for it, belong to the call that started it.
export async function checkOperations(vault, { session, rows }) {
  const started = new Map(), wanted = [], count = new Map();
  for (const row of rows) {
    if (row.kind !== "request" && row.kind !== "result") continue;
    const { result, params, method } = JSON.parse(row.body);
    const id = result?.task?.taskId;
    if (id !== undefined) started.set(id, row.request_seq).set(row.request_seq, id);
    if (row.kind !== "request") continue;
    const task = method.startsWith("tasks/") ? params?.taskId : params?._meta?.["io.modelcontextprotocol/related-task"]?.taskId;
    const first = started.get(task) ?? null;
    wanted.push([row.seq, first]);
    if (first !== null && method.startsWith("tasks/")) count.set(first, (count.get(first) ?? 1) + 1);
  }
  const calls = await vault.query(`SELECT id - ${session.id * 2 ** 36} AS seq, operation_seq FROM calls WHERE id BETWEEN ${session.id * 2 ** 36} AND ${(session.id + 1) * 2 ** 36 - 1} AND origin = 'peer' ORDER BY id`);
  same("operation_seq of requests", calls.map((c) => [c.seq, c.operation_seq]), wanted);
  const operations = await vault.query(`SELECT id - ${session.id * 2 ** 36} AS seq, requests, status, duration_us >= server_us + person_us AS timed FROM operations WHERE id BETWEEN ${session.id * 2 ** 36} AND ${(session.id + 1) * 2 ** 36 - 1} ORDER BY id`);
  const tasks = [...started.keys()].filter((k) => typeof k === "number").sort((a, b) => a - b);
  same("operations", operations.map((o) => [o.seq, o.requests]), tasks.map((seq) => [seq, count.get(seq) ?? 1]));
  const odd = operations.filter((o) => o.status === "open" ? o.timed !== null : !["ok", "tool-error", "error", "cancelled"].includes(o.status) || o.timed !== 1);
  same("statuses and times of operations", odd, []);
}

// One log line for each finished invocation, with its arguments and its result.
export async function checkLog(vault, { session, calls }) {
  const seen = (await vault.log()).filter((line) => line.session === session.uid).map((line) => {
    if (!(Date.parse(line.time) > 0)) throw new Error(`a log line without a time: ${short(line)}`);
    if (!(line.duration_ms >= 0)) throw new Error(`a log line without a duration: ${short(line)}`);
    const { time, session: uid, seq, duration_ms, commitment = "", result, ...rest } = line;
    return JSON.stringify({ ...rest, commitment: /^[0-9a-f]{64}$/.test(commitment), result: result === undefined ? "none" : [...result].length <= HEAD + 20 });
  });
  const expected = calls.filter((c) => c.status !== "open").map(({ request, size, answer, answerSize, status }) => {
    const { method, params } = request;
    const target = targetOf(request);
    return JSON.stringify({
      server: session.name,
      method,
      ...(target !== null && { [method === "tools/call" ? "tool" : "target"]: target }),
      ...(isObject(params?.arguments) && { arguments: logged(params.arguments) }),
      status,
      ...(answer?.error && { error: { code: answer.error.code, message: answer.error.message } }),
      request_bytes: size,
      response_bytes: answerSize ?? 0,
      commitment: answerSize !== null && answerSize !== undefined,
      result: answer?.result === undefined ? "none" : true,
    });
  });
  same("the log's lines, sorted", seen.sort(), expected.sort());
}

const isObject = (x) => x !== null && typeof x === "object" && !Array.isArray(x);

function logged(args) {
  const text = JSON.stringify(args);
  const length = Buffer.byteLength(text);
  if (length <= ARGUMENTS_IN_LOG) return args;
  const head = [...text].slice(0, HEAD).join("");
  return `${head}… [+${length - Buffer.byteLength(head)} bytes]`;
}

function counts(messages) {
  const n = {};
  for (const m of messages) n[m.method ?? "answers"] = (n[m.method ?? "answers"] ?? 0) + 1;
  return JSON.stringify(n);
}

export function same(what, got, wanted) {
  if (isDeepStrictEqual(got, wanted)) return;
  if (Array.isArray(got) && Array.isArray(wanted)) {
    if (got.length !== wanted.length && wanted.length > 3) {
      const extra = got.filter((g) => !wanted.some((w) => isDeepStrictEqual(g, w)));
      const lost = wanted.filter((w) => !got.some((g) => isDeepStrictEqual(g, w)));
      throw new Error(`${what}: ${got.length} instead of ${wanted.length}; too many ${short(extra)}; missing ${short(lost)}`);
    }
    const at = wanted.findIndex((w, i) => !isDeepStrictEqual(got[i], w));
    if (at >= 0) throw new Error(`${what} [${at}]: ${short(got[at])} instead of ${short(wanted[at])}`);
  }
  if (isObject(got) && isObject(wanted)) {
    const keys = [...new Set([...Object.keys(got), ...Object.keys(wanted)])].filter((k) => !isDeepStrictEqual(got[k], wanted[k]));
    const part = (x) => Object.fromEntries(keys.map((k) => [k, x[k]]));
    throw new Error(`${what}: ${short(part(got))} instead of ${short(part(wanted))}`);
  }
  throw new Error(`${what}: ${short(got)} instead of ${short(wanted)}`);
}

function short(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 1200 ? `${text.slice(0, 1200)}…` : text;
}
