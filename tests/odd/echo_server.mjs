// A server with the official SDK whose tool answers with what it read.
// Usage: echo_server.mjs MAJOR
import { describe, sdk } from "./odd_sdk.mjs";

const { Server, StdioServerTransport, CALL } = sdk(process.argv[2]);
const server = new Server({ name: "echo", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(CALL, ({ params }) => ({
  content: [{ type: "text", text: params.name === "pid" ? String(process.pid) : describe(params.arguments) }],
}));
await server.connect(new StdioServerTransport());
