// Usage: again.mjs PROGRAM, as a child with a channel. Evaluates the module PROGRAM anew for each message {args, env}, as if it
// were started with them, and answers {code}. Most of the time of a start is the import of its packages.
import { pathToFileURL } from "node:url";

const program = pathToFileURL(process.argv[2]).href;
const exited = new Error("process.exit() was called");
let runs = 0;
let end;
process.exit = (code) => {
  end(code);
  throw exited;
};
process.on("unhandledRejection", (error) => {
  if (error !== exited) throw error;
});
process.channel.ref(); // there is always another run
process.on("message", async ({ args, env }) => {
  const code = new Promise((done) => (end = done));
  Object.assign(process.env, env);
  process.argv = [process.execPath, program, ...args];
  await import(`${program}?${++runs}`);
  process.send({ code: await code });
});
