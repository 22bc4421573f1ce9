// `check` on the recordings of official clients and servers, as in CI: it finds the recorded findings again, from the
// vault and from cassettes without findings; findings of servers are at most notes; SARIF is valid by its schema, and
// JUnit is XML.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import Ajv from "ajv";
import addFormats from "ajv-formats";
import { deadline, execute, outcome } from "./client.mjs";
import { same } from "./vault.mjs";

const NOT_OF_THE_PROTOCOL = ["tool-error"]; // found only by the proxy

// The schema is draft-04, but valid as draft-07; one of its patterns is invalid with the flag `u`.
async function sarifValidator() {
  const file = join(createRequire(import.meta.url).resolve("@microsoft/jest-sarif"), "../schemas/sarif-2.1.0-rtm.5.json");
  const { $schema, id, ...schema } = JSON.parse(await readFile(file, "utf8"));
  const ajv = new Ajv({ strict: false, unicodeRegExp: false });
  addFormats(ajv);
  return ajv.compile(schema);
}

async function assertXml(text) {
  const python = spawn("python3", ["-c", "import sys, xml.etree.ElementTree as x; x.parse(sys.stdin.buffer)"], { stdio: ["pipe", "ignore", "inherit"] });
  python.stdin.end(text);
  const [status] = await once(python, "close");
  same("the status of an XML parser", status, 0);
}

export async function checkRecordings({ interposer, vault, names, root, test }) {
  const sessions = [];
  const files = [];
  async function run(args, status) {
    const done = await outcome(interposer, ["check", "--vault", vault.dir, ...args], { timeout: deadline(15_000) }); // all sessions
    if (done.code !== status) throw new Error(`check ${args.slice(0, 4).join(" ")} … ended with ${done.code}, not ${status}: ${done.stderr}`);
    return done.stdout;
  }
  const found = async (operands) =>
    JSON.parse(await run(["--format", "json", ...operands], 1)).recordings.map((r) =>
      r.findings.map(({ seq, from, finding }) => `${seq} ${from} ${finding}`));
  const noted = (rows, without) =>
    rows.flatMap((r) =>
      (r.finding ?? "").split(",").filter((name) => name !== "" && !without.includes(name)).map((name) => `${r.seq} ${r.direction === "c2s" ? "client" : "server"} ${name}`));

  await test("check: the sessions have what was noted", async () => {
    for (const name of names) {
      const session = await vault.session(name);
      sessions.push({ uid: session.uid, rows: await vault.messages(session) });
    }
    const all = await found(sessions.map((s) => s.uid));
    sessions.forEach(({ uid, rows }, i) => same(uid, all[i], noted(rows, [])));
  });
  await test("check --only server --fail-on warning: nothing in any of them", () => run(["--only", "server", "--fail-on", "warning", ...sessions.map((s) => s.uid)], 0));
  await test("check: cassettes without their notes have the same, by the rules alone", async () => {
    for (const { uid } of sessions) {
      const file = join(root, `of ${uid}.jsonl`);
      await execute(interposer, ["export", "--vault", vault.dir, "-o", file, uid]);
      const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
      await writeFile(file, lines.map((line) => JSON.stringify({ ...JSON.parse(line), finding: undefined }) + "\n").join(""));
      files.push(file);
    }
    const all = await found(files);
    sessions.forEach(({ uid, rows }, i) => same(uid, all[i], noted(rows, NOT_OF_THE_PROTOCOL)));
  });
  await test("check --format sarif: valid by the schema of SARIF 2.1.0", async () => {
    const valid = await sarifValidator();
    for (const operands of [sessions.map((s) => s.uid), files]) {
      const log = JSON.parse(await run(["--format", "sarif", ...operands], 1));
      if (!valid(log)) throw new Error(JSON.stringify(valid.errors));
      same("there are results", log.runs[0].results.length > 50, true);
    }
  });
  await test("check --format junit: well-formed XML", async () => {
    for (const operands of [sessions.map((s) => s.uid), files]) await assertXml(await run(["--format", "junit", ...operands], 1));
  });
}
