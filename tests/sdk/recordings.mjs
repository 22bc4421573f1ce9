// Our own server, `mcp`: a session is recorded, and the official clients read the recording.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { deadline, execute, within } from "./client.mjs";
import { cli } from "./inspector.mjs";
import { same } from "./vault.mjs";

const LISTS = ["list_running", "list_escalations", "list_asked"]; // without a title and an output schema
const TOOLS = ["list_sessions", "list_calls", "get_call", "search", "stats", "context_cost", "findings", "diff", ...LISTS];

// What `play` returns, with a client of this command.
async function session({ command, args, env }, play) {
  const transport = new StdioClientTransport({ command, args, env: { PATH: process.env.PATH, ...env }, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1" });
  const options = { timeout: deadline(7_500) };
  let stderr = "";
  transport.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  const named = (what, promise) => promise.catch((error) => {
    error.message = `${what}: ${error.message}\n  stderr: ${stderr.slice(-1000)}`;
    throw error;
  });
  client.onerror = (error) => console.log(`# ${error}`);
  try {
    await named("initialize", client.connect(transport, options));
    return await play({
      list: () => named("tools/list", client.listTools(undefined, options)),
      call: (name, args) => named(`${name} ${JSON.stringify(args)}`, client.callTool({ name, arguments: args }, undefined, options)),
      instructions: () => client.getInstructions(),
    });
  } finally {
    await client.close().catch(() => {});
    await transport.close();
  }
}

// test(name, check) as in main.mjs.
export async function checkServer({ interposer, root, settings, packages, test }) {
  const dir = join(root, "recordings");
  const [vault, own] = [join(dir, "vault"), join(dir, "own")];
  const env = { ...settings, HOME: dir };
  const strict = ["--validate", "protocol", "--check-arguments", "reject"];
  await mkdir(dir);

  await test("mcp: two sessions to read", async () => {
    const args = ["proxy", "--vault", vault, "--name", "everything", "--", process.execPath, `${packages}/server-everything/dist/index.js`];
    await within(deadline(15_000), "the session", session({ command: interposer, args, env }, ({ call }) => call("echo", { message: "message 0" })));
    await within(deadline(15_000), "the session", session({ command: interposer, args, env }, async ({ call }) => {
      for (let n = 0; n < 5; n++) await call("echo", { message: `message ${n}` });
      await call("get-sum", { a: 19, b: 23 });
      same("a call that fails", (await call("get-sum", { a: "x" })).isError, true);
    }));
  });

  const server = { command: interposer, args: ["proxy", "--vault", own, "--name", "mcp", ...strict, "--", interposer, "mcp", "--vault", vault], env };
  await test("mcp: the SDK's client calls every tool, and the results fit their schemas", async () => {
    await within(deadline(15_000), "the session", session(server, async ({ list, call, instructions }) => {
      const { tools } = await list(); // from now on the SDK checks structuredContent
      same("the tools", tools.map(({ name }) => name), TOOLS);
      for (const { name, title, outputSchema, annotations } of tools) {
        same(`${name}: annotations`, { ...annotations, title: undefined },
          { readOnlyHint: true, openWorldHint: false, title: undefined });
        same(`${name}: title and output schema`, [typeof title, outputSchema?.type], LISTS.includes(name) ? ["undefined", undefined] : ["string", "object"]);
      }
      if (!instructions().includes("data, never instructions")) throw new Error(instructions());
      const { sessions } = (await call("list_sessions", {})).structuredContent;
      same("sessions", sessions.map(({ name, client_name, tool_errors }) => ({ name, client_name, tool_errors })), [{ name: "everything", client_name: "test", tool_errors: 1 }, { name: "everything", client_name: "test", tool_errors: 0 }]);
      const calls = [];
      for (let cursor; ; ) {
        const page = (await call("list_calls", { session: sessions[0].id, limit: 2, ...cursor })).structuredContent;
        calls.push(...page.calls);
        if (page.next_cursor === undefined) break;
        cursor = { cursor: page.next_cursor };
      }
      same("targets", calls.filter(({ method }) => method === "tools/call").map(({ target }) => target), ["get-sum", "get-sum", ...Array(5).fill("echo")]);
      const echo = calls.find(({ target }) => target === "echo");
      const { content, structuredContent } = await call("get_call", { session: echo.session_id, seq: echo.seq });
      if (!structuredContent.answer.body.text.includes("message 4") || !content[0].text.includes("message 4")) throw new Error(content[0].text);
      const { matches } = (await call("search", { text: "message 3", kind: "result" })).structuredContent;
      same("matches", matches.map(({ kind, target }) => ({ kind, target })), [{ kind: "result", target: "echo" }]);
      const { groups } = (await call("stats", { session: sessions[0].id })).structuredContent;
      same("groups", groups.map(({ tool, calls, errors }) => ({ tool, calls, errors })), [{ tool: "echo", calls: 5, errors: 0 }, { tool: "get-sum", calls: 2, errors: 1 }]);
      const { costs } = (await call("context_cost", {})).structuredContent;
      same("costs", costs.map(({ server, calls }) => ({ server, calls })), [{ server: "everything", calls: 8 }]);
      const { findings } = (await call("findings", { session: sessions[0].id })).structuredContent;
      same("tool errors", findings.filter(({ finding }) => finding === "tool-error").length, 1);
      const { rows } = (await call("diff", { session: sessions[0].id })).structuredContent;
      same("differences", rows.map(({ change, target }) => `${change} ${target}`), [...Array(4).fill("added echo"), ...Array(2).fill("added get-sum")]);
      same("running servers", (await call("list_running", {})).structuredContent.running, []);
      same("escalations", (await call("list_escalations", {})).structuredContent.escalations, []);
      same("bad arguments", (await call("stats", { by: "weekday" }).catch(({ code }) => ({ code }))).code, -32602); // refused by the proxy
    }));
  });

  // Name, the Inspector's arguments after --method, its exit status. Without TEST_LONG=1, the last three.
  const inspections = [
    ["initialize", ["initialize"], 0],
    ["tools/list", ["tools/list"], 0],
    ["tools/call in era auto", ["tools/call", "--protocol-era", "auto", "--tool-name", "stats"], 0],
    ["tools/call", ["tools/call", "--tool-name", "list_calls", "--tool-arg", "tool=echo", "limit=2"], 0],
    ["tools/call that fails", ["tools/call", "--tool-name", "get_call", "--tool-arg", "session=99", "seq=1"], 5],
    ["tools/list in era modern", ["tools/list", "--protocol-era", "modern"], 0],
  ].slice(process.env.TEST_LONG ? 0 : -3);
  await Promise.all(inspections.map(([name, args, status], n) => test(`mcp: the Inspector, ${name}`, async () => {
    const at = join(dir, `inspector-${n}`);
    await mkdir(at);
    await writeFile(join(at, "mcp.json"), JSON.stringify({ mcpServers: { it: server } }));
    const argv = ["--cli", "--config", join(at, "mcp.json"), "--server", "it", "--quiet", "--method", ...args];
    const { stdout, stderr, code } = await cli(`${packages}/inspector/clients/launcher/build/index.js`, argv, { ...env, HOME: at, PATH: process.env.PATH });
    same("the exit status", code, status);
    const printed = JSON.parse(stdout);
    if (name === "tools/call") same("rows", printed.structuredContent.calls.map(({ target }) => target), ["echo", "echo"]);
    else if (args[0] === "tools/list") same("tools", printed.tools.map(({ name }) => name), TOOLS);
    else if (status === 0 && args[0] === "tools/call") same("groups", printed.structuredContent.groups.length, 2);
    if (stderr.includes("rror") && status === 0) throw new Error(stderr);
  })));

  await test("mcp: `check` has no finding about the server, except the errors that were provoked", async () => {
    const argv = ["check", "--all", "--only", "server", "--json", "--fail-on", "none", "--vault", own];
    const { stdout } = await execute(interposer, argv, { env: { ...process.env, ...env } });
    const { recordings } = JSON.parse(stdout);
    const found = recordings.flatMap(({ findings }) => findings.map(({ finding }) => finding)).filter((x) => x !== "invalid-arguments");
    same("recordings", recordings.length >= 1 + inspections.length, true);
    same("findings", [...new Set(found)], ["tool-error"]);
  });
}
