// A client of the 2.x SDK that uses what a server has, and writes down what it saw, as JSON.
// Usage: client.mjs auto|legacy|DATE COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , mode, command, ...args] = process.argv;
const negotiation = { auto: { mode: "auto" }, legacy: { mode: "legacy" } }[mode] ?? { mode: { pin: mode } };
const seen = [];
const client = new Client(
  { name: "modern test", version: "1.0" },
  { capabilities: { elicitation: {} }, versionNegotiation: negotiation },
);
client.setRequestHandler("elicitation/create", (request) => {
  seen.push(["asked", request.params.message]);
  return { action: "accept", content: { name: "Ada" } };
});
const changed = new Promise((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve("list_changed")));

async function note(what, call) {
  try {
    seen.push([what, await call()]);
  } catch (error) {
    seen.push([what, `${error.code}: ${error.message}`]);
  }
}
const within = (ms, promise) =>
  Promise.race([promise, new Promise((resolve) => setTimeout(resolve, ms, "nothing").unref())]);

await client.connect(new StdioClientTransport({ command, args, stderr: "inherit", env: process.env }));
seen.push(["version", client.getServerVersion()?.name]);
await note("tools", async () => (await client.listTools()).tools.map((t) => t.name).sort());
await note("echo", async () => (await client.callTool({ name: "echo", arguments: { text: "é \u2028 💩" } })).content);
await note("add", async () => (await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).structuredContent);
await note("bad", async () => (await client.callTool({ name: "add", arguments: { a: "x" } })).isError);
await note("ask", async () => (await client.callTool({ name: "ask", arguments: {} })).content);
await note("resources", async () => (await client.listResources()).resources.map((r) => r.uri));
await note("read", async () => (await client.readResource({ uri: "note://one" })).contents);
await note("prompt", async () => (await client.getPrompt({ name: "greet", arguments: { name: "Ada" } })).messages);
if (mode !== "legacy") {
  let stream;
  await note("listen", async () => {
    stream = await client.listen({ toolsListChanged: true });
    return "acknowledged";
  });
  await note("more", async () => (await client.callTool({ name: "more", arguments: {} })).content);
  await note("changed", () => within(30_000, changed));
  await note("tools after", async () => (await client.listTools()).tools.map((t) => t.name).sort());
  await note("closed", async () => {
    await stream?.close();
    return "closed";
  });
}
await client.close();
console.log(JSON.stringify(seen, null, 1));
