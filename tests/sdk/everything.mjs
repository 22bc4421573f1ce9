// server-everything: a session for each part of the protocol that it supports.

import {
  CreateMessageRequestSchema,
  CreateTaskResultSchema,
  ElicitRequestSchema,
  EmptyResultSchema,
  ListRootsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";

const NO_OBJECT = "arguments that are not an object"; // rejected by the server before the tool sees them
const everything = ({ packages }) => ({ command: process.execPath, args: [`${packages}/server-everything/dist/index.js`] });

const tasksOfClient = { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } };
const TASK_TTL_MS = 600_000; // longer than any run
const URL_OF_TEST = "https://example.com/open?x=1&y=2";

async function tools(s) {
  const { tools } = await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  await s.call("tools/list with a cursor", (c, o) => c.listTools({ cursor: "nowhere" }, o));
  const good = {
    "echo": [{ message: "hello" }, { message: "" }],
    "get-annotated-message": [{ messageType: "success", includeImage: true }, { messageType: "error" }, { messageType: "debug" }],
    "get-env": [{}],
    "get-resource-links": [{ count: 4 }, {}],
    "get-resource-reference": [{ resourceType: "Text", resourceId: 3 }, { resourceType: "Blob", resourceId: 4 }],
    "get-structured-content": [{ location: "Chicago" }, { location: "New York" }, { location: "Los Angeles" }],
    "get-sum": [{ a: 1, b: 2 }, { a: 1e300, b: -0.1 }],
    "get-tiny-image": [{}],
    "gzip-file-as-resource": [
      { name: "a.gz", data: "data:text/plain,hello", outputType: "resource" },
      { name: "b.gz", data: "data:text/plain;base64,aGVsbG8=", outputType: "resourceLink" },
    ],
    "toggle-simulated-logging": [{}, {}], // on, which sends one message at once, then off
    "toggle-subscriber-updates": [{}, {}],
    "trigger-long-running-operation": [{ duration: 0.05, steps: 2 }],
  };
  const bad = {
    "echo": [{}, { message: 7 }],
    "get-annotated-message": [{ messageType: "loud" }],
    "get-resource-links": [{ count: 99 }],
    "get-resource-reference": [{ resourceType: "Text", resourceId: 1.5 }],
    "get-structured-content": [{ location: "Atlantis" }],
    "get-sum": [{ a: "one", b: 2 }],
    "gzip-file-as-resource": [{ data: "ftp://example.com/x" }, { data: "no url" }],
    "trigger-long-running-operation": [{ duration: "long" }],
  };
  for (const { name } of tools) {
    for (const args of good[name] ?? []) await s.tool(name, args);
    for (const args of [...(bad[name] ?? []), NO_OBJECT]) await s.tool(name, args);
  }
  await s.tool("no-such-tool", {});
  // Requests that the SDK does not send on its own: a task tool called as a plain one, an unknown method.
  await s.call("a task tool without a task", (c, o) =>
    c.request({ method: "tools/call", params: { name: "simulate-research-query", arguments: { topic: "x" } } }, EmptyResultSchema, o));
  await s.call("an unknown method", (c, o) => c.request({ method: "no/such-method", params: { x: [1, null] } }, EmptyResultSchema, o));
  await s.call("an unknown notification", (c) => c.notification({ method: "notifications/no-such", params: { y: 1 } }));
  await s.call("ping", (c, o) => c.ping(o));
}

async function text(s) {
  const parts = {
    "control characters": Array.from({ length: 32 }, (_, i) => String.fromCharCode(i)).join("") + "\x7f",
    "quotes": "\"'`\\/ \\u0041 \\n {\"jsonrpc\":\"2.0\",\"id\":1}",
    "line ends": "a\u2028b\u2029c\u0085d\r\ne",
    "beyond the BMP": "𝄞 👩‍👩‍👧‍👦 é e\u0301 \uFEFF \uFFFF",
    "half a pair": "\ud83d and \ude00",
    "terminal escapes": "\x1b]0;title\x07\x1b[2J\x1b[31mred",
    "SQL and shell": "'); DROP TABLE messages; -- $(reboot) `reboot` %s %n",
    "64 KiB less a bit": "a".repeat(65_000),
    "64 KiB more a bit": "b".repeat(66_000),
    "a megabyte": "céd€".repeat(150_000),
  };
  for (const [label, message] of Object.entries(parts)) {
    await s.call(label, (c, o) => c.callTool({ name: "echo", arguments: { message } }, undefined, o));
  }
  await s.call("odd members", (c, o) =>
    c.callTool({ name: "echo", arguments: { message: "m", "": 0, "__proto__x": { a: [[], {}, null, true] }, n: 1.5e-7, z: -0 } }, undefined, o));
}

async function flood(s) {
  const sums = Array.from({ length: 200 }, (_, i) => s.tool("get-sum", { a: i, b: 1 }));
  const echoes = Array.from({ length: 50 }, (_, i) => s.tool("echo", { message: `${i} `.repeat(i * 20) }));
  const reads = Array.from({ length: 50 }, (_, i) =>
    s.call(`read ${i}`, (c, o) => c.readResource({ uri: `demo://resource/dynamic/text/${i}` }, o)));
  await Promise.all([...sums, ...echoes, ...reads]);
}

async function resources(s) {
  const { resources } = await s.call("resources/list", (c, o) => c.listResources(undefined, o));
  await s.call("resources/list with a cursor", (c, o) => c.listResources({ cursor: "x" }, o));
  const { resourceTemplates } = await s.call("resources/templates/list", (c, o) => c.listResourceTemplates(undefined, o));
  const read = (uri) => s.call(`read ${uri}`, (c, o) => c.readResource({ uri }, o));
  for (const { uri } of resources) await read(uri);
  for (const { uriTemplate } of resourceTemplates) {
    for (const id of ["1", "42", "0", "x", "%20"]) await read(uriTemplate.replace("{resourceId}", id));
  }
  await read("demo://resource/nowhere");
  await read("");
  await s.call("read without a uri", (c, o) => c.readResource({}, o));

  // A resource that appears during the session.
  await s.tool("gzip-file-as-resource", { name: "later.gz", data: "data:text/plain,later" });
  await s.until("resources/list_changed", () => s.notified("notifications/resources/list_changed").length > 0);
  await s.call("resources/list again", (c, o) => c.listResources(undefined, o));
  await read("demo://resource/session/later.gz");

  // Updates are sent for subscribed resources only. The toggle sends one update at once and would send
  // the next after five seconds: it is switched off before.
  const [one, two] = ["demo://resource/dynamic/text/1", resources[0].uri];
  const subscribe = (uri) => s.call(`subscribe ${uri}`, (c, o) => c.subscribeResource({ uri }, o));
  const unsubscribe = (uri) => s.call(`unsubscribe ${uri}`, (c, o) => c.unsubscribeResource({ uri }, o));
  const updates = () => s.notified("notifications/resources/updated").length;
  await subscribe(one);
  await subscribe(two);
  await s.call("subscribe without a uri", (c, o) => c.subscribeResource({}, o));
  await s.tool("toggle-subscriber-updates", {});
  await s.until("two updates", () => updates() === 2, updates);
  await s.tool("toggle-subscriber-updates", {});
  await unsubscribe(one);
  await s.tool("toggle-subscriber-updates", {});
  await s.until("one more update", () => updates() === 3, updates);
  await s.tool("toggle-subscriber-updates", {});
  await unsubscribe(two);
  await s.tool("toggle-subscriber-updates", {});
  await s.tool("toggle-subscriber-updates", {});
  await s.call("unsubscribe without a subscription", (c, o) => c.unsubscribeResource({ uri: "demo://x" }, o));
}

async function prompts(s) {
  const { prompts } = await s.call("prompts/list", (c, o) => c.listPrompts(undefined, o));
  await s.call("prompts/list with a cursor", (c, o) => c.listPrompts({ cursor: "x" }, o));
  const good = {
    "simple-prompt": [undefined, {}],
    "args-prompt": [{ city: "Paris" }, { city: "Zürich", state: "ZH" }],
    "completable-prompt": [{ department: "Sales", name: "Eve" }],
    "resource-prompt": [{ resourceType: "Text", resourceId: "1" }, { resourceType: "Blob", resourceId: "2" }],
  };
  const bad = {
    "args-prompt": [{}, { state: "ZH" }],
    "completable-prompt": [{ department: "Sales" }],
    "resource-prompt": [{ resourceType: "Video", resourceId: "1" }, { resourceType: "Text", resourceId: "-1" }],
  };
  const get = (name, args) =>
    s.call(`get ${name} ${JSON.stringify(args)}`, (c, o) => c.getPrompt({ name, arguments: args }, o));
  for (const { name } of prompts) {
    for (const args of good[name] ?? []) await get(name, args);
    for (const args of [...(bad[name] ?? []), { city: 7 }, NO_OBJECT]) await get(name, args);
  }
  await get("no-such-prompt", {});

  const complete = (ref, name, value, context) =>
    s.call(`complete ${name}=${value} ${JSON.stringify(context) ?? ""}`, (c, o) =>
      c.complete({ ref, argument: { name, value }, ...(context && { context: { arguments: context } }) }, o));
  const prompt = { type: "ref/prompt", name: "completable-prompt" };
  for (const value of ["", "S", "Eng", "nothing"]) await complete(prompt, "department", value);
  for (const department of ["Engineering", "Sales", "Marketing", "Support", "None"]) {
    await complete(prompt, "name", "", { department });
  }
  await complete(prompt, "name", "Al", { department: "Engineering" });
  await complete(prompt, "name", "Al");
  await complete({ type: "ref/prompt", name: "resource-prompt" }, "resourceType", "T");
  await complete({ type: "ref/prompt", name: "resource-prompt" }, "resourceId", "12");
  await complete({ type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" }, "resourceId", "7");
  await complete({ type: "ref/resource", uri: "demo://resource/dynamic/blob/{resourceId}" }, "resourceId", "x");
  await complete({ type: "ref/resource", uri: "demo://nowhere/{id}" }, "id", "1");
  await complete({ type: "ref/prompt", name: "no-such-prompt" }, "x", "");
}

async function sampling(s) {
  const answers = {
    text: { role: "assistant", model: "test-model", stopReason: "endTurn", content: { type: "text", text: "Ein Satz — mit ünïcode ✓" } },
    image: { role: "assistant", model: "test-model", content: { type: "image", data: "aGVsbG8=", mimeType: "image/png" } },
    long: { role: "assistant", model: "test-model", stopReason: "maxTokens", content: { type: "text", text: "x".repeat(100_000) } },
  };
  s.serve(CreateMessageRequestSchema, async ({ params }) => {
    const wanted = params.messages[0].content.text.split(" ").pop();
    if (wanted === "refused") throw new McpError(-1, "User rejected sampling request", { by: "user" });
    if (wanted === "wrong") return { role: "nobody" };
    return answers[wanted];
  });
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  for (const wanted of ["text", "image", "long", "refused", "wrong"]) {
    await s.tool("trigger-sampling-request", { prompt: `please ${wanted}`, maxTokens: 20 });
  }
  await s.tool("trigger-sampling-request", { prompt: 7 });
  await s.tool("trigger-sampling-request", NO_OBJECT);
  // Several at a time: the server's ids are independent of the client's.
  await Promise.all(Array.from({ length: 20 }, () => s.tool("trigger-sampling-request", { prompt: "please text" })));
  // Which call caused which question is not recorded: a replay may answer the last call before the last question.
  const answered = () => s.messages("c2s").filter((m) => m.method === undefined).length;
  await s.until("an answer to every question", () => answered() === s.asked("sampling/createMessage").length, answered);
}

async function elicitation(s) {
  let answer;
  s.serve(ElicitRequestSchema, async () => {
    if (answer instanceof Error) throw answer;
    return answer;
  });
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  const content = { name: "Zoë", check: true, email: "zoe@example.com", integer: 7, number: 2.5, untitledMultipleSelectEnum: ["Piano", "Drums"] };
  for (answer of [
    { action: "accept", content },
    { action: "accept", content: {} },
    { action: "decline" },
    { action: "cancel" },
    { action: "nod" }, // not one of the three: the client rejects it before sending
    new McpError(-1, "the window was closed"),
  ]) {
    await s.tool("trigger-elicitation-request", {});
  }
  await s.tool("trigger-elicitation-request", NO_OBJECT);

  for (const action of ["accept", "decline", "cancel"]) {
    answer = { action };
    await s.tool("trigger-url-elicitation", { url: URL_OF_TEST, message: "open it", elicitationId: `given-${action}` });
    await s.tool("trigger-url-elicitation", { url: URL_OF_TEST });
  }
  // First rejected with -32042 and a link; the same call then succeeds.
  answer = { action: "accept" };
  await s.tool("trigger-url-elicitation", { url: URL_OF_TEST, errorPath: true });
  await s.tool("trigger-url-elicitation", { url: URL_OF_TEST, errorPath: true });
  await s.tool("trigger-url-elicitation", { url: "no url" });
  await s.tool("trigger-url-elicitation", NO_OBJECT);
}

async function roots(s) {
  let list = [{ uri: "file:///one", name: "One" }, { uri: "file:///two%20words" }];
  s.serve(ListRootsRequestSchema, async () => {
    if (list instanceof Error) throw list;
    return { roots: list };
  });
  const told = () => s.notified("notifications/message").length;
  const changed = async (to, done) => {
    list = to;
    const asked = s.asked("roots/list").length;
    await s.call("roots/list_changed", (c) => c.sendRootsListChanged());
    await s.until("the server asking for the roots", () => s.asked("roots/list").length > asked);
    await s.until("the server's word on the roots", done, told);
    await s.tool("get-roots-list", {});
  };
  // The server sends the request a third of a second after the start.
  await s.until("the first question for the roots", () => told() === 1, told);
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  await s.tool("get-roots-list", {});
  await changed([{ uri: "file:///three", name: "Trois" }], () => told() === 2);
  await changed([], () => told() === 3);
  await changed(new McpError(-32000, "no roots today"), () => s.stderr.includes("no roots today"));
  await s.tool("get-roots-list", NO_OBJECT);
}

async function logging(s) {
  const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
  // The server logs "info" at each subscription: received only at levels up to info.
  for (const level of levels) {
    await s.call(`level ${level}`, (c, o) => c.setLoggingLevel(level, o));
    await s.call("subscribe", (c, o) => c.subscribeResource({ uri: "demo://x" }, o));
    await s.call("unsubscribe", (c, o) => c.unsubscribeResource({ uri: "demo://x" }, o));
  }
  await s.call("level loud", (c, o) => c.setLoggingLevel("loud", o));
}

async function progress(s) {
  const long = (duration, steps, options = {}) =>
    s.tool("trigger-long-running-operation", { duration, steps }, { onprogress: () => {}, ...options });
  await long(0.3, 3);
  await long(0.01, 50);
  await s.tool("trigger-long-running-operation", { duration: 0.05, steps: 1 }); // without a progress token
  await Promise.all([long(0.2, 4), long(0.3, 5), long(0.1, 2)]);

  // Any process may stall for seconds: the client's timers, the reports and the answers are at least 5 s apart. These calls
  // wait at the same time.
  const reports = () => s.wire.filter((w) => w === "notification notifications/progress").length;
  const before = reports();
  const [stop, quiet] = [new AbortController(), new AbortController()];
  const onprogress = () => {
    stop.abort("the user lost patience");
    quiet.abort();
  };
  await Promise.all([
    long(9, 9, { timeout: 7_000, resetTimeoutOnProgress: true, maxTotalTimeout: 200_000 }),
    // Cancelled by the client at the first report. The server does not stop.
    s.tool("trigger-long-running-operation", { duration: 18, steps: 3 }, { onprogress, signal: stop.signal }),
    s.tool("trigger-long-running-operation", { duration: 19, steps: 1 }, { signal: quiet.signal }),
    // A replay sends an error two seconds after the time at which the recorded client gave up: this client does so at once.
    long(20, 2, { timeout: s.via === "replayed" ? 100 : 5_000 }),
  ]);
  // The last report is later than the answers of the cancelled calls would be.
  await s.until("the reports of all calls", () => reports() === before + 9 + 3 + 2, () => reports() - before);
  for (const { error } of s.transcript.calls) if (error?.data?.timeout) error.data.timeout = "<timeout>";
}

async function tasks(s) {
  s.serve(ElicitRequestSchema, async () => ({ action: "accept", content: { interpretation: "snake" } }));
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));

  // The SDK polls once a second, and the server changes its stage once a second, so the stages seen by
  // polls vary, and a client that stalls sees none of them. Only states that last until the client acts are
  // compared, and the stages as the server announces them in notifications/tasks/status.
  const stream = (args) =>
    s.call(`stream ${JSON.stringify(args)}`, async (c, o) => {
      const seen = [];
      for await (const m of c.experimental.tasks.callToolStream({ name: "simulate-research-query", arguments: args }, undefined, { ...o, task: { ttl: TASK_TTL_MS } })) {
        if (m.type === "taskStatus" && m.task.status === "working") continue;
        const { statusMessage, lastUpdatedAt, ...task } = m.task ?? {};
        const one = JSON.stringify(m.task ? { ...m, task } : m);
        if (seen.at(-1) !== one) seen.push(one);
      }
      return seen.map((one) => JSON.parse(one));
    });
  const streams = [stream({ topic: "python", ambiguous: true }), stream({ topic: "rivers" })];

  const ids = [];
  const create = (args) =>
    s.call(`create ${JSON.stringify(args)}`, async (c, o) => {
      const params = { name: "simulate-research-query", arguments: args };
      const { task } = await c.request({ method: "tools/call", params }, CreateTaskResultSchema, { ...o, task: { ttl: TASK_TTL_MS } });
      ids.push(task.taskId);
      const { statusMessage, lastUpdatedAt, ...rest } = task;
      return rest;
    });
  await create({ topic: "topic 0", ambiguous: true }); // it waits for an answer until it is cancelled
  for (let i = 1; i < 21; i++) await create({ topic: `topic ${i}` });
  await s.call("create with bad arguments", (c, o) =>
    c.request({ method: "tools/call", params: { name: "simulate-research-query", arguments: { topic: 7 } } }, CreateTaskResultSchema, { ...o, task: {} }));
  await s.call("create with no arguments", (c, o) =>
    c.request({ method: "tools/call", params: { name: "simulate-research-query", arguments: NO_OBJECT } }, CreateTaskResultSchema, { ...o, task: {} }));

  // Pages of ten.
  let cursor;
  do {
    cursor = await s.call(`page from ${cursor ? "a cursor" : "the start"}`, async (c, o) => {
      const page = await c.experimental.tasks.listTasks(cursor, o);
      return { ids: page.tasks.map((t) => t.taskId), nextCursor: page.nextCursor };
    }).then((page) => page?.nextCursor);
  } while (cursor);
  await s.call("page from nowhere", (c, o) => c.experimental.tasks.listTasks("nowhere", o));

  const t = (label, make) => s.call(label, (c, o) => make(c.experimental.tasks, o));
  const statuses = (id) => s.notified("notifications/tasks/status").filter((n) => n.taskId === id).map((n) => n.status);
  const first = () => statuses(ids[0]);
  await s.until("the first task to wait for an answer", () => first().at(-1) === "input_required", first);
  await t("cancel", (x, o) => x.cancelTask(ids[0], o));
  await t("cancel twice", (x, o) => x.cancelTask(ids[0], o));
  await t("get a cancelled one", (x, o) => x.getTask(ids[0], o));
  await t("result of a cancelled one", (x, o) => x.getTaskResult(ids[0], undefined, o));
  await t("get an unknown one", (x, o) => x.getTask("nobody", o));
  await t("cancel an unknown one", (x, o) => x.cancelTask("nobody", o));
  await t("result of an unknown one", (x, o) => x.getTaskResult("nobody", undefined, o));

  await Promise.all(streams);
  const done = () => s.notified("notifications/tasks/status").filter((n) => n.status === "completed").length;
  await s.until("all tasks but the cancelled one to be completed", () => done() === 22, done);
  await s.until("the cancelled one to be given up", () => /to "failed"[^]*\n}\n/.test(s.stderr) && s.stderr.includes(`Elicitation failed for task ${ids[0]}`));
  await t("result of a completed one", (x, o) => x.getTaskResult(ids[1], undefined, o));
}

async function clientTasks(s) {
  const store = s.client._options?.taskStore;
  const finish = (id, status, result) => setImmediate(() => store.storeTaskResult(id, status, result));
  s.serve(CreateMessageRequestSchema, async ({ params }, extra) => {
    const task = await extra.taskStore.createTask({ ttl: params.task.ttl, pollInterval: 100 });
    const fails = params.messages[0].content.text.endsWith("fail");
    if (fails) setImmediate(() => store.updateTaskStatus(task.taskId, "failed", "the model is out"));
    else finish(task.taskId, "completed", { role: "assistant", model: "test-model", content: { type: "text", text: "done" } });
    return { task };
  });
  let action;
  s.serve(ElicitRequestSchema, async ({ params }, extra) => {
    const result = { action, ...(action === "accept" && { content: { name: "Zoë", favoriteColor: "Blue", agreeToTerms: false } }) };
    const task = await extra.taskStore.createTask({ ttl: params.task.ttl, pollInterval: 100 });
    await extra.taskStore.updateTaskStatus(task.taskId, "input_required", "waiting for the user");
    const asked = (id) => s.messages("s2c").some((m) => m.method === "tasks/get" && m.params.taskId === id);
    s.until("the server's first poll", () => asked(task.taskId)).then(() => finish(task.taskId, "completed", result));
    return { task };
  });
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  const calls = [
    s.tool("trigger-sampling-request-async", { prompt: "work" }),
    s.tool("trigger-sampling-request-async", { prompt: "fail" }),
  ];
  for (action of ["accept", "decline", "cancel"]) {
    const asked = s.asked("elicitation/create").length;
    calls.push(s.tool("trigger-elicitation-request-async", {}));
    await s.until("the elicitation", () => s.asked("elicitation/create").length > asked);
  }
  await Promise.all(calls);
  await s.tool("trigger-sampling-request-async", { prompt: 7 });
  await s.tool("trigger-sampling-request-async", NO_OBJECT);
  await s.tool("trigger-elicitation-request-async", NO_OBJECT);
}

async function launcher(s) {
  await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  await s.tool("echo", { message: "through a launcher" });
  await s.call("ping", (c, o) => c.ping(o));
}

export const everything_cases = [
  { name: "everything tools", server: everything, ordered: true, play: tools },
  { name: "everything text of every kind", server: everything, interposer: ["--record", "full"], ordered: true, play: text },
  { name: "everything 300 calls in flight", server: everything, interposer: ["--record", "full"], play: flood },
  { name: "everything resources", server: everything, play: resources },
  { name: "everything prompts and completion", server: everything, ordered: true, play: prompts },
  { name: "everything sampling", server: everything, capabilities: { sampling: {} }, play: sampling },
  { name: "everything elicitation", server: everything, capabilities: { elicitation: { form: {}, url: {} } }, ordered: true, play: elicitation },
  { name: "everything roots", server: everything, capabilities: { roots: { listChanged: true } }, ordered: true, play: roots },
  { name: "everything logging", server: everything, ordered: true, play: logging },
  { name: "everything progress and cancellation", server: everything, play: progress },
  {
    name: "everything tasks",
    server: everything,
    capabilities: { elicitation: {} },
    racy: ["notifications/tasks/status"],
    lingers: true, // it runs until its tasks expire
    interposer: ["--grace", "20s"],
    says: ["sent signal 15 to the server"],
    play: tasks,
  },
  {
    name: "everything tasks of the client",
    server: everything,
    capabilities: { sampling: {}, elicitation: {}, tasks: tasksOfClient },
    options: () => ({ taskStore: new InMemoryTaskStore(), taskMessageQueue: new InMemoryTaskMessageQueue() }),
    play: clientTasks,
  },
  {
    name: "mcp-server-everything", // no --name: derived from the command
    unnamed: true,
    server: () => ({ command: "npx", args: ["--no-install", "mcp-server-everything"] }),
    ordered: true,
    play: launcher,
  },
];
