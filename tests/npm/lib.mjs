// What the cases share: their report, commands with a deadline, processes.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const PROGRAM = resolve(process.env.MCP_INTERPOSER ?? join(ROOT, "build/mcp-interposer"));
// -S: it starts in half of the time.
export const SERVER = ["python3", "-S", join(ROOT, "examples/mail-server.py")];
export const VERSION = readFileSync(join(ROOT, "VERSION"), "utf8").trim();

// Deadlines are long: a busy machine and sanitizers make everything many times slower.
const slowness = { asan: 4, valgrind: 10 }[process.env.TEST_UNDER] ?? 1;
export const deadline = (ms) => 4 * ms * slowness;

export const tmp = mkdtempSync(join(tmpdir(), "npm-test-"));
process.on("exit", () => rmSync(tmp, { recursive: true, force: true }));
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => process.exit(1)); // the time limit of a suite

// ---- the report

const words = process.argv.slice(2);
const count = { passed: 0, failed: 0, skipped: 0 };

export async function test(name, body) {
  if (words.length > 0 && !words.some((word) => name.includes(word))) return;
  try {
    await body();
    count.passed++;
    console.log(`ok - ${name}`);
  } catch (error) {
    count.failed++;
    console.log(`not ok - ${name}\n${(error.stack ?? String(error)).replace(/^/gm, "# ")}`);
  }
}

export function skip(name, reason) {
  count.skipped++;
  console.log(`skip - ${name}: ${reason}`);
}

export function report() {
  const { passed, failed, skipped } = count;
  console.log(`${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`);
  return failed > 0 ? 1 : 0;
}

// ---- commands

// A short environment: npm passes its settings on in variables, and the machine may have others.
export function environment(more = {}) {
  return {
    PATH: process.env.PATH,
    LC_ALL: "C.UTF-8",
    HOME: join(tmp, "home"),
    npm_config_userconfig: join(tmp, "home/.npmrc"),
    npm_config_prefix: join(tmp, "prefix"),
    npm_config_update_notifier: "false",
    npm_config_fund: "false",
    npm_config_audit: "false",
    ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS, UBSAN_OPTIONS: process.env.UBSAN_OPTIONS }),
    ...more,
  };
}

// Runs a command. The result has its output and its end: a number, or the name of the signal. status: what the end must be;
// null: anything.
export async function run(command, args, { env = {}, cwd = join(tmp, "home"), input = "", status = 0 } = {}) {
  const child = spawn(command, args, { cwd, env: environment(env), stdio: "pipe" });
  const out = { stdout: "", stderr: "" };
  const ms = deadline(15_000); // npm is slow
  const late = setTimeout(() => {
    out.stderr += `\nit did not end within ${ms} ms`;
    child.kill("SIGKILL");
  }, ms);
  for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (out[name] += text));
  child.stdin.on("error", () => {}).end(input);
  out.end = await new Promise((done, failed) => child.on("error", failed).on("close", (code, signal) => done(signal ?? code)));
  clearTimeout(late);
  if (status !== null) same(out.end, status, `end of ${command} ${args.join(" ").slice(0, 200)}\n${out.stdout.slice(-800)}\n${out.stderr.slice(-2000)}`);
  return out;
}

export function same(got, wanted, what) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: got ${a}, wanted ${b}`);
}

export function has(text, part) {
  if (!text.includes(part)) throw new Error(`'${part}' is missing in:\n${text}`);
}

// Waits for a condition, with a deadline. `seen` returns what the condition has looked at.
export async function until(what, fact, seen, ms = deadline(7_500)) {
  for (const end = Date.now() + ms; !(await fact()); await new Promise((done) => setTimeout(done, 20)))
    if (Date.now() > end) throw new Error(`waited ${ms} ms in vain for ${what}; saw ${JSON.stringify(seen())}`);
}

// ---- processes

// Every process: its parent, its state, and its start time, which tells it from a later one with the same id.
function processes() {
  const all = new Map();
  for (const id of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${id}/stat`, "utf8").replace(/^.*\) /s, "").split(" ");
      all.set(Number(id), { state: fields[0], parent: Number(fields[1]), start: fields[19] });
    } catch {
      // it has exited
    }
  }
  return all;
}

// A process and its descendants: [{ pid, start }].
export function family(pid) {
  const all = processes();
  const found = [pid];
  for (const parent of found) for (const [id, p] of all) if (p.parent === parent) found.push(id);
  return found.map((id) => ({ pid: id, start: all.get(id)?.start ?? "" }));
}

export function alive(list) {
  const all = processes();
  return list.filter(({ pid, start }) => all.get(pid)?.start === start && all.get(pid).state !== "Z");
}
