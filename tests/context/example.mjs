// The example of docs/context.md: a week with five real servers, used as an agent does that edits notes; then the rules that
// `tools --suggest` finds, and a day with them.
//
//   node tests/context/example.mjs [VAULT]   (after tests/context/run has installed the packages; MCP_INTERPOSER is the program)
//
// The sessions are recorded one after the other, and get the times of the last seven days afterwards. VAULT is kept.

import { spawnSync } from "node:child_process";
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Peer } from "./peer.mjs";

const program = resolve(process.env.MCP_INTERPOSER);
delete process.env.MCP_INTERPOSER;
const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules/.bin");
const dir = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), "example-"));
const vault = process.argv[2] ? resolve(process.argv[2]) : join(dir, "vault"), notes = join(dir, "notes");
const DAYS = 7;

const path = (i) => join(notes, `note-${i}.md`);
const count = (n) => Array.from({ length: n }, (_, i) => i);
const read = (path) => ["read_text_file", { path }];

// When a server has sessions (every N-th day), and what one calls on a day: 0 to DAYS - 1, and with the rules DAYS.
const servers = {
  files: { command: ["mcp-server-filesystem", notes], hours: [9], calls: (day) => [
    ["list_directory", { path: notes }],
    ...count(3 + (day % 4)).map((i) => read(path((day + i) % 8))),
    read(join(notes, "log.md")),
    ["edit_file", { path: path(day % 8), edits: [{ oldText: `# Note ${day % 8}`, newText: `# Note  ${day % 8}` }] }],
    ["edit_file", { path: path(day % 8), edits: [{ oldText: `# Note  ${day % 8}`, newText: `# Note ${day % 8}` }] }],
    ...(day % 2 === 0 ? [["search_files", { path: notes, pattern: "*.md" }]] : [])] },
  memory: { command: ["mcp-server-memory"], env: { MEMORY_FILE_PATH: join(dir, "memory.jsonl") }, hours: [10], calls: (day) => [
    ["create_entities", { entities: [{ name: `day ${day}`, entityType: "day", observations: [`has ${3 + day} notes`] }] }],
    ["search_nodes", { query: "day" }]] },
  thinking: { command: ["mcp-server-sequential-thinking"], hours: [14], every: 2, calls: (day) => count(day % 2 === 0 ? 8 : 4).map((i) => ["sequentialthinking",
    { thought: `Step ${i}`, nextThoughtNeeded: true, thoughtNumber: i + 1, totalThoughts: 8 }]) },
  browser: { command: ["playwright-mcp"], hours: [12], every: 4, calls: () => [] },
  github: { command: ["mcp-server-github"], hours: [13], every: 2, calls: () => [] },
};

async function session(name, day) {
  const s = servers[name];
  const peer = new Peer(program, { name, vault, cwd: dir, env: s.env, command: [join(bin, s.command[0]), ...s.command.slice(1)] });
  await peer.start();
  await peer.tools();
  for (const [tool, args] of s.calls(day)) await peer.ask("tools/call", { name: tool, arguments: args });
  await peer.end();
}

// The sessions are in the order in which they were recorded.
function setTimes(times) {
  const script = `
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = db.execute("SELECT id, started_at_us, ended_at_us FROM sessions ORDER BY id").fetchall()
for (id, start, end), at in zip(rows, json.loads(sys.argv[2])):
    db.execute("UPDATE sessions SET started_at_us = ?, ended_at_us = ? WHERE id = ?", (at * 1000, at * 1000 + end - start, id))
db.commit()`;
  const done = spawnSync("python3", ["-c", script, join(vault, "interposer.db"), JSON.stringify(times)], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
}

function show(...args) {
  console.log(`$ mcp-interposer ${args.join(" ")}`);
  const done = spawnSync(program, [...args, "--vault", vault], { encoding: "utf8", env: { ...process.env, HOME: dir, XDG_CONFIG_HOME: "" } });
  console.log((done.stdout + done.stderr).replaceAll(dir, "~"));
}

mkdirSync(notes, { recursive: true });
for (const i of count(8)) writeFileSync(path(i), `# Note ${i}\n\n` + `- [ ] call back the supplier about order 40${i}, before noon\n`.repeat(10 * (i + 1)));
const midnight = new Date().setHours(0, 0, 0, 0), times = [];
try {
  for (const day of count(DAYS)) {
    appendFileSync(join(notes, "log.md"), count(120).map((i) => `2026-11-${10 + day} 09:${10 + (i % 50)} order 40${i % 8}: the supplier has answered, delivery in week ${40 + day}\n`).join(""));
    for (const [name, s] of Object.entries(servers))
      for (const hour of day % (s.every ?? 1) === 0 ? s.hours : []) {
        await session(name, day);
        times.push(midnight - (DAYS - day) * 86400000 + hour * 3600000 + 60000 * (times.length % 30));
      }
  }
  setTimes(times);
  show("cost");
  show("cost", "files");
  for (const name of ["files", "memory"]) show("tools", "--suggest", "--apply", name);
  for (const name of ["files", "memory", "thinking"]) await session(name, DAYS);
  show("cost", "--since", "today");
} finally {
  rmSync(dir, { recursive: true, force: true });
}
