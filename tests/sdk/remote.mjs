// Servers with a URL: `wrap --remote` runs the official SDK's Streamable HTTP server through mcp-remote, as a client would.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { deadline, execute, within } from "./client.mjs";
import { Vault, same } from "./vault.mjs";

const KEY = "key-7f3a91c2";

// An MCP server on the loopback. Requests without the key get 401; `seen` are the keys of all messages. (mcp-remote first
// asks for the metadata of OAuth, without headers.)
async function listen(seen) {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    if (request.method === "POST") seen.push(request.headers["x-api-key"]);
    if (request.headers["x-api-key"] !== KEY) return void response.writeHead(401).end();
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (transport === undefined && id !== undefined) return void response.writeHead(404).end();
    if (transport === undefined) {
      const server = new McpServer({ name: "far", version: "1" });
      const add = { description: "adds", inputSchema: { a: z.number(), b: z.number() }, annotations: { readOnlyHint: true } };
      server.registerTool("add", add, ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
      }));
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await server.connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return { http, url: `http://127.0.0.1:${http.address().port}/mcp` };
}

function close(http) {
  http.closeAllConnections();
  http.close();
}

async function connect({ command, args, env, cwd }) {
  const transport = new StdioClientTransport({ command, args, env: { PATH: process.env.PATH, ...env }, cwd, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1" });
  const options = { timeout: deadline(15_000) }; // npx starts the server
  let stderr = "";
  transport.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  try {
    await client.connect(transport, options);
  } catch (error) {
    await transport.close();
    error.message += `\n  stderr: ${stderr.slice(-1000)}`;
    throw error;
  }
  return { client, options };
}

// What a client asks the server.
async function talk(server) {
  const { client, options } = await connect(server);
  try {
    const { tools } = await client.listTools(undefined, options);
    const good = await client.callTool({ name: "add", arguments: { a: 19, b: 23 } }, undefined, options);
    const bad = await client.callTool({ name: "add", arguments: { a: "x" } }, undefined, options);
    return { name: client.getServerVersion()?.name, tools, good, bad };
  } finally {
    await client.close();
  }
}

// test(name, check) as in main.mjs; cwd has node_modules, where npx finds mcp-remote.
export async function checkRemote({ interposer, root, settings, cwd, test }) {
  const dir = join(root, "remote");
  const home = join(dir, "home");
  const file = join(home, ".claude.json");
  const env = { ...settings, HOME: home, MCP_REMOTE_CONFIG_DIR: join(dir, "auth") };
  const vault = new Vault(join(dir, "vault"));
  const run = (...args) => execute(interposer, args, { cwd: home, env: { ...process.env, ...env } });
  const seen = [];
  const { http, url } = await listen(seen);
  const silent = createServer(() => {}); // never answers
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const silentUrl = `http://127.0.0.1:${silent.address().port}/mcp`;
  const text = JSON.stringify({
    numStartups: 1,
    mcpServers: {
      far: { type: "http", url, headers: { "X-API-Key": KEY } },
      silent: { url: `${silentUrl}?token=secret-in-query` },
      near: { command: "true" },
    },
  }, null, 2);
  await mkdir(home, { recursive: true });
  await writeFile(file, text);

  // The wrapped server, with another deadline.
  const wrapped = async (name, timeout) => {
    const { command, args } = JSON.parse(await readFile(file, "utf8")).mcpServers[name];
    same("the first argument", args[0], "proxy");
    return { command, args: ["proxy", "--on-hang", "kill-now", "--timeout", timeout, "--timeout", `initialize=${timeout}`, ...args.slice(1)], env, cwd };
  };

  let result, uid;
  try {
    await test("wrap without --remote leaves a URL alone, and says so", async () => {
      const { stdout } = await run("wrap", "--vault", vault.dir, "far", "silent");
      same("the file", await readFile(file, "utf8"), text);
      if (!stdout.includes("Servers not changed, because they have a URL: far, silent; wrap --remote connects")) throw new Error(stdout);
    });
    await test("wrap --remote: the client talks to the server of the URL, with its headers", async () => {
      await run("wrap", "--remote", "--vault", vault.dir);
      const { args } = JSON.parse(await readFile(file, "utf8")).mcpServers.far;
      const { version } = JSON.parse(await readFile(join(cwd, "node_modules/mcp-remote/package.json"), "utf8"));
      same("what is run", args.slice(args.indexOf("--") + 1), ["npx", "-y", `mcp-remote@${version}`, url, "--header", `X-API-Key: ${KEY}`]);
      result = await within(deadline(30_000), "the session", talk(await wrapped("far", "10m")));
      same("the server", { name: result.name, tools: result.tools.map((t) => t.name) }, { name: "far", tools: ["add"] });
      same("the results", [result.good.content[0].text, result.bad.isError], ["42", true]);
      same("messages without the key", { all: seen.length > 3, without: seen.filter((key) => key !== KEY) }, { all: true, without: [] });
    });
    await test("wrap --remote: the session is recorded, without the value of the header", async () => {
      const session = await vault.session("far");
      uid = session.uid;
      const methods = await vault.query(`SELECT method FROM invocations WHERE session_id = ${session.id} ORDER BY request_seq`);
      same("calls", methods.map((row) => row.method), ["initialize", "tools/list", "tools/call", "tools/call"]);
      if (JSON.stringify(session).includes(KEY)) throw new Error(`the key is in the row of the session: ${JSON.stringify(session)}`);
    });
    await test("wrap --remote: replayed without the server", async () => {
      const replayed = await talk({ command: interposer, args: ["replay", "--vault", vault.dir, uid ?? "none"], env, cwd });
      same("the answers", replayed, result);
    });
    await test("wrap --remote: verify finds the same answers", async () => {
      const { args } = await wrapped("far", "10m");
      const server = args.slice(args.indexOf("--") + 1);
      const { stdout } = await execute(interposer, ["verify", "--verbose", "--vault", vault.dir, uid ?? "none", "--", ...server], {
        cwd, env: { ...process.env, ...env }, timeout: deadline(15_000),
      });
      if (!/tools\/call add/.test(stdout)) throw new Error(`no call was compared: ${stdout}`);
    });
    await test("wrap --remote: a URL that does not answer is named in the error", async () => {
      const error = await connect(await wrapped("silent", "3s")).then(() => ({}), (error) => error);
      const wanted = `the server silent (${silentUrl}) did not answer initialize within`;
      if (!String(error.message).includes(wanted) || String(error.message).includes("secret-in-query")) throw new Error(`${error.message}`);
      same("its cause", error.data?.cause, "hang");
    });
    await test("unwrap restores the entries with URLs", async () => {
      await run("unwrap");
      same("the file", await readFile(file, "utf8"), text);
    });
  } finally {
    close(http);
    close(silent);
    vault.database.close();
  }
}
