// Calls the tool of odd_server.py once for each line of stdin, with the SDK's client.
// Usage: odd_client.mjs MAJOR FILE COMMAND [ARG...]
//
// A line is {"arguments": {…}, "ms": N}: the arguments of the call and a limit for it. Prints for each a line
// {"sees": …, "ms": N, "pid": N}: what the caller sees, how long it took, and the server's process afterwards.
// All bytes that the client receives are written to FILE.
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline";
import { setImmediate as turn } from "node:timers/promises";
import { describe, sdk } from "./odd_sdk.mjs";

const [, , major, file, command, ...args] = process.argv;
const { Client, StdioClientTransport, clientOptions } = sdk(major);
const copy = createWriteStream(file);

class Tapped extends StdioClientTransport {
  async start() {
    await super.start();
    this._process.stdout.prependListener("data", (bytes) => copy.write(bytes));
  }
}

const client = new Client({ name: "odd", version: "1" }, clientOptions);
const ends = new Map(); // `n` of the arguments: what to do when that notification has come
client.fallbackNotificationHandler = async ({ params }) => ends.get(params?.data?.end)?.();

async function call(given, ms) {
  const abandon = new AbortController();
  const options = { timeout: ms, signal: abandon.signal };
  const called = client.callTool({ name: "odd", arguments: given }, ...(major === "1" ? [undefined, options] : [options])).then(
    (value) => describe({ result: value }),
    ({ code, message, data }) => describe({ error: { code, message, data } }),
  );
  const nothing = new Promise((resolve) =>
    ends.set(given.n, async () => {
      // What the SDK has read before the notification is with the caller after some turns.
      for (let i = 0; i < 5; i++) await turn();
      resolve("nothing");
    }),
  );
  const sees = await Promise.race([called, nothing]);
  if (sees === "nothing") abandon.abort();
  ends.delete(given.n);
  return sees;
}

await client.connect(new Tapped({ command, args, stderr: "inherit", env: process.env }));
for await (const line of createInterface({ input: process.stdin })) {
  const { arguments: given, ms } = JSON.parse(line);
  const before = performance.now();
  const sees = await call(given, ms);
  const took = performance.now() - before;
  const { _meta } = await client.ping();
  console.log(JSON.stringify({ sees, ms: took, pid: _meta?.pid }));
}
await client.close();
copy.end();
