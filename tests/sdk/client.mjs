// One run of a scenario: the SDK's own client and stdio transport on one server, directly or
// through the interposer, with a record of everything that the client received.
//
//   transcript  from the client's API: results, errors, notifications, requests of the server
//   lines       the raw bytes of every line, in each direction, in order: the vault must contain them
//   stderr      the other side's stderr

import { execFile } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

// Deadlines are long: a busy machine, sanitizers and valgrind make everything many times slower.
const slowness = { asan: 4, valgrind: 10 }[process.env.TEST_UNDER] ?? 1;
export const deadline = (ms) => 4 * ms * slowness;
const START_MS = deadline(15_000); // for initialize: npx and Node start the server
const REQUEST_MS = deadline(30_000); // for each other request the client makes
const UNTIL_MS = deadline(7_500); // for each thing a scenario waits for; the longest takes 11 s
const CLOSE_MS = deadline(7_500); // for the exit of a server after the end of its stdin
const COMMAND_MS = deadline(7_500); // for a command of the program

// The SDK's transport, which also copies the bytes of both pipes. The transport's parsed messages would not
// allow a comparison byte for byte.
class TappedTransport extends StdioClientTransport {
  constructor(parameters, onLine) {
    super(parameters);
    this.onLine = onLine;
    this.parts = [];
  }

  async start() {
    await super.start();
    const child = this._process;
    this.exited = once(child, "close");
    child.stdout.prependListener("data", (chunk) => this.feed(chunk));
    child.stdin.setMaxListeners(0); // the SDK listens once for every call that waits for the pipe
    const write = child.stdin.write.bind(child.stdin);
    child.stdin.write = (text, ...rest) => {
      this.onLine("c2s", Buffer.from(text.slice(0, -1)), text.endsWith("\n"));
      return write(text, ...rest);
    };
  }

  // As the SDK closes, but the SDK waits two seconds before SIGTERM and two before SIGKILL: a busy machine needs longer.
  async close() {
    const child = this._process;
    if (!child) return;
    this._process = undefined;
    child.stdin.end();
    await within(this.patience, "the server's exit", this.exited).catch(() => child.kill("SIGTERM"));
    await within(CLOSE_MS, "the server's exit after SIGTERM", this.exited).catch(() => child.kill("SIGKILL"));
    this._readBuffer.clear();
  }

  feed(chunk) {
    this.onChunk();
    for (let from = 0; ; ) {
      const end = chunk.indexOf(10, from);
      if (end < 0) {
        this.parts.push(chunk.subarray(from));
        return;
      }
      this.parts.push(chunk.subarray(from, end));
      const line = Buffer.concat(this.parts);
      this.parts = [];
      from = end + 1;
      this.onLine("s2c", line, true);
    }
  }
}

export class Session {
  // via: "direct", "interposed" or "replayed". lingers: the server does not exit at the end of its stdin.
  constructor({ command, args, env, cwd, capabilities = {}, options = {}, dir, via, lingers = false }) {
    this.dir = dir; // the directory of this run; <dir> in transcripts
    this.via = via;
    this.argv = [command, ...args];
    this.lines = { c2s: [], s2c: [] };
    this.wire = []; // messages from the server, in order, as short words
    this.transcript = { calls: [], progress: {}, notifications: {}, requests: {}, errors: [] };
    this.reported = 0; // progress that the SDK reported
    this.awaited = 0; // progress received for calls that were not cancelled
    this.together = 0; // of these, read together with the answer: the SDK drops them
    this.chunk = new Map(); // progress in the current chunk, by token
    this.stderr = "";
    this.waiters = new Set();

    this.transport = new TappedTransport({ command, args, env, cwd, stderr: "pipe" }, (way, bytes, whole) => {
      this.lines[way].push(bytes);
      if (!whole) this.transcript.errors.push(`a write that is not one line: ${bytes}`);
      if (way === "s2c") this.received(bytes);
      this.poke();
    });
    this.transport.patience = lingers && via === "direct" ? 100 : CLOSE_MS;
    this.transport.onChunk = () => this.chunk.clear();
    this.transport.stderr.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
      this.poke();
    });

    this.client = new Client({ name: "sdk-test", version: "1.2.3" }, { capabilities, ...options });
    this.client.fallbackNotificationHandler = async ({ method, params }) => {
      this.record("notifications", method, params);
    };
    this.client.onerror = (error) => {
      // If both lines arrive together, the SDK removes the call before it handles the progress.
      if (!/progress notification for an unknown token/.test(error.message)) this.transcript.errors.push(error.message);
      this.poke();
    };
  }

  // Connects, plays the scenario, closes. The result of closing is compared too.
  async run(scenario) {
    try {
      const entry = { call: "connect" };
      this.transcript.calls.push(entry);
      try {
        await this.client.connect(this.transport, { timeout: START_MS });
        entry.result = {
          server: this.client.getServerVersion(),
          capabilities: this.client.getServerCapabilities(),
          instructions: this.client.getInstructions(),
        };
      } catch (error) {
        entry.error = plain(error);
      }
      await scenario(this);
      // On a busy machine all progress may be read together with the answer: then the SDK reports none.
      for (const entry of this.transcript.calls) if (entry.reports === "none" && entry.result && this.together > 0) entry.reports = "some";
    } finally {
      await this.close();
    }
  }

  async close() {
    const before = Date.now();
    await this.client.close();
    const [code, signal] = this.transport.exited ? await within(deadline(10_000), "the server's end", this.transport.exited) : [];
    // As in a shell: 128 plus the signal's number.
    this.exit = { code: code ?? 128 + (constants.signals[signal] ?? 0), ms: Date.now() - before };
  }

  // Progress is taken from the wire: whether the SDK still reports the last one
  // depends on whether the answer came in the same read.
  received(bytes) {
    let message;
    try {
      message = JSON.parse(bytes);
    } catch {
      this.wire.push(`not JSON: ${bytes}`);
      return;
    }
    // These servers write as JSON.stringify does; a line in another format has been changed.
    if (JSON.stringify(message) !== bytes.toString()) this.transcript.errors.push(`spelt anew: ${bytes}`);
    this.wire.push(`${kindOf(message)} ${message.method ?? message.id}`);
    if (message.method === undefined) this.together += this.chunk.get(message.id) ?? 0;
    if (message.method !== "notifications/progress") return;
    const { progressToken, ...report } = message.params;
    (this.transcript.progress[progressToken] ??= []).push(report);
    const givenUp = this.lines.c2s.some((line) => line.includes("notifications/cancelled") && JSON.parse(line).params.requestId === progressToken);
    if (givenUp) return;
    this.awaited++;
    this.chunk.set(progressToken, (this.chunk.get(progressToken) ?? 0) + 1);
  }

  // One call of the client's API; its result or error is recorded with a label.
  async call(label, make, options = {}) {
    const entry = { call: label };
    this.transcript.calls.push(entry);
    if (options.onprogress) {
      const { onprogress } = options;
      entry.reports = "none";
      options = { ...options, onprogress: (report) => (this.reported++, (entry.reports = "some"), onprogress(report)) };
    }
    try {
      entry.result = await make(this.client, { timeout: REQUEST_MS, ...options });
      return entry.result;
    } catch (error) {
      entry.error = plain(error);
      return undefined;
    }
  }

  tool(name, args, options) {
    return this.call(`${name} ${brief(args, this.dir)}`, (c, o) => c.callTool({ name, arguments: args }, undefined, o), options);
  }

  // Answers a request of the server, and records it.
  serve(schema, handler) {
    this.client.setRequestHandler(schema, async (request, extra) => {
      this.record("requests", request.method, request.params);
      return handler(request, extra);
    });
  }

  record(what, method, params) {
    (this.transcript[what][method] ??= []).push(params ?? null);
    this.poke();
  }

  notified(method) {
    return this.transcript.notifications[method] ?? [];
  }

  asked(method) {
    return this.transcript.requests[method] ?? [];
  }

  // Waits for a condition, checked whenever something arrives; fails at the deadline, and says what arrived. `seen`
  // returns what the condition has looked at.
  until(what, fact, seen = () => undefined, ms = UNTIL_MS) {
    if (fact()) return Promise.resolve();
    const before = { c2s: this.lines.c2s.length, s2c: this.lines.s2c.length, stderr: this.stderr.length };
    return new Promise((resolve, reject) => {
      const waiter = () => {
        if (!fact()) return;
        clearTimeout(timer);
        this.waiters.delete(waiter);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiters.delete(waiter);
        reject(new Error(`waited ${ms} ms in vain for ${what}; ${this.since(before, seen())}`));
      }, ms);
      this.waiters.add(waiter);
    });
  }

  since(before, seen) {
    const last = (way) => this.lines[way].slice(before[way]).slice(-8).map((line) => `\n  ${way} ${line.toString().slice(0, 200)}`);
    const counts = ["c2s", "s2c"].map((way) => `${this.lines[way].length - before[way]} messages ${way}`);
    const words = seen === undefined ? "" : `it saw ${JSON.stringify(seen)}; `;
    return `${words}${counts.join(" and ")} meanwhile, at last${[...last("c2s"), ...last("s2c")].join("")}\n  stderr ${this.stderr.slice(before.stderr).slice(-500)}`;
  }

  poke() {
    for (const waiter of [...this.waiters]) waiter();
  }

  // Separates the server's lines on stderr from the interposer's.
  serverStderr() {
    return linesOf(this.stderr).filter((line) => !isOwn(line));
  }

  // Invalid arguments, sent on purpose, are reported once for each tool. On a busy machine the recorder exits after its proxy.
  ownStderr() {
    return linesOf(this.stderr).filter((line) => isOwn(line) && !isNoted(line));
  }

  messages(way) {
    return this.lines[way].map((bytes) => JSON.parse(bytes));
  }
}

const linesOf = (text) => text.split("\n").filter((line) => line !== "");
const isOwn = (line) => line.startsWith("mcp-interposer: ");
const isNoted = (line) =>
  /^mcp-interposer: warn: (noted: server=.* invalid arguments for the tool |the session's last messages are not stored yet)/.test(line);

export function kindOf(message) {
  if (message.method !== undefined) return message.id === undefined ? "notification" : "request";
  return message.error === undefined ? "result" : "error";
}

function plain(error) {
  const { name, code, message, data } = error;
  return { name, code, message, data };
}

function brief(value, dir) {
  const text = (JSON.stringify(value) ?? "").replaceAll(dir, "<dir>");
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

// Runs a command; its error says what it printed, and whether it took too long.
export async function execute(file, args, options = {}) {
  const timeout = options.timeout ?? COMMAND_MS;
  try {
    const done = promisify(execFile)(file, args, { maxBuffer: 1 << 28, ...options, timeout });
    done.child.stdin.end();
    return await done;
  } catch (error) {
    const { killed, code, signal, stdout = "", stderr = "" } = error;
    const end = killed ? `did not end within ${timeout} ms` : `ended with ${signal ?? code}`;
    error.message = `${file} ${args.join(" ").slice(0, 200)} ${end}\n  stdout: ${stdout.slice(-1000)}\n  stderr: ${stderr.slice(-1000)}`;
    throw error;
  }
}

// The same for a command that may fail: its output and its status.
export async function outcome(file, args, options = {}) {
  const { stdout, stderr, code = 0 } = await execute(file, args, options).catch((error) => {
    if (typeof error.code !== "number") throw error;
    return error;
  });
  return { stdout, stderr, code };
}

export async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
