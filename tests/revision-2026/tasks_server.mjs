// A server of 2026-07-28 with tasks. The server of the SDK 2.4 knows no tasks of this revision: what concerns them is
// answered here, on its transport, and each message is checked with the schemas of ext-tasks before it is sent.
import { hasTaskClientCapabilityV2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import * as tasks from "@modelcontextprotocol/ext-tasks/core/v2";
import { McpServer, acceptedContent, fromJsonSchema, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

const EXTENSION = { "io.modelcontextprotocol/tasks": {} };
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const WORK_MS = 60;
const text = (t) => ({ content: [{ type: "text", text: t }] });
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const NAME = object({ name: { type: "string" } });
const elicit = (message) => ({ method: "elicitation/create", params: { mode: "form", message, requestedSchema: NAME } });

// What the tools do that are tasks: each step changes the task.
const WORK = {
  report: (task) => later(() => task.set("input_required", { inputRequests: { who: elicit("Whose report?") } })),
  endless: () => {},
  broken: (task) => later(() => task.set("failed", { error: { code: -32603, message: "the disk is full" } })),
};
const ANSWERED = {
  report: (task, { who }) => {
    task.set("working");
    later(() => task.set("completed", { result: { resultType: "complete", ...text(`report for ${who.content.name}`) } }));
  },
};
const later = (step) => setTimeout(step, WORK_MS);

class Task {
  static all = new Map();
  status = "working";
  more = {};
  createdAt = new Date().toISOString();
  lastUpdatedAt = this.createdAt;

  constructor(tool) {
    this.tool = tool;
    this.taskId = `${tool}-${Task.all.size + 1}`;
    Task.all.set(this.taskId, this);
  }
  set(status, more = {}) {
    if (["completed", "failed", "cancelled"].includes(this.status)) return;
    Object.assign(this, { status, more, lastUpdatedAt: new Date().toISOString() });
    for (const [id, taskIds] of subscriptions)
      if (taskIds.includes(this.taskId))
        send(tasks.TaskStatusNotificationV2Schema, "notifications/tasks", { method: "notifications/tasks", params: { ...this.told, _meta: { [SUBSCRIPTION]: id } } });
  }
  get told() {
    const { taskId, status, createdAt, lastUpdatedAt, more } = this;
    return { taskId, status, createdAt, lastUpdatedAt, ttlMs: 60_000, pollIntervalMs: 20, ...more };
  }
}

const stdio = new StdioServerTransport();
const subscriptions = new Map(); // id: taskIds
function send(schema, what, message) {
  const whole = { jsonrpc: "2.0", ...message };
  const checked = schema.safeParse(message.result ?? whole);
  if (!checked.success) console.error(`tasks_server: ${what} is not of the schema: ${checked.error}`);
  void stdio.send(whole);
}
const result = (id, schema, value) => send(schema, "a result", { id, result: { resultType: "complete", ...value } });
const refuse = (id, code, message, data) => void stdio.send({ jsonrpc: "2.0", id, error: { code, message, ...(data && { data }) } });

// What answers a request about tasks; nothing for what the SDK answers.
const ABOUT_TASKS = {
  "tools/call": ({ id, params }) => {
    const task = new Task(params.name);
    result(id, tasks.CreateTaskResultV2Schema, { ...task.told, resultType: "task" });
    WORK[task.tool](task);
  },
  "tasks/get": ({ id }, task) => result(id, tasks.GetTaskResultV2Schema, task.told),
  "tasks/update": ({ id, params }, task) => {
    result(id, tasks.UpdateTaskResultV2Schema, {});
    ANSWERED[task.tool](task, params.inputResponses);
  },
  "tasks/cancel": ({ id }, task) => {
    result(id, tasks.CancelTaskResultV2Schema, {});
    task.set("cancelled");
  },
  "subscriptions/listen": ({ id, params }) => {
    const { taskIds } = params.notifications;
    subscriptions.set(id, taskIds);
    void stdio.send({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { notifications: { taskIds }, _meta: { [SUBSCRIPTION]: id } } });
  },
  "notifications/cancelled": ({ params }) => subscriptions.delete(params.requestId), // nothing more is sent for it
};
function isAboutTasks({ method, params }) {
  if (method === "tools/call") return Object.hasOwn(WORK, params.name);
  if (method === "subscriptions/listen") return params.notifications.taskIds !== undefined;
  if (method === "notifications/cancelled") return subscriptions.has(params.requestId);
  return Object.hasOwn(ABOUT_TASKS, method ?? "");
}
function take(message) {
  if (!isAboutTasks(message)) return false;
  const { id, method, params } = message;
  const task = Task.all.get(params.taskId);
  if (id !== undefined && !hasTaskClientCapabilityV2(params)) refuse(id, -32021, "this needs tasks", { requiredCapabilities: { extensions: EXTENSION } });
  else if (method.startsWith("tasks/") && task === undefined) refuse(id, -32602, `there is no task ${params.taskId}`);
  else ABOUT_TASKS[method](message, task);
  return true;
}

const transport = {
  start: () => {
    stdio.onmessage = (message, extra) => take(message) || transport.onmessage?.(message, extra);
    stdio.onclose = () => transport.onclose?.();
    stdio.onerror = (error) => transport.onerror?.(error);
    return stdio.start();
  },
  send: (message, options) => stdio.send(message, options),
  close: () => stdio.close(),
};

serveStdio(() => {
  const server = new McpServer(
    { name: "tasks", version: "1.0.0" },
    {
      capabilities: { tools: { listChanged: true }, extensions: EXTENSION },
      cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "private" } },
    },
  );
  for (const name of Object.keys(WORK))
    server.registerTool(name, { description: "a task", inputSchema: fromJsonSchema(object({})) }, () => text("not a task"));
  server.registerTool("ask", { description: "asks back", inputSchema: fromJsonSchema(object({})) }, (_, ctx) => {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, "who", fromJsonSchema(NAME));
    if (answer !== undefined) return text(`hello ${answer.name}`);
    return inputRequired({ inputRequests: { who: inputRequired.elicit({ message: "Name?", requestedSchema: NAME }) }, requestState: "s1" });
  });
  const added = server.registerTool("added", { inputSchema: fromJsonSchema(object({})) }, () => text("here"));
  added.disable();
  server.registerTool("more", { description: "adds a tool", inputSchema: fromJsonSchema(object({})) }, () => {
    added.enable();
    return text("there is another one now");
  });
  return server;
}, { transport });
