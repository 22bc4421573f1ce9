// The findings in the traffic of the official SDK, servers and Inspector, and why each is correct. Any other finding
// is a defect of the interposer, and an entry that is never found must be removed. docs/findings.md has the same
// list.
//
// This file decides independently whether a message must have a finding, from the message and the previous ones;
// ajv checks the schemas of tools.

import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isDeepStrictEqual } from "node:util";

// The sender, the name of the finding, the reason, and a function that detects it.
export const TRUE = [
  {
    from: "server",
    finding: "tool-error",
    why: "A tool reports that it failed. These calls are wrong on purpose.",
    is: (m) => m.result?.isError === true,
  },
  {
    from: "client",
    finding: "unknown-method",
    why: "The SDK's client sends any method that it is given.",
    is: (m) => /no.such/.test(m.method ?? ""),
  },
  {
    from: "client",
    finding: "undeclared-capability",
    why: "The SDK's client uses capabilities that the server has not declared, unless it is created with `enforceStrictCapabilities`.",
    is: (m, seen) => m.id !== undefined && NEEDS[m.method?.split("/")[0]] !== undefined && !seen.capabilities[NEEDS[m.method.split("/")[0]]],
  },
  {
    from: "client",
    finding: "invalid-params",
    why: "The SDK's client sends the params that it is given, without checking them.",
    is: (m) =>
      Object.entries(REQUIRED[m.method] ?? {}).some(([name, type]) => !isOf(type, m.params?.[name])) ||
      (m.method === "logging/setLevel" && !LEVELS.includes(m.params?.level)),
  },
  {
    from: "client",
    finding: "unknown-tool",
    why: "The SDK's client and the Inspector call any tool that they are given.",
    is: (m, seen) => m.method === "tools/call" && seen.whole && !seen.tools.has(m.params?.name),
  },
  {
    from: "client",
    finding: "invalid-arguments",
    why: "Neither the SDK's client nor the Inspector checks arguments against the tool's `inputSchema`: the server does.",
    is: (m, seen) => m.method === "tools/call" && seen.tools.has(m.params?.name) && !seen.tools.get(m.params.name).fits(m.params.arguments ?? {}),
  },
  {
    from: "server",
    finding: "large-result",
    why: "Some calls ask for results of more than 25,000 tokens on purpose.",
    // No result of these servers is near this limit. A run of one character has few tokens.
    is: (m) =>
      [...(m.result?.content ?? []), ...(m.result?.contents ?? [])].map(({ text }) => (text ?? "").replace(/(.)\1+/gs, "$1")).join("").length > 80_000,
  },
];

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const NEEDS = { tools: "tools", resources: "resources", prompts: "prompts", completion: "completions", logging: "logging" };
const REQUIRED = {
  "tools/call": { name: "string", arguments: "object?" },
  "prompts/get": { name: "string", arguments: "object?" },
  "resources/read": { uri: "string" },
  "resources/subscribe": { uri: "string" },
  "completion/complete": { ref: "object", argument: "object" },
  "logging/setLevel": { level: "string" },
  "tasks/get": { taskId: "string" },
};
function isOf(type, value) {
  if (value === undefined) return type.endsWith("?");
  return typeof value === type.replace("?", "") && value !== null && !Array.isArray(value);
}

const FORMATS = ["date-time", "date", "uri", "email", "uuid"]; // the formats that the interposer checks
function dialect(ajv) {
  addFormats(ajv, FORMATS);
  ajv.opts.validateFormats = true;
  for (const format of ["uri-reference", "time", "duration", "ipv4", "ipv6", "hostname", "regex"]) ajv.addFormat(format, true);
  return ajv;
}
const DRAFT_07 = dialect(new Ajv({ strict: false }));
const DRAFT_2020 = dialect(new Ajv2020({ strict: false }));
const validators = new Map(); // by the schema's text: each server lists the same tools in every session
function validator(schema) {
  const text = JSON.stringify(schema);
  if (!validators.has(text)) validators.set(text, (/draft-07/.test(schema.$schema ?? "") ? DRAFT_07 : DRAFT_2020).compile(schema));
  return validators.get(text);
}

// The state of a session.
class Seen {
  capabilities = {};
  tools = new Map();
  whole = false;
  asked = new Map();

  add(m, way) {
    if (m.method !== undefined && m.id !== undefined) this.asked.set(way + JSON.stringify(m.id), m);
    if (m.method === "notifications/tools/list_changed") this.forget();
    if (m.result === undefined) return;
    const request = this.asked.get((way === "c2s" ? "s2c" : "c2s") + JSON.stringify(m.id));
    if (request?.method === "initialize") this.capabilities = m.result.capabilities;
    if (request?.method === "tools/list") this.list(m.result, request.params?.cursor);
  }

  list({ tools, nextCursor }, cursor) {
    if (cursor === undefined) this.forget();
    for (const { name, inputSchema } of tools) this.tools.set(name, { fits: validator(inputSchema) });
    this.whole = nextCursor === undefined;
  }

  forget() {
    this.tools.clear();
    this.whole = false;
  }
}

const met = new Set();

// The expected findings of each of these rows of the vault, as names in order.
export function truth(rows) {
  const seen = new Seen();
  return rows.map((row) => {
    if (row.kind === "stderr" || row.origin === "interposer") return [];
    const m = JSON.parse(row.body);
    const from = row.direction === "c2s" ? "client" : "server";
    const here = TRUE.filter((t) => t.from === from && t.is(m, seen));
    for (const t of here) met.add(t);
    seen.add(m, row.direction);
    return here.map((t) => t.finding).sort();
  });
}

// Throws at the first row with wrong findings. `more`: additional names that are allowed.
export function checkFindings(rows, more = []) {
  const wanted = truth(rows);
  rows.forEach((row, i) => {
    const got = (row.finding ?? "").split(",").filter((name) => name !== "" && !more.includes(name)).sort();
    if (!isDeepStrictEqual(got, wanted[i]))
      throw new Error(`seq ${row.seq} (${row.direction}): found ${JSON.stringify(got)}, true is ${JSON.stringify(wanted[i])}: ${String(row.body).slice(0, 300)}`);
  });
}

export const neverMet = () => TRUE.filter((t) => !met.has(t)).map((t) => `${t.from}: ${t.finding}`);
