// A rule for the tools: the official clients (SDK 1.x, and 2.x as it is for both kinds of server) and the Inspector see exactly the kept
// tools, in the order and form of the server, and are refused the others at once; a replay of the recording does the same.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as client2 from "@modelcontextprotocol/client";
import * as stdio2 from "@modelcontextprotocol/client/stdio";
import * as client1 from "@modelcontextprotocol/sdk/client/index.js";
import * as stdio1 from "@modelcontextprotocol/sdk/client/stdio.js";
import { deadline } from "./client.mjs";
import { cli } from "./inspector.mjs";
import { same } from "./vault.mjs";

const node = process.execPath;
const SDKS = {
  "SDK 1": {
    connect: () => new client1.Client({ name: "rule-test", version: "1" }),
    transport: (parameters) => new stdio1.StdioClientTransport(parameters),
    call: (client, tool, options) => client.callTool(tool, undefined, options),
  },
  "SDK 2": {
    connect: () => new client2.Client({ name: "rule-test", version: "2" }, { versionNegotiation: { mode: "auto" } }),
    transport: (parameters) => new stdio2.StdioClientTransport(parameters),
    call: (client, tool, options) => client.callTool(tool, options),
  },
};
const MODERN = fileURLToPath(new URL("modern.mjs", import.meta.url));
const RULES = [
  { server: "everything", rule: ["--tools", "echo,get-*", "--hide-tools", "get-env"], keeps: (t) => t.name === "echo" || (t.name.startsWith("get-") && t.name !== "get-env"),
    kept: { name: "echo", arguments: { message: "ünï ✓" } }, hidden: { name: "get-env", arguments: {} } },
  { server: "filesystem", rule: ["--read-only"], keeps: (t) => t.annotations?.readOnlyHint === true,
    kept: { name: "list_allowed_directories", arguments: {} }, hidden: { name: "write_file", arguments: { path: "x", content: "y" } } },
  { server: "modern", rule: ["--read-only", "--hide-tools", "look-*"], keeps: (t) => t.name === "look", sdks: ["SDK 2"],
    kept: { name: "look", arguments: { at: "ünï ✓" } }, hidden: { name: "write", arguments: {} } },
];

// What a client gets: the tools, the result of a kept one, the error of a hidden one.
async function ask(command, args, { sdk, env, cwd, list = true, kept, hidden }) {
  const client = sdk.connect();
  const transport = sdk.transport({ command, args, env, cwd, stderr: "ignore" });
  const options = { timeout: deadline(10_000) };
  await client.connect(transport, options);
  try {
    const tools = list ? (await client.listTools(undefined, options)).tools : [];
    const result = await sdk.call(client, kept, options);
    let error;
    try {
      await sdk.call(client, hidden, options);
    } catch (e) {
      error = { code: e.code, message: e.message, cause: e.data?.cause, tool: e.data?.tool };
    }
    return { tools, result, error };
  } finally {
    await client.close();
  }
}

async function checkSdk({ name, interposer, root, settings, program, test }, { server, rule, keeps, kept, hidden }) {
  const dir = join(root, `rule-${server}-${name.replace(" ", "")}`);
  await mkdir(dir, { recursive: true });
  const behind = (...args) => ["proxy", "--vault", join(dir, "vault"), "--name", server, ...args];
  const how = { sdk: SDKS[name], env: { ...settings, HOME: dir, PATH: process.env.PATH }, cwd: dir, kept, hidden };
  let direct, seen;
  await test(`rule: the client of ${server} sees the kept tools and is refused another (${name})`, async () => {
    direct = await ask(node, program, how);
    seen = await ask(interposer, behind(...rule, "--", node, ...program), how);
    const wanted = direct.tools.filter(keeps);
    if (wanted.length === 0 || wanted.length === direct.tools.length) throw new Error(`the rule hides ${direct.tools.length - wanted.length} tools`);
    same("tools", seen.tools, wanted);
    same("the result of a kept tool", seen.result, direct.result);
    same("the error of a hidden tool", [seen.error?.code, seen.error?.cause, seen.error?.tool], [-32602, "tool-hidden", hidden.name]);
  });
  await test(`rule: a replay of ${server} answers what the client saw (${name})`, async () => {
    const again = await ask(interposer, ["replay", "--vault", join(dir, "vault"), server], how);
    same("the replay", again, seen);
  });
  await test(`rule: a client of ${server} that asks for no list (${name})`, async () => {
    const asked = await ask(interposer, behind(...rule, "--", node, ...program), { ...how, list: false });
    same("result and error", [asked.result, asked.error?.cause], [direct.result, "tool-hidden"]);
  });
  return direct;
}

export async function checkRule({ interposer, root, settings, packages, test }) {
  for (const of of RULES) {
    const { server, rule, keeps, hidden, sdks = Object.keys(SDKS) } = of;
    const dir = join(root, `rule-${server}`);
    await mkdir(join(dir, "files"), { recursive: true });
    const program = server === "modern" ? [MODERN] : [`${packages}/server-${server}/dist/index.js`, ...(server === "filesystem" ? [join(dir, "files")] : [])];
    let direct;
    for (const name of sdks) direct = await checkSdk({ name, interposer, root, settings, program, test }, of);
    if (server === "modern") continue; // the Inspector has no client for it
    await test(`rule: the Inspector with ${server}`, async () => {
      const args = ["proxy", "--vault", join(dir, "vault"), "--name", server, ...rule, "--", node, ...program];
      const env = { ...settings, HOME: dir, PATH: process.env.PATH };
      await writeFile(join(dir, "mcp.json"), JSON.stringify({ mcpServers: { it: { command: interposer, args, env } } }));
      const inspect = (...words) => cli(`${packages}/inspector/clients/launcher/build/index.js`, ["--cli", "--config", join(dir, "mcp.json"), "--server", "it", "--quiet", "--method", ...words], env);
      const { stdout, code } = await inspect("tools/list");
      same("status", code, 0);
      const { tools } = JSON.parse(stdout); // the server may have more for a client with more capabilities
      same("hidden tools that it sees", tools.filter((t) => !keeps(t)), []);
      const names = tools.map((t) => t.name);
      same("kept tools that it does not see", direct.tools.filter(keeps).filter((t) => !names.includes(t.name)), []);
      const refused = await inspect("tools/call", "--tool-name", hidden.name, "--tool-args-json", JSON.stringify(hidden.arguments));
      if (refused.code === 0) throw new Error(`a hidden tool was called: ${refused.stdout}`);
    });
  }
}
