// A server behind the proxy, for a client that asks one request at a time.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const SECONDS = 120; // a server may need long to start on a busy machine

export class Peer {
  constructor(program, { name, vault, cwd, env = {}, command }) {
    this.waiting = new Map();
    this.last = 0;
    this.errors = "";
    this.child = spawn(program, ["proxy", "--vault", vault, "--name", name, "--timeout", `${SECONDS}`, "--", ...command],
      { cwd, env: { ...process.env, ...env, HOME: cwd }, stdio: ["pipe", "pipe", "pipe"] });
    this.child.stderr.on("data", (data) => (this.errors = (this.errors + data).slice(-2000)));
    this.child.stdin.on("error", () => {});
    this.gone = once(this.child, "exit");
    createInterface({ input: this.child.stdout }).on("line", (line) => this.take(JSON.parse(line)));
  }

  take(message) {
    if (message.method !== undefined) {
      if (message.id !== undefined) this.send({ id: message.id, result: message.method === "roots/list" ? { roots: [] } : {} });
      return;
    }
    this.waiting.get(message.id)?.(message);
    this.waiting.delete(message.id);
  }

  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }

  // The result; an error is thrown.
  async ask(method, params) {
    const id = ++this.last;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    this.send({ id, method, params });
    const exited = this.gone.then(([status]) => ({ error: { message: `the server exited with ${status}: ${this.errors}` } }));
    const message = await Promise.race([answer, exited]);
    if (message.error) throw new Error(`${method}: ${message.error.message}`);
    return message.result;
  }

  async start() {
    const result = await this.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "context", version: "1" } });
    this.send({ method: "notifications/initialized" });
    return result;
  }

  async tools() {
    const all = [];
    let cursor;
    do {
      const page = await this.ask("tools/list", cursor === undefined ? {} : { cursor });
      all.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return all;
  }

  async end() {
    this.child.stdin.end();
    await this.gone;
  }
}
