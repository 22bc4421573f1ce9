// Plays the scenarios of @modelcontextprotocol/conformance and compares what they find: with a server itself, through
// the interposer, and with the recording of that in the server's place. Then those of them that test a client.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const conformance = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
const supergateway = "node_modules/supergateway/dist/index.js";
const interposer = resolve(process.env.MCP_INTERPOSER ?? "../../build/mcp-interposer");
const slowness = process.env.TEST_UNDER ? 4 : 1;
const PASS_MS = 150_000 * slowness; // all scenarios once
const END_MS = 20_000 * slowness; // for processes to start and to end
const IDLE_MS = 5_000; // then the bridge ends a session that no client holds; these clients do not say that they go

// The server scenarios that no server passes behind supergateway: it does not look at the Host header.
const BRIDGE_FAILS = "dns-rebinding-protection";
// The findings in their recordings that are true: one tool is to fail.
const TRUE_FINDINGS = "tool-error";
// The client scenarios that are about messages. The others, `sse-retry` and `auth/*`, are about HTTP, and no scenario
// of a client can be replayed: it is the server itself.
const CLIENT_SCENARIOS = ["initialize", "tools_call", "elicitation-sep1034-client-defaults"];

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
const environment = {
  ...process.env,
  CONFORMANCE_ROOT: root,
  MCP_INTERPOSER: interposer,
  MCP_INTERPOSER_VAULT: join(root, "vault"),
  MCP_INTERPOSER_VALIDATE: "protocol", // nothing here breaks a rule, so nothing may be refused
  MCP_INTERPOSER_CHECK_ARGUMENTS: "reject",
};

// What the bridge starts for each of its sessions. Scenarios come one after the other: the n-th session is the same
// one in each pass, and the n-th one recorded.
const SERVERS = {
  direct: "exec node server.mjs",
  proxy: 'exec "$MCP_INTERPOSER" proxy -- node server.mjs',
  replay: `cd "$CONFORMANCE_ROOT" && n=$(($(cat turn) + 1)) && echo $n >turn &&
           exec "$MCP_INTERPOSER" replay --strict --report report-$n.json $n`,
};

// A program that listens on 127.0.0.1 only, and does not outlive us.
const node = (args, stdio, env = environment) => spawn(process.execPath, ["--import", "./local.mjs", ...args], { env, stdio });
async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The server behind HTTP. The bridge ends when its stdin does, after its servers.
class Bridge {
  async open(command) {
    const how = ["--outputTransport", "streamableHttp", "--stateful", "--sessionTimeout", IDLE_MS, "--port", 0];
    this.process = node([supergateway, "--stdio", command, ...how], ["pipe", "ignore", "pipe", "ipc"]);
    this.exited = once(this.process, "exit");
    this.words = "";
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.words += text));
    const died = this.exited.then(([code]) => Promise.reject(new Error(`the bridge ended with ${code}: ${this.words}`)));
    died.catch(() => {});
    const [{ port }] = await within(END_MS, "starting the bridge", Promise.race([once(this.process, "message"), died]));
    return `http://127.0.0.1:${port}/mcp`;
  }
  async close() {
    this.process.stdin.end();
    await within(END_MS, "the end of the bridge", this.exited);
  }
}

// What differs from run to run: when, and under which port and session.
const plain = (text) =>
  text
    .replace(/(127\.0\.0\.1|localhost):\d+/g, "<host>")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<session>")
    .replace(/"date":"[^"]*"/g, '"date":"<date>"');

// Runs scenarios; gives for each of them, by name, the lines that say what was looked at and found.
async function scenarios(args, dir, env) {
  const child = node([conformance, ...args, "-o", dir], ["ignore", "pipe", "pipe", "ipc"], env);
  let words = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (words += text));
  let code;
  try {
    [code] = await within(PASS_MS, "conformance", once(child, "close"));
  } finally {
    child.kill("SIGKILL");
  }
  const found = new Map();
  for (const entry of await readdir(dir).catch(() => [])) {
    const checks = JSON.parse(await readFile(join(dir, entry, "checks.json"), "utf8"));
    const name = entry.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[-\d]*Z$/, "");
    const lines = checks.map((c) => plain(`${c.status} ${c.id} ${c.errorMessage ?? ""} ${JSON.stringify(c.details)}`));
    if (args[0] === "client" && code !== 0) lines.push(`FAILURE client ${words}`); // it may have ended with an error
    found.set(name, lines);
  }
  if (found.size === 0) throw new Error(`conformance found nothing:\n${words}`);
  return found;
}
async function serverScenarios(via) {
  const bridge = new Bridge();
  try {
    const url = await bridge.open(SERVERS[via]);
    return await scenarios(["server", "--suite", "all", "--url", url], join(root, via));
  } finally {
    await bridge.close();
  }
}
async function clientScenarios(through) {
  const env = { ...environment, THROUGH: through, MCP_INTERPOSER_VAULT: join(root, "vault-clients") };
  const one = (name) => scenarios(["client", "--command", "node client.mjs", "--scenario", name], join(root, `client-${through}`, name), env);
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

async function ask(...args) {
  const { stdout } = await run(interposer, args, { env: environment, timeout: END_MS, maxBuffer: 1 << 28 });
  return stdout;
}
// Every session was replayed once, with each of its requests and no other.
async function replays(sessions) {
  const trouble = [];
  for (const { id } of sessions) {
    const report = JSON.parse(await readFile(join(root, `report-${id}.json`), "utf8"));
    if (report.exit_status !== 0 || report.matched !== report.recorded) trouble.push(`session ${id}: ${JSON.stringify(report)}`);
  }
  const played = Number(await readFile(join(root, "turn"), "utf8"));
  if (played !== sessions.length) trouble.push(`${sessions.length} sessions were recorded, and ${played} replayed`);
  return trouble;
}
async function findings(sessions) {
  const found = JSON.parse(await ask("check", "--format", "json", "--fail-on", "none", ...sessions.map(({ id }) => id)));
  const names = found.recordings.flatMap((recording) => recording.findings.map(({ finding }) => finding));
  return names.sort().join(" ") === TRUE_FINDINGS ? [] : names;
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

async function main() {
  await writeFile(join(root, "turn"), "0\n");
  const [direct, proxied] = await Promise.all([serverScenarios("direct"), serverScenarios("proxy")]);
  const n = direct.size;
  tell(`server: ${n} scenarios, all pass directly but for ${BRIDGE_FAILS}`, failing(direct).join() === BRIDGE_FAILS ? [] : failures(direct));
  tell("server: the same through proxy", differences(direct, proxied));
  const sessions = (await ask("sessions", "--json", "--limit", "0")).trim().split("\n").map((line) => JSON.parse(line));
  tell("server: no finding that is not true", await findings(sessions));
  tell("server: the same from the recording", differences(direct, await serverScenarios("replay")));
  tell("server: replayed, every request asked for and none missed", await replays(sessions));
  const [plainClients, clients] = [await clientScenarios("nothing"), await clientScenarios("proxy")];
  tell(`client: ${plainClients.size} scenarios, all pass directly`, failures(plainClients));
  tell("client: the same through proxy", differences(plainClients, clients));
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
