// Usage: serve.mjs SERVER PATH. For each connection to the Unix socket PATH, the module SERVER is evaluated again: a new
// server, as if it were a process of its own, without the time that node and the SDK take to start. fakes/connect is its command.
import { createServer } from "node:net";
import { share } from "./stdio.mjs";

const [server, path] = process.argv.slice(2);
let sessions = 0;
createServer({ allowHalfOpen: true }, (socket) => {
  const key = `?${++sessions}`;
  share(key, { input: socket, output: socket });
  socket.on("error", () => {}); // its client was killed
  socket.on("end", () => setTimeout(() => socket.end(), 100)); // answers to the last lines
  import(`./${server}${key}`);
}).listen(path, () => process.send({ port: path }));
process.once("disconnect", () => process.exit());
