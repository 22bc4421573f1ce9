// A session in which the test sends the lines itself, knows every process, and can end any of them.

import { spawn } from "node:child_process";
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { alive, environment, family, tmp, until } from "./lib.mjs";

export const vault = join(tmp, "vault");

export const REQUEST = {
  1: { method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "npm", version: "1" } } },
  2: { method: "tools/list" },
};

// A proxy and its server, started by `command args...`, which has the pipes of a client.
export class Session {
  constructor(command, args, env, name, server) {
    this.child = spawn(command, [...args, "proxy", "--vault", vault, "--name", name, "--grace", "60s", "--", ...server], {
      cwd: tmp, env: environment(env), stdio: ["pipe", "pipe", "pipe"],
    });
    this.name = name;
    this.stdout = this.stderr = "";
    for (const name of ["stdout", "stderr"]) this.child[name].setEncoding("utf8").on("data", (text) => (this[name] += text));
    this.child.stdin.on("error", () => {});
    this.ended = undefined;
    this.child.on("exit", (status, signal) => (this.ended = signal ?? status));
  }

  seen() {
    return { stdout: this.stdout.slice(-1000), stderr: this.stderr.slice(-1000), ended: this.ended };
  }

  // How it ended: a status, or the name of a signal.
  async end() {
    await until(`the end of ${this.name}`, () => this.ended !== undefined, () => this.seen());
    return this.ended;
  }

  async ask(id) {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...REQUEST[id] })}\n`);
    await until(`the answer ${id} of ${this.name}`, () => this.stdout.includes(`"id": ${id}, "result"`), () => this.seen());
    this.family ??= family(this.child.pid);
  }

  // The process that runs the program: the launcher itself, or its child.
  get program() {
    return this.family.find(({ pid }) => {
      try {
        return readlinkSync(`/proc/${pid}/exe`).endsWith("/bin/mcp-interposer");
      } catch {
        return false; // it has exited since
      }
    }).pid;
  }

  async gone() {
    await until(`the end of every process, after ${this.ended}`, () => alive(this.family).length === 0, () => alive(this.family));
  }
}
