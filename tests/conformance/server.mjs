// The server of the scenarios for revisions with a handshake, with the official SDK.
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as is from "@modelcontextprotocol/sdk/types.js";
import * as have from "./fixtures.mjs";
import { none, strings, text } from "./fixtures.mjs";
import { stdioOf } from "./stdio.mjs";

const server = new Server(
  { name: "conformance", version: "1.0.0" },
  { capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} } },
);

async function elicit(message, requestedSchema) {
  const { action, content } = await server.elicitInput({ message, requestedSchema });
  return [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)];
}
const titled = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }));
const options = ["option1", "option2", "option3"];

const tools = {
  ...have.tools,
  test_tool_with_logging: ["Three log messages", none, async (_, { sendNotification }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await sendNotification({ method: "notifications/message", params: { level: "info", logger: "tools", data } });
      await sleep(50);
    }
    return [text("Logged three times.")];
  }],
  test_tool_with_progress: ["Three reports of progress", none, async (_, { sendNotification, _meta }) => {
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: _meta?.progressToken, progress, total: 100 };
      if (params.progressToken !== undefined) await sendNotification({ method: "notifications/progress", params });
      await sleep(50);
    }
    return [text("Reported three times.")];
  }],
  test_sampling: ["Asks the client's model", strings("prompt"), async ({ prompt }) => {
    const { content } = await server.createMessage({ messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 });
    return [text(`LLM response: ${content.text}`)];
  }],
  test_elicitation: ["Asks the user", strings("message"), ({ message }) => elicit(message, strings("username", "email"))],
  test_elicitation_sep1034_defaults: ["Asks the user, with defaults", none, () => elicit("Defaults", {
    type: "object",
    properties: {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  })],
  test_elicitation_sep1330_enums: ["Asks the user to choose", none, () => elicit("Choices", {
    type: "object",
    properties: {
      untitledSingle: { type: "string", enum: options },
      titledSingle: { type: "string", oneOf: titled(["value1", "First"], ["value2", "Second"]) },
      legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
      untitledMulti: { type: "array", items: { type: "string", enum: options } },
      titledMulti: { type: "array", items: { anyOf: titled(["value1", "First"], ["value2", "Second"]) } },
    },
  })],
  // Over HTTP this one would close its stream; there is none to close here, and the bridge keeps its own.
  test_reconnection: ["Answers", none, () => [text("Still here.")]],
};

// What the client asked for, or the error that it does not exist.
function known(table, key) {
  if (!Object.hasOwn(table, key)) throw new is.McpError(is.ErrorCode.InvalidParams, `unknown: ${key}`);
  return table[key];
}
function read(uri) {
  const contents = have.contents(uri);
  if (contents === undefined) throw new is.McpError(is.ErrorCode.InvalidParams, `unknown: ${uri}`);
  return { contents };
}

server.setRequestHandler(is.ListToolsRequestSchema, () => ({ tools: have.toolList(tools) }));
server.setRequestHandler(is.CallToolRequestSchema, async ({ params }, extra) => {
  const [, , call] = known(tools, params.name);
  try {
    return { content: await call(params.arguments ?? {}, extra) };
  } catch (e) {
    return { isError: true, content: [text(e.message)] };
  }
});
server.setRequestHandler(is.ListResourcesRequestSchema, () => ({ resources: have.resourceList }));
server.setRequestHandler(is.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: have.templateList }));
server.setRequestHandler(is.ReadResourceRequestSchema, ({ params }) => read(params.uri));
server.setRequestHandler(is.SubscribeRequestSchema, ({ params }) => read(params.uri) && {});
server.setRequestHandler(is.UnsubscribeRequestSchema, ({ params }) => read(params.uri) && {});
server.setRequestHandler(is.ListPromptsRequestSchema, () => ({ prompts: have.promptList(have.prompts) }));
server.setRequestHandler(is.GetPromptRequestSchema, ({ params }) => {
  const [, content] = known(have.prompts, params.name);
  return { messages: have.messages(content(params.arguments ?? {})) };
});
server.setRequestHandler(is.CompleteRequestSchema, ({ params }) => ({ completion: have.completion(params.argument.value) }));

const { input, output } = stdioOf(import.meta.url);
await server.connect(new StdioServerTransport(input, output));
