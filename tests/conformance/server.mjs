// The server that the conformance scenarios ask for: the tools, resources and prompts they name, on stdin and stdout.
// What each must answer stands in the descriptions of the scenarios (`conformance server` prints one when it fails).
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import * as is from "@modelcontextprotocol/sdk/types.js";

// A red pixel, and a tenth of a millisecond of silence.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==";

const text = (t) => ({ type: "text", text: t });
const image = { type: "image", data: png, mimeType: "image/png" };
const resource = (uri, mimeType, t) => ({ type: "resource", resource: { uri, mimeType, text: t } });
const none = { type: "object", properties: {} };
const strings = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});
const titled = (...pairs) => pairs.map(([value, title]) => ({ const: value, title }));
const options = ["option1", "option2", "option3"];

const server = new Server(
  { name: "conformance", version: "1.0.0" },
  { capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} } },
);

async function elicit(message, requestedSchema) {
  const { action, content } = await server.elicitInput({ message, requestedSchema });
  return [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`)];
}

// A name: what the list says of the tool, and what a call gives.
const tools = {
  test_simple_text: ["Text", none, () => [text("This is a simple text response for testing.")]],
  test_image_content: ["An image", none, () => [image]],
  test_audio_content: ["A sound", none, () => [{ type: "audio", data: wav, mimeType: "audio/wav" }]],
  test_embedded_resource: ["A resource", none, () => [
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ]],
  test_multiple_content_types: ["Text, an image and a resource", none, () => [
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ]],
  test_tool_with_logging: ["Three log messages", none, async (_, { sendNotification }) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await sendNotification({ method: "notifications/message", params: { level: "info", logger: "tools", data } });
      await sleep(50);
    }
    return [text("Logged three times.")];
  }],
  test_error_handling: ["An error", none, () => {
    throw new Error("This tool intentionally returns an error for testing");
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
  json_schema_2020_12_tool: ["Keywords of 2020-12", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: { address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } } },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  }, () => [text("Valid.")]],
  // Over HTTP this one would close its stream; there is none to close here, and the bridge keeps its own.
  test_reconnection: ["Answers", none, () => [text("Still here.")]],
};

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: png },
  "test://watched-resource": { mimeType: "text/plain", text: "Nothing changes here." },
};

const user = (content) => ({ role: "user", content });
const prompts = {
  test_simple_prompt: [[], () => [text("This is a simple prompt for testing.")]],
  test_prompt_with_arguments: [["arg1", "arg2"], ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ]],
  test_prompt_with_embedded_resource: [["resourceUri"], ({ resourceUri }) => [
    resource(resourceUri, "text/plain", "Embedded resource content for testing."),
    text("Please process the embedded resource above."),
  ]],
  test_prompt_with_image: [[], () => [image, text("Please analyze the image above.")]],
};

// What the client asked for, or the error that it does not exist.
function known(table, key) {
  if (!Object.hasOwn(table, key)) throw new is.McpError(is.ErrorCode.InvalidParams, `unknown: ${key}`);
  return table[key];
}

server.setRequestHandler(is.ListToolsRequestSchema, () => ({
  tools: Object.entries(tools).map(([name, [description, inputSchema]]) => ({ name, description, inputSchema })),
}));
server.setRequestHandler(is.CallToolRequestSchema, async ({ params }, extra) => {
  const [, , call] = known(tools, params.name);
  try {
    return { content: await call(params.arguments ?? {}, extra) };
  } catch (e) {
    return { isError: true, content: [text(e.message)] };
  }
});
server.setRequestHandler(is.ListResourcesRequestSchema, () => ({
  resources: Object.entries(resources).map(([uri, { mimeType }]) => ({ uri, mimeType, name: uri.slice(7), description: uri })),
}));
server.setRequestHandler(is.ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }],
}));
server.setRequestHandler(is.ReadResourceRequestSchema, ({ params: { uri } }) => {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return { contents: [{ uri, ...known(resources, uri) }] };
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { contents: [{ uri, mimeType: "application/json", text: data }] };
});
server.setRequestHandler(is.SubscribeRequestSchema, ({ params }) => known(resources, params.uri) && {});
server.setRequestHandler(is.UnsubscribeRequestSchema, ({ params }) => known(resources, params.uri) && {});
server.setRequestHandler(is.ListPromptsRequestSchema, () => ({
  prompts: Object.entries(prompts).map(([name, [names]]) => ({
    name,
    description: name.replaceAll("_", " "),
    arguments: names.map((n) => ({ name: n, description: n, required: true })),
  })),
}));
server.setRequestHandler(is.GetPromptRequestSchema, ({ params }) => {
  const [, messages] = known(prompts, params.name);
  return { messages: messages(params.arguments ?? {}).map(user) };
});
server.setRequestHandler(is.CompleteRequestSchema, ({ params }) => {
  const values = ["test", "testing", "tested"].filter((word) => word.startsWith(params.argument.value));
  return { completion: { values, total: values.length, hasMore: false } };
});

await server.connect(new StdioServerTransport());
