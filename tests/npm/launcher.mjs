// The launcher, with both ways of starting the program: arguments, exit statuses, every signal, what remains and what is
// recorded; and the platforms for which there is no program.

import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { PROGRAM, SERVER, family, has, run, same, skip, test, tmp, until } from "./lib.mjs";
import { PLATFORM } from "./packages.mjs";
import { reasonWithoutExecve, runtimes } from "./runtimes.mjs";
import { REQUEST, Session, vault } from "./session.mjs";

let launcher; // the file that npm links as mcp-interposer

// The path of the launcher, from the tarballs.
async function installLauncher(tarballs) {
  const dir = join(tmp, "launcher");
  mkdirSync(dir);
  writeFileSync(join(dir, "package.json"), "{}");
  await run("npm", ["install", "--offline", ...tarballs], { cwd: dir });
  return join(dir, "node_modules/mcp-interposer/bin/mcp-interposer.js");
}

const session = (runtime, name, server = SERVER) => new Session(runtime.node, [launcher], runtime.env, name, server);

// What is recorded of each session, by its name.
async function recorded() {
  const { stdout } = await run(PROGRAM, ["sessions", "--vault", vault, "-n", "0", "--json"]);
  const sessions = stdout.trim().split("\n").map((line) => JSON.parse(line));
  return new Map(sessions.map(({ name, state, calls, ok, messages }) => [name, { state, calls, ok, messages }]));
}

// Calls f with each of the list, eight at a time.
async function forEach(list, f) {
  const rest = [...list];
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (rest.length > 0) await f(rest.pop());
  }));
}

// ---- signals

// AddressSanitizer reports these, whoever sends them.
const FAULTS = process.env.TEST_UNDER === "asan" ? ["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"] : [];
// These end only the launcher, if the program is its child; other signals are forwarded. The program ends because this client
// (Node), like others, closes the pipes of a process that has exited.
const ALONE = ["SIGKILL", "SIGILL", "SIGTRAP", "SIGBUS", "SIGFPE", "SIGSEGV", "SIGSYS", "SIGSTKFLT+24"];
const HARMLESS = ["SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT", "SIGPIPE", "SIGXFSZ"];
const STOPS = ["SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU"];

// Without second names (SIGIOT, SIGPOLL).
const signals = Object.keys(constants.signals).filter((name, i, all) => all.findIndex((other) => constants.signals[other] === constants.signals[name]) === i && !FAULTS.includes(name));
signals.push("SIGSTKFLT+24"); // 40, a real-time signal
const number = (name) => name.split("+").reduce((sum, word) => sum + (constants.signals[word] ?? Number(word)), 0);

async function signalled(runtime, signal) {
  const name = `${runtime.name} ${signal}`;
  const s = session(runtime, name);
  await s.ask(1);
  const isChild = s.program !== s.child.pid;
  process.kill(s.child.pid, number(signal));
  if (STOPS.includes(signal)) process.kill(s.child.pid, "SIGCONT");
  const goesOn = [...HARMLESS, ...STOPS].includes(signal);
  if (goesOn) {
    await s.ask(2);
    s.child.stdin.end();
  }
  await s.end();
  await s.gone();
  const calls = goesOn ? 2 : 1;
  return { name, isChild, end: s.ended, wanted: { state: "ended", calls, ok: calls, messages: 2 * calls } };
}

async function signalCases() {
  const ends = {};
  for (const runtime of runtimes)
    await test(`launcher (${runtime.name}): after each of ${signals.length} signals no process remains, and what was answered is recorded`, async () => {
      const results = {};
      await forEach(signals, async (signal) => (results[signal] = await signalled(runtime, signal)));
      const rows = await recorded();
      for (const { name, isChild, wanted } of Object.values(results)) {
        same(isChild, runtime.name === "child process", `${name}: whether the program is a child process`);
        same(rows.get(name), wanted, name);
      }
      ends[runtime.name] = results;
      for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) same(results[signal].end, 0, signal);
      for (const signal of ["SIGKILL", "SIGUSR1", "SIGQUIT", "SIGABRT", "SIGALRM"]) same(results[signal].end, signal, signal);
    });
  if (runtimes.length < 2) return;
  await test("launcher: every signal ends it in the same way, whether the program is its child or took its place", async () => {
    const [a, b] = runtimes.map(({ name }) => Object.fromEntries(Object.entries(ends[name]).map(([signal, { end }]) => [signal, end])));
    for (const signal of signals.filter((signal) => !ALONE.includes(signal))) same(a[signal], b[signal], signal);
  });
}

// ---- ends

const DEADLY = ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGQUIT", "SIGUSR1", "SIGALRM", "SIGPROF"]
  .filter((name) => !FAULTS.includes(name));

async function endCases(runtime) {
  await test(`launcher (${runtime.name}): ends as the program ends, by a status or a signal`, async () => {
    await forEach([0, 1, 7, 255], async (status) => {
      const s = session(runtime, `status ${status}`, ["sh", "-c", `exit ${status}`]);
      s.child.stdin.end();
      same(await s.end(), status, "the server's status");
    });
    await forEach(DEADLY, async (signal) => {
      const s = session(runtime, `killed ${signal}`);
      await s.ask(1);
      process.kill(s.program, signal);
      same(await s.end(), signal, "the program's signal");
      await s.gone();
    });
    for (const [args, status] of [[["--version"], 0], [["nonsense"], 2], [["show", "--vault", "/dev/null"], 3]])
      await run(runtime.node, [launcher, ...args], { env: runtime.env, status });
  });

  await test(`launcher (${runtime.name}): a server that crashes again and again is restarted, reported, and nothing remains`, async () => {
    const s = session(runtime, `${runtime.name} crash`, ["sh", "-c", "read -r line; kill -SEGV $$"]);
    s.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, ...REQUEST[1] })}\n`);
    await until("the error", () => s.stdout.includes('"error"'), () => s.seen());
    s.family = family(s.child.pid);
    s.child.stdin.end();
    same(await s.end(), 128 + constants.signals.SIGSEGV, "the end");
    await s.gone();
  });

  await test(`launcher (${runtime.name}): arguments, environment, stdin and stdout are those of the program`, async () => {
    const words = ["a b", "", "é💩", "--", "-x", "$HOME", "*", "line\nbreak", "'\""];
    const off = { ...runtime.env, MCP_INTERPOSER: "off", "WORD WITH BLANKS": " é " };
    const direct = await run("printf", ["%s|", ...words]);
    same((await run(runtime.node, [launcher, "proxy", "--", "printf", "%s|", ...words], { env: off })).stdout, direct.stdout, "arguments");
    const text = "x".repeat(1 << 20);
    same((await run(runtime.node, [launcher, "proxy", "--", "cat"], { env: off, input: text })).stdout.length, text.length, "bytes of stdin");
    const show = ["python3", "-c", "import os; print(sorted(k for k in os.environ if 'MCP' in k or 'BLANKS' in k))"];
    same((await run(runtime.node, [launcher, "proxy", "--", ...show], { env: off })).stdout, "['MCP_INTERPOSER', 'WORD WITH BLANKS']\n", "variables");
    // Node ignores SIGPIPE; a program must not inherit that.
    const ignored = ["grep", "SigIgn", "/proc/self/status"];
    same((await run(runtime.node, [launcher, "proxy", "--", ...ignored], { env: off })).stdout, (await run(ignored[0], ignored.slice(1))).stdout, "signals");
  });
}

// ---- without a program

async function refusedCases() {
  const pretend = async (platform, arch) => {
    const file = join(tmp, `${platform}-${arch}.cjs`);
    writeFileSync(file, `Object.defineProperty(process, "platform", { value: "${platform}" });
      Object.defineProperty(process, "arch", { value: "${arch}" });\n`);
    return run(process.execPath, ["--require", file, launcher, "--version"], { status: 3 });
  };
  await test("launcher: on another platform it names those that it supports, and exits with status 3", async () => {
    for (const [platform, arch] of [["darwin", "arm64"], ["win32", "x64"], ["linux", "riscv64"]]) {
      const { stdout, stderr } = await pretend(platform, arch);
      has(stderr, `mcp-interposer: error: this package has no program for ${platform}-${arch}, only for ${PLATFORM}.`);
      has(stderr, "in a virtual machine or a container");
      same(stdout, "", "stdout");
    }
  });
  await test("launcher: a program that is missing or not executable is an error, and status 3", async () => {
    const program = join(launcher, `../../../@mcp-interposer/${PLATFORM}/bin/mcp-interposer`);
    for (const damage of [() => chmodSync(program, 0o644), () => rmSync(program)]) {
      damage();
      for (const { node, env } of runtimes)
        has((await run(node, [launcher, "--version"], { env, status: 3 })).stderr, "which contains the program, is not usable");
    }
  });
}

export async function launcherCases(tarballs) {
  launcher = await installLauncher(tarballs);
  for (const runtime of runtimes) await endCases(runtime);
  await signalCases();
  if (runtimes.length < 2) skip("launcher (execve)", reasonWithoutExecve);
  await refusedCases();
}
