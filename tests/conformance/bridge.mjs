// Usage: bridge.mjs URL. The server of that URL on stdin and stdout; each message goes on as it is, in order.
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

// What the server asks by itself comes over a stream that the transport opens when the server has accepted (202) that
// the handshake is over. A server does not keep what it wants to ask before, so nothing else is sent until it has
// answered there, if only to say no.
let answered;
const listening = new Promise((done) => (answered = done));
let status;
const http = new StreamableHTTPClientTransport(new URL(process.argv[2]), {
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    if (init.method === "GET") answered();
    else status = response.status;
    return response;
  },
});
const stdio = new StdioServerTransport();
const trouble = (error) => console.error(`bridge: ${error.message}`);
http.onerror = trouble;
stdio.onerror = trouble;

http.onmessage = (message) => {
  if (message.result?.protocolVersion) http.setProtocolVersion(message.result.protocolVersion);
  stdio.send(message).catch(trouble);
};
async function forward(message) {
  await http.send(message);
  if (message.method === "notifications/initialized" && status === 202) await listening;
}
let last = Promise.resolve();
stdio.onmessage = (message) => (last = last.then(() => forward(message)).catch(trouble));
process.stdin.once("end", () => http.close());
await http.start();
await stdio.start();
