// The MCP Inspector's command line, which reads a file as clients have it (mcp.json): the same
// entries twice, once with the interposer in front of the command.

import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deadline } from "./client.mjs";
import { checkFindings } from "./findings.mjs";
import { same } from "./vault.mjs";

const node = process.execPath;

// name, the Inspector's arguments after --method, its exit status, the status of the invocation
// (null: it does not call that method)
const everything = [
  ["initialize", ["initialize"], 0, "ok"],
  ["tools/list", ["tools/list"], 0, "ok"],
  ["tools/call", ["tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=40"], 0, "ok"],
  ["tools/call with metadata", ["tools/call", "--tool-name", "echo", "--tool-args-json", '{"message":"ünï ✓ \\"q\\""}', "--tool-metadata", "who=me"], 0, "ok"],
  ["tools/call with bad arguments", ["tools/call", "--tool-name", "get-structured-content", "--tool-arg", "location=Atlantis"], 5, "tool-error"],
  ["tools/call of no tool", ["tools/call", "--tool-name", "no-such-tool"], 5, null],
  ["resources/list", ["resources/list"], 0, "ok"],
  ["resources/templates/list", ["resources/templates/list"], 0, "ok"],
  ["resources/read", ["resources/read", "--uri", "demo://resource/static/document/features.md"], 0, "ok"],
  ["resources/read of nothing", ["resources/read", "--uri", "demo://nowhere"], 1, "error"],
  ["prompts/list", ["prompts/list"], 0, "ok"],
  ["prompts/get", ["prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Paris", "state=Texas"], 0, "ok"],
  ["prompts/get without its argument", ["prompts/get", "--prompt-name", "args-prompt"], 1, "error"],
  ["logging/setLevel", ["logging/setLevel", "--log-level", "warning"], 0, "ok"],
  // Tries the newest revision first (server/discover), and falls back or fails.
  ["tools/list in era auto", ["tools/list", "--protocol-era", "auto"], 0, "ok"],
  ["tools/list in era modern", ["tools/list", "--protocol-era", "modern"], 1, null],
];
const filesystem = [
  ["tools/list", ["tools/list"], 0, "ok"],
  ["tools/call", ["tools/call", "--tool-name", "list_directory", "--tool-arg", "path=."], 0, "ok"],
  ["tools/call of a write", ["tools/call", "--tool-name", "write_file", "--tool-args-json", '{"path":"x.txt","content":"a\\n\\"b\\""}'], 0, "ok"],
  ["tools/call outside", ["tools/call", "--tool-name", "read_text_file", "--tool-arg", "path=/etc/passwd"], 5, "tool-error"],
  ["resources/list", ["resources/list"], 0, null], // not in its capabilities, so no request is sent
  ["prompts/list", ["prompts/list"], 0, null],
];
const memory = [
  ["tools/list", ["tools/list"], 0, "ok"],
  ["tools/call", ["tools/call", "--tool-name", "create_entities", "--tool-args-json", '{"entities":[{"name":"Ada","entityType":"person","observations":["x"]}]}'], 0, "ok"],
  ["tools/call with bad arguments", ["tools/call", "--tool-name", "open_nodes", "--tool-args-json", '{"names":7}'], 5, "tool-error"],
  ["resources/list", ["resources/list"], 0, "ok"],
  ["resources/read", ["resources/read", "--uri", "memory://knowledge-graph"], 0, "ok"],
  ["prompts/list", ["prompts/list"], 0, null],
];

// Without TEST_LONG=1 only these run: a call with a result, one with an error, a session without a call, the newest revision
// tried first, each server. The SDK's cases have the other methods, and the Inspector sends no others.
const SAMPLE = new Set([
  "everything tools/call with metadata", "everything prompts/get without its argument", "everything tools/list in era auto",
  "filesystem resources/list", "memory tools/list",
]);
// The Inspector and the servers of these are those of the packages, not bundles. Of server-everything, the case with npx is.
const PUBLISHED = new Set(["filesystem resources/list", "memory tools/list"]);

function entry(server, packages, dir) {
  const program = `${packages}/server-${server}/dist/index.js`;
  if (server === "filesystem") return { command: node, args: [program, dir] };
  if (server === "memory") return { command: node, args: [program], env: { MEMORY_FILE_PATH: join(dir, "memory.jsonl") } };
  return { command: node, args: [program] };
}

export const inspector_cases = Object.entries({ everything, filesystem, memory }).flatMap(([server, list]) =>
  list.map(([what, args, status, invocation]) => ({
    name: `inspector ${server} ${what}`, server, args, status, invocation, hasty: true, long: !SAMPLE.has(`${server} ${what}`),
    published: PUBLISHED.has(`${server} ${what}`),
  })),
);

export async function inspect({ name, server, args, status, invocation }, { packages, dir, env, interposer, vault, again, stored }) {
  const outputs = {};
  // Runs the Inspector with this command as its server, in the folder of the run.
  async function run(via, it, own) {
    const at = join(dir, via);
    await writeFile(join(at, "mcp.json"), JSON.stringify({ mcpServers: { it: { ...it, env: { ...env, ...own } } } }));
    const argv = ["--cli", "--config", join(at, "mcp.json"), "--server", "it", "--quiet", "--method", ...args];
    outputs[via] = await cli(`${packages}/inspector/clients/launcher/build/index.js`, argv, { ...env, HOME: dir, PATH: process.env.PATH });
    for (const stream of ["stdout", "stderr"]) outputs[via][stream] = outputs[via][stream].replaceAll(at, "<dir>");
  }
  const behind = (v, ...command) => ({ command: interposer, args: ["proxy", "--vault", v.dir, "--name", name, "--", ...command] });
  await Promise.all(
    ["direct", "interposed"].map(async (via) => {
      const at = join(dir, via);
      await mkdir(at, { recursive: true });
      const { command, args: rest, env: own } = entry(server, packages, at);
      await run(via, via === "direct" ? { command, args: rest } : behind(vault, command, ...rest), own);
    }),
  );
  await stored();
  const { direct, interposed } = outputs;
  function alike(a, b) {
    same("stdout", b.stdout.split("\n"), a.stdout.split("\n"));
    same("stderr", b.stderr.split("\n"), a.stderr.split("\n"));
    same("the exit status", b.code, a.code);
  }
  return {
    async transcript() {
      same("the exit status without the interposer", direct.code, status);
      alike(direct, interposed);
    },
    async replay() {
      const { uid } = await vault.session(name);
      await mkdir(join(dir, "replayed"));
      await run("replayed", behind(again, interposer, "replay", "--vault", vault.dir, uid));
      await stored();
      const at = join(dir, "interposed"); // the folder in the recorded server's messages
      for (const stream of ["stdout", "stderr"]) outputs.replayed[stream] = outputs.replayed[stream].replaceAll(at, "<dir>");
      alike(interposed, outputs.replayed);
    },
    async record() {
      const session = await vault.session(name);
      checkFindings(await vault.messages(session));
      const calls = await vault.invocations(session);
      const method = args[0];
      const rows = calls.filter((c) => c.method === method);
      same("the invocation's status", rows.at(-1)?.status ?? null, invocation);
      same("the log's lines", (await vault.log()).filter((l) => l.session === session.uid).length, calls.filter((c) => c.status !== "open").length);
      if (session.client_name !== null || method !== "tools/list") same("the client", session.client_name, "inspector-cli");
      if (invocation !== "ok" || method === "logging/setLevel") return;
      // The Inspector printed the recorded result.
      const answer = (await vault.messages(session)).find((m) => m.request_seq === rows.at(-1).request_seq);
      const { result } = JSON.parse(answer.body);
      const printed = JSON.parse(interposed.stdout);
      for (const key of Object.keys(printed)) same(`the recorded ${key}`, result[key], printed[key]);
    },
  };
}

// Runs the Inspector; kills and reports one that hangs.
export function cli(program, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [program, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"]) child[stream].setEncoding("utf8").on("data", (text) => (output[stream] += text));
    const ms = deadline(15_000);
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the Inspector did not end within ${ms} ms: ${args.join(" ")}\n  stdout: ${output.stdout.slice(-1000)}\n  stderr: ${output.stderr.slice(-1000)}`));
    }, ms);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ ...output, code: code ?? signal });
    });
  });
}
