// The example of docs/context.md: five real servers, used in some sessions as an agent does that edits notes.
//
//   node tests/context/example.mjs     (after tests/context/run has installed the packages; MCP_INTERPOSER is the program)

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Peer } from "./peer.mjs";

const program = resolve(process.env.MCP_INTERPOSER);
delete process.env.MCP_INTERPOSER;
const bin = join(dirname(fileURLToPath(import.meta.url)), "node_modules/.bin");
const dir = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), "example-"));
const vault = join(dir, "vault"), notes = join(dir, "notes");
const SESSIONS = 3;

// Each server, and the calls of its sessions.
const path = (i) => join(notes, `note-${i}.md`);
const days = Array.from({ length: 8 }, (_, i) => i);
const used = [
  { name: "files", command: ["mcp-server-filesystem", notes], calls: [
    ["list_directory", { path: notes }],
    ...days.map((i) => ["read_text_file", { path: path(i) }]),
    ["edit_file", { path: path(1), edits: [{ oldText: "# Note 1", newText: "# Note one" }] }],
    ["edit_file", { path: path(1), edits: [{ oldText: "# Note one", newText: "# Note 1" }] }],
    ["search_files", { path: notes, pattern: "*.md" }] ] },
  { name: "memory", command: ["mcp-server-memory"], env: { MEMORY_FILE_PATH: join(dir, "memory.jsonl") }, calls: [
    ["create_entities", { entities: [{ name: "notes", entityType: "folder", observations: ["has eight notes"] }] }],
    ["search_nodes", { query: "notes" }] ] },
  { name: "thinking", command: ["mcp-server-sequential-thinking"], calls: days.map((i) => ["sequentialthinking",
    { thought: `Step ${i}`, nextThoughtNeeded: i < 7, thoughtNumber: i + 1, totalThoughts: 8 }]) },
  { name: "browser", command: ["playwright-mcp"], calls: [] },
  { name: "github", command: ["mcp-server-github"], calls: [] },
];

mkdirSync(notes, { recursive: true });
for (const i of days) writeFileSync(path(i), `# Note ${i}\n\n` + `- [ ] call back the supplier about order 40${i}, before noon\n`.repeat(10 * (i + 1)));
try {
  for (const s of used)
    for (let n = 0; n < SESSIONS; n++) {
      const peer = new Peer(program, { name: s.name, vault, cwd: dir, env: s.env, command: [join(bin, s.command[0]), ...s.command.slice(1)] });
      await peer.start();
      await peer.tools();
      for (const [name, args] of s.calls) await peer.ask("tools/call", { name, arguments: args });
      await peer.end();
    }
  for (const args of [["cost"], ["cost", "files"]]) {
    console.log(`$ mcp-interposer ${args.join(" ")}`);
    console.log(execFileSync(program, [...args, "--vault", vault], { encoding: "utf8" }));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
