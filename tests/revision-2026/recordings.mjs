// A client of the 2.x SDK that calls every tool of `mcp-interposer mcp`, and writes down what it saw, as JSON. The SDK
// checks each structuredContent with the tool's outputSchema.
// Usage: recordings.mjs auto|legacy|DATE COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , mode, command, ...args] = process.argv;
const negotiation = { auto: { mode: "auto" }, legacy: { mode: "legacy" } }[mode] ?? { mode: { pin: mode } };
const client = new Client({ name: "reader", version: "1.0" }, { versionNegotiation: negotiation });
await client.connect(new StdioClientTransport({ command, args, stderr: "inherit", env: process.env }));
const call = async (name, args) => {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
  return isError ? content[0].text : structuredContent;
};

const { tools } = await client.listTools();
const [session] = (await call("list_sessions", { limit: 1 })).sessions;
const where = { session: session.id };
const calls = [];
for (let cursor = {}; cursor !== undefined; ) {
  const page = await call("list_calls", { ...where, limit: 2, ...cursor });
  calls.push(...page.calls);
  cursor = page.next_cursor && { cursor: page.next_cursor };
}
const [first] = calls;
console.log(JSON.stringify({
  server: client.getServerVersion()?.name,
  tools: tools.map(({ name }) => name),
  targets: calls.map(({ method, target }) => `${method} ${target ?? ""}`),
  call: (await call("get_call", { ...where, seq: first.seq })).answer?.body.type,
  found: (await call("search", { ...where, tool: "add", kind: "request" })).matches.length,
  groups: (await call("stats", where)).groups.map(({ tool, calls }) => `${tool} ${calls}`),
  findings: (await call("findings", where)).findings.map(({ finding }) => finding),
  differences: (await call("diff", { ...where, base: session.id })).rows,
  missing: await call("get_call", { session: 99, seq: 1 }),
}, null, 1));
await client.close();
