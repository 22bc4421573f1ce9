// A server of 2026-07-28, and of the revisions before for those who begin with initialize.
import { McpServer, acceptedContent, fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const object = (properties, required = Object.keys(properties)) =>
  fromJsonSchema({ type: "object", properties, required });
const text = (t) => ({ content: [{ type: "text", text: t }] });
const name = object({ name: { type: "string" } });

serveStdio(() => {
  const server = new McpServer(
    { name: "modern", version: "1.0.0" },
    { capabilities: { tools: { listChanged: true }, resources: { listChanged: true }, prompts: {} } },
  );
  server.registerTool("echo", { description: "says it again", inputSchema: object({ text: { type: "string" } }) }, ({ text: t }) => text(t));
  server.registerTool(
    "add",
    {
      inputSchema: object({ a: { type: "integer" }, b: { type: "integer" } }),
      outputSchema: object({ sum: { type: "integer" } }),
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  );
  server.registerTool("ask", { description: "asks back", inputSchema: object({}) }, (_, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "who", name);
    if (answer === undefined)
      return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Name?", requestedSchema: name }) }, requestState: "s1" });
    return text(`hello ${answer.name}`);
  });
  const later = server.registerTool("later", { inputSchema: object({}) }, () => text("here"));
  later.disable();
  server.registerTool("more", { description: "adds a tool", inputSchema: object({}) }, () => {
    later.enable();
    return text("there is another one now");
  });
  server.registerResource("note", "note://one", { mimeType: "text/plain" }, (uri) => ({ contents: [{ uri: uri.href, text: "one" }] }));
  server.registerPrompt("greet", { argsSchema: name }, ({ name: n }) => ({
    messages: [{ role: "user", content: { type: "text", text: `hi ${n}` } }],
  }));
  return server;
});
