// `send`: requests to server-everything, typed and recorded.

import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { execute, outcome } from "./client.mjs";
import { same } from "./vault.mjs";

// test(name, check) as in main.mjs.
export async function checkSend({ interposer, root, settings, packages, test: tell }) {
  const dir = join(root, "sending");
  await mkdir(dir);
  const env = { ...process.env, ...settings, HOME: dir };
  const server = ["--", process.execPath, `${packages}/server-everything/dist/index.js`];
  const send = async (...args) => {
    const argv = ["send", "--vault", join(dir, "vault"), ...args];
    const { stdout, stderr, code } = await outcome(interposer, argv, { env });
    last = `${argv.slice(3).join(" ").slice(0, 200)} ended with ${code}; stderr: ${stderr}`;
    return { out: stdout, err: stderr, code };
  };
  let last = ""; // what a failed case says of the last command
  const test = (name, check) => tell(name, () => check().catch((error) => Promise.reject(new Error(`${error.message}\n${last}`))));

  await test("send: --list prints the tools", async () => {
    const { out, code } = await send("--list", ...server);
    same("exit status", code, 0);
    for (const line of ["echo  read-only  ", "\nget-sum  read-only  ", "\n  a=number  required  ", "\n  message=string  required  "]) {
      if (!out.includes(line)) throw new Error(`${JSON.stringify(line)} is not in ${out}`);
    }
  });
  await test("send: calls of tools, resources and prompts", async () => {
    same("echo", (await send("echo", "message=42", ...server)).out, "Echo: 42\n");
    same("get-sum", (await send("tools/call", "get-sum", "a=1", "b=2", ...server)).out, "The sum of 1 and 2 is 3.\n");
    same("structured content", JSON.parse((await send("get-structured-content", "location=Chicago", ...server)).out).conditions, "Light rain / drizzle");
    same("a prompt", (await send("prompts/get", "args-prompt", "city=Oslo", ...server)).out, "role: user\nWhat's weather in Oslo?\n");
    const read = await send("resources/read", "demo://resource/static/document/features.md", ...server);
    same("a resource", read.out.startsWith("resource: demo://resource/static/document/features.md\n# "), true);
    same("a wrong argument", (await send("get-sum", "a=1", "b=x", ...server)).code, 2);
    same("a wrong argument, sent", (await send("--unchecked", "get-sum", "a=1", "b=x", ...server)).code, 1);
  });
  await test("send: an image is a file", async () => {
    const { out } = await send("get-tiny-image", "--output", dir, ...server);
    same("what is printed", out.split("\n")[1], `image/png, 4033 bytes: ${join(dir, "image-1.png")}`);
    same("the file", (await readFile(join(dir, "image-1.png"))).subarray(1, 4).toString(), "PNG");
    same("files", (await readdir(dir)).filter((name) => name.endsWith(".png")), ["image-1.png"]);
  });
  await test("send: progress extends the deadline of the answer", async () => {
    const args = ["trigger-long-running-operation", "duration=8", "steps=80", "--timeout", "6s", "--set", "/_meta/progressToken=p"];
    const { out, err, code } = await send(...args, ...server);
    same("the answer", [code, out], [0, "Long running operation completed. Duration: 8 seconds, Steps: 80.\n"]);
    same("progress", err.includes("note: progress 1 of 80"), true);
  });
  await test("send: a recorded request again, changed", async () => {
    const first = await send("get-sum", "a=1", "b=2", ...server);
    const session = /recorded as session (\d+)/.exec(first.err)[1];
    const shown = await execute(interposer, ["show", session, "--json", "--tool", "get-sum", "--vault", join(dir, "vault")], { env });
    const seq = String(shown.stdout.trim().split("\n").map((line) => JSON.parse(line)).find(({ kind }) => kind === "request").seq);
    same("unchanged", (await send("--seq", seq, "--session", session)).out, "The sum of 1 and 2 is 3.\n\nthe answer is as recorded\n");
    const changed = await send("--seq", seq, "--session", session, "--set", "/arguments/b=5");
    same("changed", changed.out.startsWith("The sum of 1 and 5 is 6.\n\ndifference from the recorded answer:\n/content/0/text\n"), true);
  });
}
