// The client of ext-tasks on that of the SDK, in revision 2026-07-28: tasks that ask, are cancelled and fail, beside a call
// that asks, a subscription and a list from the cache. Writes down what it saw, as JSON.
// Usage: tasks_client.mjs COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import { contributeTaskFilterV2, readAcceptedTaskIdsV2, withTaskCapabilityV2 } from "@modelcontextprotocol/ext-tasks/core/v2";

const [, , command, ...args] = process.argv;
const INFO = { name: "tasks test", version: "1.0" };
const CAPABILITIES = { elicitation: { form: {} } };
const VERSION = "2026-07-28";
const PERSON_MS = 120; // how long the person takes
const seen = [];
async function note(what, call) {
  try {
    seen.push([what, await call()]);
  } catch (error) {
    seen.push([what, `${error.name}: ${error.message}`]);
  }
}
const ask = async (params) => {
  seen.push(["asked", params.message]);
  await new Promise((resolve) => setTimeout(resolve, PERSON_MS));
  return { action: "accept", content: { name: "Ada" } };
};
const within = (ms, promise) => Promise.race([promise, new Promise((_, reject) => setTimeout(reject, ms, new Error(`not within ${ms} ms`)).unref())]);

// A host sends the requests of ext-tasks itself, since the client of the SDK refuses their methods: with ids of their own,
// on the same transport.
class Host {
  waiting = new Map();
  acknowledged = new Map();
  sent = 0;

  constructor(server) {
    this.stdio = new StdioClientTransport(server);
  }
  start() {
    this.stdio.onmessage = (message, extra) => this.take(message) || this.onmessage?.(message, extra);
    this.stdio.onclose = () => this.onclose?.();
    this.stdio.onerror = (error) => this.onerror?.(error);
    return this.stdio.start();
  }
  send(message, options) {
    return this.stdio.send(message, options);
  }
  close() {
    return this.stdio.close();
  }
  take({ id, method, params, result, error }) {
    const subscription = params?._meta?.["io.modelcontextprotocol/subscriptionId"];
    if (method === "notifications/subscriptions/acknowledged" && this.waiting.has(subscription)) {
      this.acknowledged.get(subscription)(params);
      return true;
    }
    const open = method === undefined ? this.waiting.get(id) : undefined;
    this.waiting.delete(id);
    open?.(error ? { kind: "error", error } : { kind: "result", result });
    return open !== undefined;
  }
  request = ({ method, params }) => {
    const id = `host-${++this.sent}`;
    const answer = new Promise((resolve) => this.waiting.set(id, resolve));
    void this.send({ jsonrpc: "2.0", id, method, params });
    return Object.assign(answer, { id });
  };
}

const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: { pin: VERSION } } });
client.setRequestHandler("elicitation/create", ({ params }) => ask(params));
const changed = new Promise((resolve) => client.setNotificationHandler("notifications/tools/list_changed", () => resolve("list_changed")));
const host = new Host({ command, args, stderr: "inherit", env: process.env });
await client.connect(host);
const session = createTaskSessionFromClient(client, {
  endpointId: "test",
  rawDispatch: host.request,
  v2RequestFraming: { protocolVersion: VERSION, clientInfo: INFO, clientCapabilities: CAPABILITIES },
  onInputRequest: ({ params }) => ask(params),
  onError: (error) => seen.push(["background", error.message]),
});

await note("tools", async () => (await client.listTools()).tools.map((t) => t.name).sort());
await note("tools again, from the cache", async () => (await client.listTools()).tools.length);
await note("ask", async () => (await client.callTool({ name: "ask", arguments: {} })).content);
await note("ask, by the session of tasks", async () => (await (await session.callTool("ask", {})).settle()).outcome);

const outcome = async (execution) => {
  const { outcome } = await within(30_000, execution.settle());
  return [execution.kind, outcome.status, outcome.result?.content ?? outcome.error?.message];
};
await note("report", async () => outcome(await session.callTool("report", {})));
await note("endless, cancelled", async () => {
  const execution = await session.callTool("endless", {});
  await execution.cancel(); // the server only acknowledges; the status follows
  return [...(await outcome(execution)), (await session.task(execution.handle.taskId).snapshot()).status];
});
await note("broken", async () => outcome(await session.callTool("broken", {})));

// The same task with a subscription to it.
let listening;
await note("report, subscribed", async () => {
  const execution = await session.callTool("report", {});
  const META = { "io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientInfo": INFO, "io.modelcontextprotocol/clientCapabilities": CAPABILITIES };
  const listen = host.request({
    method: "subscriptions/listen",
    params: withTaskCapabilityV2(contributeTaskFilterV2({ _meta: META }, [execution.handle.taskId])),
  });
  listening = listen.id;
  const agreed = await within(30_000, new Promise((resolve) => host.acknowledged.set(listen.id, resolve)));
  return [readAcceptedTaskIdsV2(agreed).length, ...(await outcome(execution))];
});
await host.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: listening, reason: "enough" } });
await note("a task that is not there", async () => (await session.task("none").snapshot()).status);

let stream;
await note("listen", async () => {
  stream = await client.listen({ toolsListChanged: true });
  return "acknowledged";
});
await note("more", async () => (await client.callTool({ name: "more", arguments: {} })).content);
await note("changed", () => within(30_000, changed));
await note("tools after", async () => (await client.listTools({}, { cacheMode: "refresh" })).tools.length);
await note("closed", async () => {
  await stream.close();
  return "closed";
});
await session.close();
await client.close();
console.log(JSON.stringify(seen, null, 1));
