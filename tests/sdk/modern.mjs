// A server of the 2.x SDK, for clients of 2026-07-28 and of the revisions before.
import { McpServer, fromJsonSchema } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const empty = fromJsonSchema({ type: "object", properties: {} });
const text = (t) => ({ content: [{ type: "text", text: t }] });

serveStdio(() => {
  const server = new McpServer({ name: "modern", version: "1.0.0" }, { capabilities: { tools: {} } });
  const reads = { readOnlyHint: true };
  server.registerTool("write", { inputSchema: empty }, () => text("written"));
  server.registerTool("look", { annotations: reads, inputSchema: fromJsonSchema({ type: "object", properties: { at: { type: "string" } } }) }, ({ at }) => text(`at ${at}`));
  server.registerTool("look-away", { annotations: reads, inputSchema: empty }, () => text("away"));
  return server;
});
