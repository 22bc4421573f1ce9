// Plays the scenarios of @modelcontextprotocol/conformance and compares what they find: with a server itself, through
// the interposer, and with the recording of that in the server's place. Then those of them that test a client.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { changed } from "./conformance-2026.mjs";

const run = promisify(execFile);
const supergateway = "node_modules/supergateway/dist/index.js";
const interposer = resolve(process.env.MCP_INTERPOSER ?? "../../build/mcp-interposer");
const slowness = process.env.TEST_UNDER ? 4 : 1;
const PASS_MS = 450_000 * slowness; // all scenarios once
const END_MS = 30_000 * slowness; // for processes to start and to end
const IDLE_MS = 10_000; // then the bridge ends a session that no client holds; these clients do not say that they go

// supergateway does not look at the Host header: no server passes this behind it.
const BRIDGE_FAILS = "dns-rebinding-protection";
const SETS = [
  {
    name: "up to 2025-11-25",
    program: "node_modules/@modelcontextprotocol/conformance/dist/index.js",
    which: ["--suite", "all"],
    server: "server.mjs",
    // Nothing here breaks a rule, so nothing may be refused. One tool is to fail.
    options: { MCP_INTERPOSER_VALIDATE: "protocol", MCP_INTERPOSER_CHECK_ARGUMENTS: "reject" },
    findings: "tool-error",
  },
  {
    name: "2026-07-28",
    program: undefined, // conformance-2026.mjs
    // Without the extensions: a task outlives its request, and this bridge has a process for each request.
    which: ["--suite", "all", "--spec-version", "2026-07-28"],
    server: "modern.mjs",
    // What these scenarios do wrong, to see it refused by the server.
    options: {},
    findings: "invalid-params tool-error",
  },
];
// Two seconds decide what stands in the details of this one.
const TIMED = ["server-sse-streams-functional"];
// With TEST_LONG=1, each server is a process of node. Otherwise one process has all of them, our own server plays one scenario of
// each of two revisions, and of the scenarios of clients there is the one that contains the others.
const long = process.env.TEST_LONG === "1";

// The client scenarios that are about messages. The others, `sse-retry` and `auth/*`, are about HTTP, and no scenario
// of a client can be replayed: it is the server itself.
const CLIENT_SCENARIOS = [...(long ? ["initialize", "tools_call"] : []), "elicitation-sep1034-client-defaults"];

// What applies to our own server, `mcp`: the others call tools of the fixtures, or are about what it does not declare.
const OWN = long
  ? { "2025-06-18": ["server-initialize", "ping", "tools-list"], "2025-11-25": ["server-initialize", "ping", "tools-list"],
      "2026-07-28": ["tools-list", "input-required-result-unsupported-methods"] }
  : { "2025-11-25": ["tools-list"], "2026-07-28": ["input-required-result-unsupported-methods"] };

let passed = 0;
let failed = 0;
function tell(name, trouble) {
  if (trouble.length === 0) passed++;
  else failed++;
  console.log(`${trouble.length === 0 ? "ok" : "not ok"} - ${name}`);
  for (const line of trouble.slice(0, 40)) console.log(String(line).replace(/^/gm, "#   "));
}

// Every process started here carries the root in its environment.
const root = await mkdtemp(join(tmpdir(), "mcp-interposer-conformance-"));
const build = resolve(process.env.TEST_BUILD ?? "../../build");
const environment = { ...process.env, CONFORMANCE_ROOT: root, MCP_INTERPOSER: interposer, TEST_BUILD: build };
for (const set of SETS) {
  set.dir = join(root, set.server);
  set.environment = { ...environment, ...set.options, CONFORMANCE_DIR: set.dir, MCP_INTERPOSER_VAULT: join(set.dir, "vault") };
}

// What the bridge starts for each of its sessions: the file `command` has the line. Scenarios come one after the other: the n-th session is the same
// one in each pass. The proxy gives the UID when it starts; numbers are in the order in which recorders began to store.
const server = (set) => (long ? `node ${set.server}` : `"$TEST_BUILD"/fakes/connect "$CONFORMANCE_DIR"/servers`);
const command = {
  direct: (set) => `exec ${server(set)}`,
  proxy: (set) => `exec "$MCP_INTERPOSER" proxy -- ${server(set)}`,
  replay: () => `cd "$CONFORMANCE_DIR" && n=$(flock turn sh -c 'echo $(($(cat turn) + 1)) | tee turn.new && cat turn.new >turn') &&
                 exec "$MCP_INTERPOSER" replay --strict --report report-$n.json $(sed -n "$n"p uids)`,
  own: () => `exec "$MCP_INTERPOSER" mcp`,
};

// A program that listens on 127.0.0.1 only, and does not outlive us.
const node = (args, stdio, env) => spawn(process.execPath, ["--import", "./local.mjs", ...args], { env, stdio });
// `seen` returns what there was to see until then.
async function within(ms, what, promise, seen) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms; it said: ${seen().slice(-2000)}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The server behind HTTP. The bridge ends when its stdin does, after its servers.
class Bridge {
  async open(set) {
    const how = ["--outputTransport", "streamableHttp", "--stateful", "--sessionTimeout", IDLE_MS, "--port", 0];
    const stdio = ["pipe", "ignore", "pipe", "ipc"];
    this.process = node([supergateway, "--stdio", `exec sh "$CONFORMANCE_DIR"/command`, ...how], stdio, set.environment);
    this.exited = once(this.process, "exit");
    this.words = "";
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.words += text));
    const died = this.exited.then(([code]) => Promise.reject(new Error(`the bridge ended with ${code}: ${this.words}`)));
    died.catch(() => {});
    const [{ port }] = await within(END_MS, "starting the bridge", Promise.race([once(this.process, "message"), died]), () => this.words);
    this.set = set;
    this.url = `http://127.0.0.1:${port}/mcp`;
  }
  // What the sessions from now on are.
  async lead(via) {
    await writeFile(join(this.set.dir, "command"), command[via](this.set));
    return this.url;
  }
  async close() {
    this.process.stdin.end();
    await within(END_MS, "the end of the bridge", this.exited, () => this.words);
  }
}
async function withBridge(set, play) {
  const bridge = new Bridge();
  try {
    await bridge.open(set);
    return await play(bridge);
  } finally {
    await bridge.close();
  }
}

// `conformance`, one run after the other in one process.
class Conformance {
  constructor(program) {
    this.program = program;
    this.last = Promise.resolve();
  }
  // The exit status, and what was said.
  run(args, env) {
    this.last = this.last.catch(() => {}).then(() => this.once(args, env));
    return this.last;
  }
  async once(args, env) {
    this.process ??= this.start();
    this.words = "";
    const done = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }));
    this.process.send({ args, env }, () => {}); // if it has ended, `exit` says so
    const code = await within(PASS_MS, "conformance", done, () => this.words);
    return { code, words: this.words };
  }
  start() {
    const child = node(["again.mjs", this.program], ["ignore", "pipe", "pipe", "ipc"], environment);
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (this.words += text));
    child.on("message", ({ code }) => code !== undefined && this.resolve(code)); // the others are about ports
    child.on("exit", (code) => this.reject(new Error(`conformance ended with ${code}: ${this.words}`)));
    return child;
  }
  close() {
    this.process?.disconnect();
  }
}

// What differs from run to run: when, under which port and session, and ids that are the time.
const plain = (text) =>
  text
    .replace(/(127\.0\.0\.1|localhost):\d+/g, "<host>")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<session>")
    .replace(/"date":"[^"]*"/g, '"date":"<date>"')
    .replace(/\b\d{13}\b/g, "<time>");

// Runs scenarios; gives for each of them, by name, the lines that say what was looked at and found.
async function scenarios({ conformance }, args, dir, env) {
  const { code, words } = await conformance.run([...args, "-o", dir], env);
  const found = new Map();
  for (const entry of await readdir(dir).catch(() => [])) {
    const checks = JSON.parse(await readFile(join(dir, entry, "checks.json"), "utf8"));
    const name = entry.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[-\d]*Z$/, "");
    const lines = checks.map(({ status, id, errorMessage = "", details }) =>
      plain(`${status} ${id} ${errorMessage} ${TIMED.includes(id) ? "" : JSON.stringify(details)}`));
    if (args.includes("client") && code !== 0) lines.push(`FAILURE client ${words}`); // it may have ended with an error
    found.set(name, lines);
  }
  if (found.size === 0) throw new Error(`conformance found nothing:\n${words}`);
  return found;
}
async function serveAll(set) {
  const child = spawn(process.execPath, ["serve.mjs", set.server, join(set.dir, "servers")], { env: environment, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await within(END_MS, "starting the servers", once(child, "message"));
  return child;
}
async function serverScenarios(bridge, via) {
  const { set } = bridge;
  return scenarios(set, ["server", ...set.which, "--url", await bridge.lead(via)], join(set.dir, via), set.environment);
}
async function clientScenarios(through) {
  const env = { ...environment, ...SETS[0].options, THROUGH: through, MCP_INTERPOSER_VAULT: join(root, "vault") };
  const one = (name) => scenarios(SETS[0], ["client", "--command", "node client.mjs", "--scenario", name], join(root, `client-${through}`, name), env);
  const found = (await Promise.all(CLIENT_SCENARIOS.map(one))).flatMap((map) => [...map]);
  // The answers of the scenario's own server are no finding, and when its streams end is chance.
  return new Map(found.map(([name, lines]) => [name, lines.filter((line) => !line.includes(" outgoing-response ")).sort()]));
}

const isFailure = (line) => line.startsWith("FAILURE");
const failing = (found) => [...found.keys()].filter((name) => found.get(name).some(isFailure)).sort();
const failures = (found) => failing(found).flatMap((name) => found.get(name).filter(isFailure).map((line) => `${name}: ${line}`));
function differences(wanted, found) {
  const trouble = [];
  for (const name of new Set([...wanted.keys(), ...found.keys()])) {
    const [one, other] = [wanted.get(name) ?? [], found.get(name) ?? []];
    if (one.join("\n") === other.join("\n")) continue;
    trouble.push(`${name}:`);
    trouble.push(...one.filter((line) => !other.includes(line)).map((line) => `- ${line}`));
    trouble.push(...other.filter((line) => !one.includes(line)).map((line) => `+ ${line}`));
  }
  return trouble;
}

async function ask(set, ...args) {
  const { stdout } = await run(interposer, args, { env: set.environment, timeout: END_MS, maxBuffer: 1 << 28 });
  return stdout;
}
// Every session was replayed once, with each of its requests and no other.
async function replays(set, sessions) {
  const trouble = [];
  for (const [i, { id }] of sessions.entries()) {
    const report = await readFile(join(set.dir, `report-${i + 1}.json`), "utf8").catch(() => '{"exit_status":"no report"}');
    if (JSON.parse(report).exit_status !== 0) trouble.push(`session ${id}: ${report}`);
  }
  const played = Number(await readFile(join(set.dir, "turn"), "utf8"));
  if (played !== sessions.length) trouble.push(`${sessions.length} sessions were recorded, and ${played} replayed`);
  return trouble;
}
async function findings(set, sessions) {
  const found = JSON.parse(await ask(set, "check", "--format", "json", "--fail-on", "none", ...sessions.map(({ id }) => id)));
  const names = found.recordings.flatMap((recording) => recording.findings.map(({ finding }) => finding));
  const all = [...new Set(names)].sort().join(" ");
  return all === set.findings ? [] : [`found:  ${all}`, `wanted: ${set.findings}`];
}

async function processes() {
  const found = [];
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    const env = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
    if (!env.includes(`CONFORMANCE_ROOT=${root}\0`)) continue;
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command !== "") found.push({ pid: Number(pid), command: command.replaceAll("\0", " ") });
  }
  return found;
}
async function noneLeft() {
  const end = Date.now() + END_MS;
  for (;;) {
    const left = await processes();
    if (left.length === 0 || Date.now() > end) return left.map(({ pid, command }) => `${pid} ${command}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

// The sessions in the order in which they began, when their recorders have ended.
async function recordings(set) {
  const end = Date.now() + END_MS;
  while ((await processes()).some(({ command }) => command.includes(": recorder of ")) && Date.now() < end)
    await new Promise((done) => setTimeout(done, 50));
  const lines = (await ask(set, "sessions", "--json", "--limit", "0")).trim().split("\n");
  return lines.map((line) => JSON.parse(line)).sort((a, b) => (a.uid < b.uid ? -1 : 1));
}

async function play(set) {
  await mkdir(set.dir);
  await writeFile(join(set.dir, "turn"), "0\n");
  const servers = long ? undefined : await serveAll(set);
  const [direct, proxied] = await withBridge(set, async (bridge) => [await serverScenarios(bridge, "direct"), await serverScenarios(bridge, "proxy")]);
  servers?.disconnect(); // it ends
  const sessions = await recordings(set);
  await writeFile(join(set.dir, "uids"), sessions.map(({ uid }) => `${uid}\n`).join(""));
  const replayed = await withBridge(set, (bridge) => serverScenarios(bridge, "replay"));
  return [
    [`${direct.size} scenarios, all pass directly but for ${BRIDGE_FAILS}`, failing(direct).join() === BRIDGE_FAILS ? [] : failures(direct)],
    ["the same through proxy", differences(direct, proxied)],
    ["no finding that is not true", await findings(set, sessions)],
    ["the same from the recording", differences(direct, replayed)],
    ["replayed, every request asked for and none missed", await replays(set, sessions)],
  ];
}
async function playClients() {
  const [direct, proxied] = [await clientScenarios("nothing"), await clientScenarios("proxy")];
  return [
    [`${direct.size} scenarios, all pass directly`, failures(direct)],
    ["the same through proxy", differences(direct, proxied)],
  ];
}
// Our own server, over the sessions of the first set.
async function playOwn() {
  const trouble = [];
  const [set, { conformance }] = SETS;
  await withBridge(set, async (bridge) => {
    const url = await bridge.lead("own");
    for (const [version, names] of Object.entries(OWN)) {
      for (const name of names) {
        const how = ["server", "--spec-version", version, "--scenario", name, "--url", url];
        const lines = [...(await scenarios({ conformance }, how, join(root, "own", version, name), set.environment)).values()].flat();
        if (!lines.some((line) => line.startsWith("SUCCESS wire-schema-valid"))) trouble.push(`${version} ${name}: no message was checked`);
        trouble.push(...lines.filter((line) => !/^(SUCCESS|INFO) /.test(line)).map((line) => `${version} ${name}: ${line}`));
      }
    }
  });
  return trouble;
}
async function main() {
  SETS[1].program = await changed(root);
  for (const set of SETS) set.conformance = new Conformance(set.program);
  const played = await Promise.all(SETS.map(play));
  SETS.forEach(({ name }, i) => played[i].forEach(([what, trouble]) => tell(`server, ${name}: ${what}`, trouble)));
  tell(`server, mcp: scenarios pass: ${Object.values(OWN).flat().length}`, await playOwn());
  for (const [what, trouble] of await playClients()) tell(`client: ${what}`, trouble);
  for (const { conformance } of SETS) conformance.close();
}

async function endAll() {
  for (let left = await processes(); left.length > 0; left = await processes()) {
    for (const { pid } of left) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {} // gone by itself
    }
  }
  await rm(root, { recursive: true, force: true });
}
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
  process.once(signal, () => endAll().finally(() => process.exit(1)));
}

try {
  await main();
} catch (error) {
  tell("the run", [error.stack ?? error]);
}
tell("nothing is left running", await noneLeft());
await endAll();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
