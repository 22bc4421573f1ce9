// Records lists of tools and results through the interposer, and compares `cost` with real tokenizers.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { getEncoding } from "js-tiktoken";
import { Peer } from "./peer.mjs";
import { servers } from "./servers.mjs";
import { texts } from "./texts.mjs";

const SUM_MAX = 0.1; // error of the sum of a server's definitions
const MEDIAN_MAX = 0.15; // median error of its single definitions
// Error of the sum of the results of a kind, beyond the figures of both o200k_base and cl100k_base: of one text in Chinese,
// the second makes 1.4 times as many tokens as the first.
const RESULTS_MAX = 0.15;

const program = resolve(process.env.MCP_INTERPOSER);
delete process.env.MCP_INTERPOSER; // for the program it is a setting
const bin = resolve("node_modules/.bin");
const dir = mkdtempSync(join(process.env.TMPDIR ?? tmpdir(), "context-"));
const vault = join(dir, "vault");
let passed = 0, failed = 0;

function report(good, name, why = "") {
  console.log(`${good ? "ok" : "not ok"} - ${name}${good ? "" : `: ${why}`}`);
  good ? passed++ : failed++;
}

async function tokenizers() {
  const all = {};
  for (const name of ["o200k_base", "cl100k_base"]) {
    const encoding = getEncoding(name);
    all[name] = (text) => encoding.encode(text, "all").length;
  }
  if (process.env.TEST_LONG === "1") {
    const { countTokens } = await import("@anthropic-ai/tokenizer");
    const { default: llama } = await import("llama3-tokenizer-js");
    all.claude = countTokens;
    all.llama3 = (text) => llama.encode(text, { bos: false, eos: false }).length;
  }
  return all;
}

const cost = (...args) => execFileSync(program, ["cost", "--json", "--vault", vault, ...args], { encoding: "utf8" })
  .trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
const sum = (list) => list.reduce((a, b) => a + b, 0);
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];
const percent = (x) => `${(100 * x).toFixed(1)} %`;

function home(name) {
  const path = join(dir, name);
  mkdirSync(path, { recursive: true });
  return path;
}

// The members of a definition that `cost` counts, in the order in which they were sent.
const COUNTED = ["name", "description", "inputSchema", "outputSchema", "annotations"];
const counted = (tool) => JSON.stringify(Object.fromEntries(Object.entries(tool).filter(([name]) => COUNTED.includes(name))));

async function definitions(counts) {
  console.log(`# ${"server".padEnd(20)} tools ${Object.keys(counts).map((n) => `${n}: tokens, error, median`.padStart(36)).join("")}`);
  for (const s of servers) {
    let tools;
    try {
      const cwd = home(`home-${s.name}`);
      const peer = new Peer(program, { name: s.name, vault, cwd, env: s.env, command: [join(bin, s.bin), ...(s.args ?? [])] });
      await peer.start();
      tools = await peer.tools();
      await peer.end();
    } catch (error) {
      report(false, `definitions of ${s.name}`, error.message);
      continue;
    }
    const estimates = Object.fromEntries(cost(s.name).map((row) => [row.tool, row.definition_tokens]));
    const figures = Object.entries(counts).map(([name, count]) => {
      const real = tools.map((tool) => count(counted(tool)));
      const off = tools.map((tool, i) => Math.abs(estimates[tool.name] / real[i] - 1));
      return { name, real: sum(real), error: sum(tools.map((tool) => estimates[tool.name])) / sum(real) - 1, median: median(off) };
    });
    console.log(`# ${(s.name + (s.held ? " *" : "")).padEnd(20)} ${String(tools.length).padStart(5)} ` +
      figures.map((f) => `${f.real}, ${percent(f.error)}, ${percent(f.median)}`.padStart(36)).join(""));
    const wrong = figures.filter((f) => !(Math.abs(f.error) <= SUM_MAX && f.median <= MEDIAN_MAX));
    report(wrong.length === 0, `definitions of ${s.name}`, wrong.map((f) => `${f.name} ${percent(f.error)}, ${percent(f.median)}`).join("; "));
  }
}

// Each kind of text is read from files, by one session of the filesystem server.
async function results(counts) {
  console.log(`# ${"results".padEnd(20)} texts ${Object.keys(counts).map((n) => `${n}: tokens, error`.padStart(36)).join("")}`);
  for (const [kind, list] of Object.entries(texts())) {
    const cwd = home(`texts-${kind}`);
    const peer = new Peer(program, { name: `results-${kind}`, vault, cwd, command: [join(bin, "mcp-server-filesystem"), cwd] });
    await peer.start();
    const got = [];
    for (const [i, text] of list.entries()) {
      writeFileSync(join(cwd, `${i}.txt`), text);
      const { content } = await peer.ask("tools/call", { name: "read_text_file", arguments: { path: join(cwd, `${i}.txt`) } });
      got.push(content.map((c) => c.text).join("\n"));
    }
    await peer.end();
    const [row] = cost("--server", `results-${kind}`);
    const figures = Object.entries(counts).map(([name, count]) => {
      const real = sum(got.map((text) => count(text)));
      return { name, real, error: row.result_tokens / real - 1 };
    });
    console.log(`# ${kind.padEnd(20)} ${String(list.length).padStart(5)} ` + figures.map((f) => `${f.real}, ${percent(f.error)}`.padStart(36)).join(""));
    const both = figures.filter((f) => f.name.endsWith("_base")).map((f) => f.real);
    const good = row.result_tokens >= (1 - RESULTS_MAX) * Math.min(...both) && row.result_tokens <= (1 + RESULTS_MAX) * Math.max(...both);
    report(row.uncounted === 0 && good, `results: ${kind}`, `${row.result_tokens} estimated, ${row.uncounted} not counted`);
  }
}

try {
  const counts = await tokenizers();
  const only = process.argv[2];
  if (only !== "results") await definitions(counts);
  if (only !== "definitions") await results(counts);
} finally {
  if (failed > 0) console.log(`# the vault: ${vault}`);
  else rmSync(dir, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
