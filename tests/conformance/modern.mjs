// The server of the scenarios for revision 2026-07-28, written out: the bridge starts it anew for each request that
// does not go on with an earlier one, so it has to start quickly.
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import * as have from "./fixtures.mjs";
import { none, strings, text } from "./fixtures.mjs";
import { stdioOf } from "./stdio.mjs";

const REVISION = "2026-07-28";
const meta = (key) => `io.modelcontextprotocol/${key}`;
const { input, output } = stdioOf(import.meta.url);
const say = (message) => output.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
class Refusal extends Error {
  constructor(code, message, data) {
    super(message);
    Object.assign(this, { code, data });
  }
}

// ---- results that ask

const form = (message, schema) => ({ method: "elicitation/create", params: { mode: "form", message, requestedSchema: schema } });
const sample = (t, maxTokens) => ({ method: "sampling/createMessage", params: { messages: [{ role: "user", content: text(t) }], maxTokens } });
const roots = { method: "roots/list", params: {} };
const askName = form("What is your name?", strings("name"));
const askOk = form("Please confirm", { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] });
const ask = (inputRequests, requestState) => ({ resultType: "input_required", inputRequests, requestState });
const done = (...content) => ({ content });
const answered = (params, ...keys) => keys.every((key) => typeof params.inputResponses?.[key] === "object");

const asking = {
  elicitation: (params) => {
    const name = params.inputResponses?.user_name?.content?.name;
    return typeof name === "string" ? done(text(`Hello, ${name}!`)) : ask({ user_name: askName });
  },
  sampling: (params) =>
    answered(params, "capital_question")
      ? done(params.inputResponses.capital_question.content)
      : ask({ capital_question: sample("What is the capital of France?", 100) }),
  list_roots: (params) =>
    answered(params, "client_roots") ? done(text(JSON.stringify(params.inputResponses.client_roots))) : ask({ client_roots: roots }),
  request_state: (params) =>
    answered(params, "confirm") && params.requestState === "given" ? done(text("state-ok")) : ask({ confirm: askOk }, "given"),
  multiple_inputs: (params) =>
    answered(params, "user_name", "greeting", "client_roots")
      ? done(text("Thank you."))
      : ask({ user_name: askName, greeting: sample("Generate a greeting", 50), client_roots: roots }, "three"),
  multi_round: ({ requestState }) => {
    if (requestState === "second") return done(text("That is all."));
    if (requestState === "first") return ask({ step2: form("Step 2: What is your favorite color?", strings("color")) }, "second");
    return ask({ step1: form("Step 1: What is your name?", strings("name")) }, "first");
  },
  tampered_state: ({ requestState }) => {
    if (requestState === undefined) return ask({ confirm: askOk }, "sealed");
    if (requestState !== "sealed") throw new Refusal(-32602, "the requestState was changed");
    return done(text("It was not changed."));
  },
  capabilities: (_, client) => ask({
    ...(client.sampling && { model: sample("Hello", 10) }),
    ...(client.elicitation && { user: askName }),
  }),
};

// ---- tools: a description, a schema, and what gives the whole result

const call = (name) => {
  const [description, schema, content] = have.tools[name];
  return [name, [description, schema, () => {
    try {
      return done(...content());
    } catch (e) {
      return { isError: true, content: [text(e.message)] };
    }
  }]];
};
const tools = {
  ...Object.fromEntries(Object.keys(have.tools).map(call)),
  ...Object.fromEntries(Object.entries(asking).map(([name, result]) => [`test_input_required_result_${name}`, ["Asks back", none, result]])),
  test_tool_with_progress: ["Three reports of progress", none, async ({ _meta }) => {
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: _meta.progressToken, progress, total: 100 };
      if (params.progressToken !== undefined) say({ method: "notifications/progress", params });
      await sleep(50);
    }
    return done(text("Reported three times."));
  }],
  test_x_mcp_header: ["Has a header for its argument", {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
  }, () => done(text("Here."))],
};
const prompts = { ...have.prompts, test_input_required_result_prompt: [[], () => [text("With your context.")]] };

// ---- methods

function known(table, key) {
  if (!Object.hasOwn(table, key)) throw new Refusal(-32602, `unknown: ${key}`);
  return table[key];
}
const cache = { ttlMs: 1000, cacheScope: "public" };
const methods = {
  "server/discover": () => ({
    ...cache,
    supportedVersions: [REVISION],
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
  }),
  "tools/list": () => ({ ...cache, tools: have.toolList(tools) }),
  "tools/call": (params, client) => known(tools, params.name)[2](params, client),
  "resources/list": () => ({ ...cache, resources: have.resourceList }),
  "resources/templates/list": () => ({ ...cache, resourceTemplates: have.templateList }),
  "resources/read": ({ uri }) => {
    const contents = have.contents(uri);
    if (contents === undefined) throw new Refusal(-32602, "Resource not found", { uri });
    return { ...cache, contents };
  },
  "prompts/list": () => ({ ...cache, prompts: have.promptList(prompts) }),
  "prompts/get": (params) => {
    const [, content] = known(prompts, params.name);
    if (params.name === "test_input_required_result_prompt" && !answered(params, "user_context"))
      return ask({ user_context: form("What context should the prompt use?", strings("context")) });
    return { messages: have.messages(content(params.arguments ?? {})) };
  },
  "completion/complete": ({ argument }) => ({ completion: have.completion(argument.value) }),
};

async function answer({ id, method, params }) {
  const version = params?._meta?.[meta("protocolVersion")];
  const client = params?._meta?.[meta("clientCapabilities")];
  if (version === undefined || client === undefined) throw new Refusal(-32602, "_meta lacks what each request names");
  if (version !== REVISION) throw new Refusal(-32022, "unsupported version", { supported: [REVISION], requested: version });
  if (!Object.hasOwn(methods, method)) throw new Refusal(-32601, "Method not found");
  const result = await methods[method](params, client);
  const _meta = { [meta("serverInfo")]: { name: "conformance-modern", version: "1.0.0" } };
  say({ id, result: { resultType: "complete", ...result, _meta } });
}

createInterface({ input }).on("line", async (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return;
  try {
    await answer(message);
  } catch (e) {
    if (!(e instanceof Refusal)) throw e;
    say({ id: message.id, error: { code: e.code, message: e.message, data: e.data } });
  }
});
