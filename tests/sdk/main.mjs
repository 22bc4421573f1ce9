// Plays every scenario twice, with the server directly and through the interposer, and compares the results.
// Usage: main.mjs [WORD...]: only the cases whose names contain one of the words. TEST_LONG=1: every case of the Inspector,
// and nothing but the published packages.

import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "./bundle.mjs";
import { checkRecordings } from "./check.mjs";
import { Session, deadline, execute, within } from "./client.mjs";
import { crash_cases, troubleOf } from "./crash.mjs";
import { everything_cases } from "./everything.mjs";
import { filesystem_cases } from "./filesystem.mjs";
import { TRUE, checkFindings, neverMet } from "./findings.mjs";
import { inspect, inspector_cases } from "./inspector.mjs";
import { memory_cases } from "./memory.mjs";
import { checkServer } from "./recordings.mjs";
import { checkRemote } from "./remote.mjs";
import { checkReplay, sameRecording } from "./replay.mjs";
import { checkRule } from "./rule.mjs";
import { checkSend } from "./sending.mjs";
import { Normaliser, difference, render } from "./transcript.mjs";
import { Vault, checkInvocations, checkLog, checkOperations, checkRecord, outcomes, same } from "./vault.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const interposer = resolve(process.env.MCP_INTERPOSER ?? join(here, "../../build/mcp-interposer"));
const published = join(here, "node_modules/@modelcontextprotocol");
// Without TEST_LONG=1, most cases run bundles of the packages.
const packages = process.env.TEST_LONG ? published : await bundle(published);
const packagesOf = (one) => (one.published ? published : packages);
const AT_ONCE = 3; // cases; each is two servers, which mostly wait

let passed = 0;
let failed = 0;
async function test(name, check) {
  try {
    await check();
    passed++;
    console.log(`ok - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok - ${name}\n${String(error.message ?? error).replace(/^/gm, "#   ")}`);
  }
}
function fail(text) {
  throw new Error(text);
}

const root = await mkdtemp(join(tmpdir(), "mcp-interposer-sdk-"));
const token = randomBytes(8).toString("hex");
const vault = new Vault(join(root, "vault"));
const replays = new Vault(join(root, "replays")); // where replays are recorded
const played = []; // the sessions through the interposer, for the checks at the end

const GRACE = { MCP_INTERPOSER_GRACE: "60s" }; // no SIGTERM to a server that is slow to exit

// Every process of a run has the run's mark in its environment.
const markOf = (n, via) => `${token}-${n}-${via}`;
function ofProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return ""; // it has exited
  }
}
// All that started after us; and if the kernel has begun with small numbers again since, all others too.
function candidates() {
  const newest = Number(readFileSync("/proc/loadavg", "utf8").trim().split(" ").at(-1));
  const least = newest < process.pid ? 0 : process.pid;
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) > least);
}
function processes(mark, pids = candidates()) {
  return pids
    .filter((pid) => ofProcess(pid, "environ").includes(`MCP_SDK_TEST=${mark}`))
    .map((pid) => ({ pid: Number(pid), command: ofProcess(pid, "cmdline").replaceAll("\0", " ").trim() }))
    .filter(({ command }) => command !== "");
}
async function noneLeft(mark) {
  const end = Date.now() + deadline(3_000);
  for (let left = processes(mark); left.length > 0; left = processes(mark)) {
    // Until these are gone, only they are looked at: reading all of /proc costs milliseconds.
    while ((left = processes(mark, left.map(({ pid }) => pid))).length > 0) {
      if (Date.now() > end) fail(`still running: ${left.map((p) => `${p.pid} ${p.command}`).join("; ")}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }
}
// On a busy machine a recorder stores the last messages after its proxy has exited.
const stored = (mark) => noneLeft(mark).catch(() => {});
function endAll(mark) {
  for (const { pid } of processes(mark)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {} // it has exited
  }
}

// Environment variables in addition to those that the SDK passes on.
const settings = {
  npm_config_cache: join(root, "npm"),
  npm_config_update_notifier: "false",
  npm_config_offline: "true",
  ...Object.fromEntries(["ASAN_OPTIONS", "UBSAN_OPTIONS"].filter((k) => process.env[k]).map((k) => [k, process.env[k]])),
};

async function play(one, n, via) {
  const dir = join(root, `${n}-${via === "direct" ? "a" : "b"}`); // of equal length: some answers are truncated
  await mkdir(dir);
  await one.prepare?.({ dir });
  const { command, args, env } = one.server({ packages: packagesOf(one), dir });
  const name = one.unnamed ? [] : ["--name", one.name];
  const behind = ["proxy", "--vault", vault.dir, ...name, ...(one.interposer ?? []), "--", command, ...args];
  const session = new Session({
    ...(via === "direct" ? { command, args } : { command: interposer, args: behind }),
    env: { ...settings, ...GRACE, ...env, MCP_SDK_TEST: markOf(n, via) },
    cwd: here,
    capabilities: one.capabilities,
    options: one.options?.(),
    dir,
    via,
    lingers: one.lingers,
  });
  return run(session, one, via, n);
}

async function run(session, one, via, n) {
  try {
    await within(deadline(30_000), `${one.name}, ${via}`, session.run(one.play));
  } catch (error) {
    session.failure = error;
  }
  await stored(markOf(n, via));
  return session;
}

// Plays the script once more, with a replay as the server.
async function replay(one, n, recorded) {
  const { uid } = await vault.session(one.name);
  const server = [interposer, "replay", "--vault", vault.dir, uid];
  const session = new Session({
    command: interposer,
    args: ["proxy", "--vault", replays.dir, "--name", one.name, ...(one.interposer ?? []), "--", ...server],
    env: { ...settings, ...GRACE, MCP_SDK_TEST: markOf(n, "replayed") },
    cwd: here,
    capabilities: one.capabilities,
    options: one.options?.(),
    dir: recorded.dir,
    via: "replayed",
  });
  return run(session, one, "replayed", n);
}

// Node's warnings about a full pipe, and timers in a stack trace, depend on the timing.
const isNode = (line) => /^\(node:\d+\) |^\(Use `node --trace-warnings|^ +at /.test(line);

async function sdkCase(one, n) {
  const [direct, interposed] = await Promise.all([play(one, n, "direct"), play(one, n, "interposed")]);
  played.push({ one, session: interposed });
  const words = (s, via) => [[s.dir, "<dir>"], [markOf(n, via), "<mark>"]];
  const own = interposed.ownStderr();

  await test(`${one.name}: same transcript`, () => {
    const trouble = [["direct", direct], ["interposed", interposed]]
      .filter(([, s]) => s.failure)
      .map(([via, s]) => `${via}: ${s.failure.message}\n  the end of its stderr:\n  ${s.stderr.split("\n").slice(-9).join("\n  ")}`);
    if (one.dies) for (const s of [direct, interposed]) dead(s);
    const parts = difference(render(direct, words(direct, "direct"), one), render(interposed, words(interposed, "interposed"), one));
    if (parts) trouble.push(parts, ...own);
    if (trouble.length > 0) fail(trouble.join("\n"));
  });
  await test(`${one.name}: same end and same stderr`, () => {
    same("the exit status", interposed.exit?.code, direct.exit.code);
    if (!(interposed.exit.ms < deadline(one.lingers ? 5_000 : 2_500))) fail(`the end took ${interposed.exit.ms} ms`);
    same("words of the interposer", own.filter((line) => !(one.says ?? []).some((word) => line.includes(word))), []);
    const stderr = (s, via) => {
      const normal = new Normaliser(words(s, via));
      return s.serverStderr().filter((line) => !isNode(line)).map((line) => normal.text(line));
    };
    const parts = difference(stderr(direct, "direct"), stderr(interposed, "interposed"));
    if (parts) fail(parts);
  });
  await test(`${one.name}: no process left`, () => noneLeft(markOf(n, "interposed")));
  if (one.dies) {
    await test(`${one.name}: recorded`, async () => {
      const { exit_status, ended_at_us } = await vault.session(one.name);
      same("the session", { exit_status, ended: ended_at_us > 0 }, { exit_status: direct.exit.code, ended: true });
    });
  } else {
    let record;
    await test(`${one.name}: recorded`, async () => {
      record = await checkRecord(vault, one.name, interposed);
    });
    await test(`${one.name}: invocations`, () => checkInvocations(vault, record ?? fail("there is no record to look at")));
    await test(`${one.name}: operations`, () => checkOperations(vault, record ?? fail("there is no record to look at")));
    await test(`${one.name}: log directory`, () => checkLog(vault, record ?? fail("there is no record to look at")));
    const replayed = await replay(one, n, interposed);
    await checkReplay({ one, interposed, replayed, vault, again: replays, test });
    await test(`${one.name}: no process of the replay left`, () => noneLeft(markOf(n, "replayed")));
  }
  endAll(`${token}-${n}-`);
}

// A server that crashes: there is nothing to compare with, because a direct session would end.
async function crashCase(one, n) {
  await test(`${one.name}: the client goes on`, async () => {
    const session = await play(one, n, "interposed");
    if (session.failure) fail(`${session.failure.message}\n  the end of its stderr:\n  ${session.stderr.split("\n").slice(-9).join("\n  ")}`);
    same("what went wrong", troubleOf(session), one.trouble);
    same("what the client's SDK complains of", session.transcript.errors, []);
    same("the exit status", session.exit.code, 0);
    const { id } = await vault.session(one.name);
    checkFindings(await vault.messages({ id }), ["own-request", "server-gone", "timeout", "repeat-of-uncertain"]);
    const kinds = await vault.query(`SELECT kind FROM events WHERE session_id = ${id}`);
    same("restarts", kinds.filter(({ kind }) => kind === "restart").length, one.restarts);
  });
  await test(`${one.name}: no process left`, () => noneLeft(markOf(n, "interposed")));
  endAll(markOf(n, "interposed"));
}

// A server that exits before it answers: the SDK's error depends on what comes first, the end of the
// pipe or a failed write.
function dead({ transcript }) {
  transcript.errors = [];
  transcript.calls = transcript.calls.map(({ call, error }) => ({ call, code: error?.code }));
}

async function inspectorCase(one, n) {
  const mark = markOf(n, "interposed");
  const env = { ...settings, MCP_SDK_TEST: mark };
  const dir = join(root, `${n}`);
  let result;
  await test(`${one.name}: same output`, async () => {
    result = await inspect(one, { packages: packagesOf(one), dir, env, interposer, vault, again: replays, stored: () => stored(mark) });
    await result.transcript();
  });
  await test(`${one.name}: recorded`, () => (result ?? fail("there is no record to look at")).record());
  await test(`${one.name}: replayed, same output`, () => (result ?? fail("there is nothing to replay")).replay());
  await test(`${one.name}: replayed, same recording`, () => sameRecording(one, vault, replays));
  await test(`${one.name}: no process left`, () => noneLeft(mark));
  endAll(mark);
}

// The methods and messages that the sessions must have covered.
const METHODS = {
  "client requests": [
    "completion/complete", "initialize", "logging/setLevel", "no/such-method", "ping", "prompts/get", "prompts/list", "resources/list",
    "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe", "tasks/cancel", "tasks/get", "tasks/list",
    "tasks/result", "tools/call", "tools/list",
  ],
  "server requests": ["elicitation/create", "roots/list", "sampling/createMessage", "tasks/get", "tasks/result"],
  "client notifications": [
    "notifications/cancelled", "notifications/initialized", "notifications/no-such", "notifications/roots/list_changed",
    "notifications/tasks/status",
  ],
  "server notifications": [
    "notifications/message", "notifications/progress", "notifications/resources/list_changed", "notifications/resources/updated",
    "notifications/tasks/status", "notifications/tools/list_changed",
  ],
};

async function coverage() {
  const all = played.filter(({ one }) => !one.dies).map(({ session }) => ({
    server: session.client.getServerVersion()?.name,
    c2s: session.messages("c2s"),
    s2c: session.messages("s2c"),
    calls: outcomes(session.lines),
  }));
  await test("every method of these servers and of the client was there", () => {
    const methods = (way, request) =>
      [...new Set(all.flatMap((s) => s[way]).filter((m) => m.method && (m.id !== undefined) === request).map((m) => m.method))].sort();
    same("methods", {
      "client requests": methods("c2s", true),
      "server requests": methods("s2c", true),
      "client notifications": methods("c2s", false),
      "server notifications": methods("s2c", false),
    }, METHODS);
  });
  for (const server of [...new Set(all.map((s) => s.server))]) {
    const calls = all.filter((s) => s.server === server).flatMap((s) => s.calls);
    const listed = (method, key, name) =>
      [...new Set(calls.filter((c) => c.request.method === method).flatMap((c) => c.answer?.result?.[key] ?? []).map((x) => x[name]))].sort();
    const went = (method, name, well) =>
      [...new Set(calls.filter((c) => c.request.method === method && well === (c.status === "ok")).map((c) => c.request.params?.[name]))];
    const missing = (what, names, seen) => names.filter((x) => !seen.includes(x)).map((x) => `${what}: ${x}`);
    await test(`${server}: every tool went well and went wrong, everything listed was read`, () => {
      const tools = listed("tools/list", "tools", "name");
      const prompts = listed("prompts/list", "prompts", "name");
      same("tools are listed", tools.length > 0, true);
      same("not called", [
        ...missing("tool with good arguments", tools, went("tools/call", "name", true)),
        ...missing("tool with bad arguments", tools, went("tools/call", "name", false)),
        ...missing("prompt with good arguments", prompts, went("prompts/get", "name", true)),
        ...missing("prompt with bad arguments", prompts, went("prompts/get", "name", false)),
        ...missing("resource", listed("resources/list", "resources", "uri"), went("resources/read", "uri", true)),
      ], []);
    });
  }
  await test("every finding of the list was met", () => same("never met", neverMet(), []));
  await test("docs/findings.md has the same list", async () => {
    const text = await readFile(join(here, "../../docs/findings.md"), "utf8");
    const rows = [...text.split("\n## What official clients and servers get wrong\n")[1].matchAll(/^\| (client|server) \| `([a-z-]+)` \| (.*) \|$/gm)];
    same("the list", rows.map(([, from, finding, why]) => ({ finding, from, why })), TRUE.map(({ finding, from, why }) => ({ finding, from, why })));
  });
  await test("the database is sound", async () => {
    same("integrity_check", await vault.query("PRAGMA integrity_check"), [{ integrity_check: "ok" }]);
    same("open invocations", await vault.query("SELECT method, target FROM invocations WHERE status = 'open'"), []);
  });
}

// The end-to-end tests run this snippet only if the SDK is installed already; here it always is.
async function document() {
  await test("docs/ci.md: the snippet for the TypeScript SDK", async () => {
    const argv = [join(here, "../e2e/57-ci.py"), "TypeScript SDK"];
    const env = { ...process.env, MCP_INTERPOSER: interposer };
    const { stdout } = await execute("python3", argv, { env, timeout: deadline(30_000) });
    if (!/^ok - /m.test(stdout)) fail(stdout);
  });
}

const words = process.argv.slice(2);
const cases = [
  ...[...everything_cases, ...filesystem_cases, ...memory_cases].map((one) => [one, sdkCase]),
  ...crash_cases.map((one) => [one, crashCase]),
  ...inspector_cases.map((one) => [one, inspectorCase]),
].filter(([one]) => (words.length === 0 ? !one.long || process.env.TEST_LONG : words.some((word) => one.name.includes(word))));
if (cases.length === 0 && !["docs", "recordings", "remote", "send", "rule"].some((word) => words.includes(word))) fail(`no case has a name that contains ${words.join(" or ")}`);

try {
  await execute(interposer, ["--version"]);
  await execute("sqlite3", ["--version"]);
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < cases.length) {
        const n = next++;
        const [one, run] = cases[n];
        await run(one, n).catch((error) => test(`${one.name}: ran`, () => fail(error.stack)));
      }
    }),
  );
  if (words.length === 0) {
    await coverage();
    const official = cases.filter(([one, run]) => run !== crashCase && !one.dies);
    await checkRecordings({ interposer, vault, names: official.map(([one]) => one.name), root, test });
  }
  if (words.length === 0 || words.includes("remote")) {
    await checkRemote({ interposer, root, settings: { ...settings, MCP_SDK_TEST: markOf("remote", "interposed") }, cwd: here, test });
    await test("wrap --remote: no process left", () => noneLeft(markOf("remote", "interposed")));
  }
  if (words.length === 0 || words.includes("recordings")) {
    await checkServer({ interposer, root, settings: { ...settings, MCP_SDK_TEST: markOf("mcp", "interposed") }, packages, test });
    await test("mcp: no process left", () => noneLeft(markOf("mcp", "interposed")));
  }
  if (words.length === 0 || words.includes("send")) {
    await checkSend({ interposer, root, settings: { ...settings, MCP_SDK_TEST: markOf("send", "interposed") }, packages, test });
    await test("send: no process left", () => noneLeft(markOf("send", "interposed")));
  }
  if (words.length === 0 || words.includes("rule")) {
    await checkRule({ interposer, root, settings: { ...settings, MCP_SDK_TEST: markOf("rule", "interposed") }, packages, test });
    await test("rule: no process left", () => noneLeft(markOf("rule", "interposed")));
  }
  if (words.length === 0 || words.includes("docs")) await document();
} catch (error) {
  await test("the tests could run", () => fail(error.message));
} finally {
  endAll(token);
  for (const { database } of [vault, replays]) database.close();
  await rm(root, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
