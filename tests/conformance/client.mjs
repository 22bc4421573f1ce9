// Usage: client.mjs URL. The client that the client scenarios ask for. It speaks stdio: its server is the bridge to
// URL, or with THROUGH=proxy the interposer with the bridge behind it. Which scenario it is stands in the environment.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const scenarios = {
  initialize: () => {}, // the handshake is all
  tools_call: () => client.callTool({ name: "add_numbers", arguments: { a: 5, b: 3 } }),
  "elicitation-sep1034-client-defaults": () => client.callTool({ name: "test_client_elicitation_defaults", arguments: {} }),
};
const run = scenarios[process.env.MCP_CONFORMANCE_SCENARIO];
const bridge = [process.execPath, "bridge.mjs", process.argv.at(-1)];
const proxy = [process.env.MCP_INTERPOSER, "proxy", "--validate", "protocol", "--"];
const [command, ...args] = process.env.THROUGH === "proxy" ? [...proxy, ...bridge] : bridge;

const client = new Client(
  { name: "conformance-client", version: "1.0.0" },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: {} }));
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
await run();
await client.close();
