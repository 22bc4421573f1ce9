// A server with the official SDK that crashes on request. Usage: crashing.mjs STATE
// STATE is a file; each process that runs this appends a line to it.

import { appendFileSync, readFileSync } from "node:fs";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const state = process.argv[2];
appendFileSync(state, `${process.pid}\n`);
const incarnation = readFileSync(state, "utf8").trim().split("\n").length;
const text = (t) => ({ content: [{ type: "text", text: t }] });
const die = () => process.kill(process.pid, "SIGKILL");
const never = () => new Promise(() => {});

const server = new McpServer(
  { name: "crashing", version: "1.0.0" },
  { capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} } },
);
const subscribed = new Set();
server.registerTool("echo", { inputSchema: { message: z.string() }, annotations: { readOnlyHint: true } }, ({ message }) =>
  text(`${message}`));
server.registerTool("incarnation", { annotations: { readOnlyHint: true } }, () => text(`${incarnation}`));
server.registerTool("crash", { annotations: { destructiveHint: true } }, () => (die(), never()));
server.registerTool("crash-once", { annotations: { readOnlyHint: true } }, () =>
  incarnation % 2 === 1 ? (die(), never()) : text("done, by another"));
server.registerTool("slow", { annotations: { idempotentHint: true } }, async () => {
  await new Promise((done) => setTimeout(done, 100));
  return text("slow, and done");
});
server.registerTool("hang", {}, () => {
  for (;;); // the event loop is blocked
});
let mails = 0;
server.registerTool("mail", { inputSchema: { to: z.string() } }, () => (mails++, never()));
server.registerTool("mails", { annotations: { readOnlyHint: true } }, () => text(`${mails}`));
server.registerTool("say", {}, async () => {
  await server.server.sendLoggingMessage({ level: "info", data: "an info" });
  await server.server.sendLoggingMessage({ level: "error", data: "an error" });
  for (const uri of subscribed) await server.server.sendResourceUpdated({ uri });
  return text([...subscribed].sort().join(" "));
});
server.registerResource("note", "note:///one", {}, (uri) => ({ contents: [{ uri: uri.href, text: `one` }] }));
server.registerPrompt("greet", {}, () => ({ messages: [{ role: "user", content: { type: "text", text: "hello" } }] }));
server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => (subscribed.add(params.uri), {}));
server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}));
await server.connect(new StdioServerTransport());
