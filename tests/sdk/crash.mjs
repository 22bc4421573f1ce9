// The SDK's client with a server that crashes during a session: the client must not notice, except for the
// one call that must not be repeated.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { same } from "./vault.mjs";

const crashing = fileURLToPath(new URL("crashing.mjs", import.meta.url));
const server = ({ dir }) => ({ command: process.execPath, args: [crashing, join(dir, "starts")] });
const textOf = (result) => result?.content?.[0]?.text;

async function echo(s, message) {
  same("an echo", textOf(await s.tool("echo", { message })), message);
}

// Uses every feature of this server; throws if one does not work.
async function everything(s) {
  const listed = async (make, key) => (await s.call(key, make))?.[key].length;
  same("tools, resources, prompts", [
    await listed((c, o) => c.listTools(undefined, o), "tools"),
    await listed((c, o) => c.listResources(undefined, o), "resources"),
    await listed((c, o) => c.listPrompts(undefined, o), "prompts"),
  ], [9, 1, 1]);
  await echo(s, "hello");
  const read = await s.call("read", (c, o) => c.readResource({ uri: "note:///one" }, o));
  same("a resource", read?.contents[0].text, "one");
  same("a prompt", (await s.call("prompt", (c, o) => c.getPrompt({ name: "greet" }, o)))?.messages.length, 1);
  same("slow", textOf(await s.tool("slow", {})), "slow, and done");
  await s.call("ping", (c, o) => c.ping(o));
}

async function incarnation(s) {
  return textOf(await s.tool("incarnation", {}));
}

// The state that a new process must receive: a log level above "info", and one subscription.
async function told(s) {
  const before = { messages: s.notified("notifications/message").length, updates: s.notified("notifications/resources/updated").length };
  same("subscriptions", textOf(await s.tool("say", {})), "note:///one");
  await s.until("the update", () => s.notified("notifications/resources/updated").length > before.updates);
  const messages = s.notified("notifications/message").slice(before.messages);
  same("what is heard", messages.map((m) => m.level), ["error"]);
}

async function tellState(s) {
  await s.call("level", (c, o) => c.setLoggingLevel("info", o));
  await s.call("level", (c, o) => c.setLoggingLevel("warning", o));
  for (const uri of ["note:///one", "note:///two"]) await s.call("subscribe", (c, o) => c.subscribeResource({ uri }, o));
  await s.call("unsubscribe", (c, o) => c.unsubscribeResource({ uri: "note:///two" }, o));
}

async function crashed(s) {
  await everything(s);
  await tellState(s);
  await told(s);
  // While other calls are pending, which may be repeated.
  const others = [s.tool("slow", {}), s.tool("echo", { message: "under way" }), s.call("read", (c, o) => c.readResource({ uri: "note:///one" }, o))];
  await s.tool("crash", {});
  const done = await Promise.all(others);
  same("what was under way", [textOf(done[0]), textOf(done[1]), done[2]?.contents[0].text], ["slow, and done", "under way", "one"]);
  same("the process", await incarnation(s), "2");
  await s.until("word that the tools may be others", () => s.notified("notifications/tools/list_changed").length > 0);
  await told(s);
  await everything(s);
}

// npx starts a shell, which starts the server.
const behindNpx = ({ dir }) => ({
  command: "npx",
  args: ["--offline", "-c", `"${process.execPath}" "${crashing}" "${join(dir, "starts")}"`],
});

async function behind(s) {
  await everything(s);
  await s.tool("hang", {});
  same("the process", await incarnation(s), "2");
  await s.tool("crash", {});
  same("the process", await incarnation(s), "3");
  await everything(s);
}

async function unnoticed(s) {
  await everything(s);
  same("the call that died with its process", textOf(await s.tool("crash-once", {})), "done, by another");
  same("the process", await incarnation(s), "2");
  await everything(s);
}

async function hung(s) {
  await everything(s);
  await tellState(s);
  await s.tool("hang", {});
  same("the process", await incarnation(s), "2");
  await told(s);
  await everything(s);
}

const mails = async (s) => textOf(await s.tool("mails", {}));

// A call times out, at the interposer or at the client itself, and is made again: refused once, then forwarded.
async function repeated(s) {
  await everything(s);
  for (let i = 0; i < 2; i++) await s.tool("mail", { to: "a" });
  same("mails after the refusal", await mails(s), "1");
  await s.tool("mail", { to: "a" });
  same("mails after the client insisted", await mails(s), "2");
  await s.tool("mail", { to: "b" }, { timeout: 200 });
  await s.tool("mail", { to: "b" });
  same("mails after the client gave up, and was refused", await mails(s), "3");
}

const gone = (name) => ({ call: `${name} {}`, code: -32000, cause: "server-exited" });
export const crash_cases = [
  { name: "a crash in the middle of a session", server, play: crashed, trouble: [gone("crash")], restarts: 1 },
  { name: "a crash that the client need not know of", server, play: unnoticed, trouble: [], restarts: 1 },
  {
    name: "a hang in the middle of a session",
    server,
    interposer: ["--timeout", "tool:hang=700ms", "--on-hang", "kill-now"],
    play: hung,
    trouble: [{ call: "hang {}", code: -32001, cause: "hang" }],
    restarts: 1,
  },
  {
    name: "a hang and a crash behind npx",
    server: behindNpx,
    interposer: ["--timeout", "110s,tool:hang=700ms", "--on-hang", "kill-now"],
    play: behind,
    trouble: [{ call: "hang {}", code: -32001, cause: "hang" }, gone("crash")],
    restarts: 2,
  },
  {
    name: "a call that may have run and is made again",
    server,
    interposer: ["--timeout", "tool:mail=1500ms", "--on-repeat", "refuse"],
    play: repeated,
    trouble: [
      { call: 'mail {"to":"a"}', code: -32001, cause: "timeout" },
      { call: 'mail {"to":"a"}', code: -32600, cause: "repeat-of-uncertain" },
      { call: 'mail {"to":"a"}', code: -32001, cause: "timeout" },
      { call: 'mail {"to":"b"}', code: -32001, cause: undefined },
      { call: 'mail {"to":"b"}', code: -32600, cause: "repeat-of-uncertain" },
    ],
    restarts: 0,
  },
];

// The failures in the transcript.
export function troubleOf({ transcript }) {
  return transcript.calls
    .filter((c) => c.error)
    .map(({ call, error }) => ({ call, code: error.code, cause: error.data?.cause }));
}
