// A registry on the loopback interface (verdaccio), which knows only what is published to it.

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runServer } from "verdaccio";
import { run, tmp } from "./lib.mjs";

// Starts it, and makes it the registry of the home directory of the tests.
export async function startRegistry() {
  const home = join(tmp, "home");
  const config = join(tmp, "verdaccio.yaml");
  mkdirSync(home, { recursive: true });
  mkdirSync(join(tmp, "prefix/lib"), { recursive: true }); // npm 9 needs it
  writeFileSync(config, JSON.stringify({
    storage: join(tmp, "storage"),
    auth: { htpasswd: { file: join(tmp, "htpasswd") } },
    packages: { "**": { access: "$all", publish: "$all" } },
    log: { type: "file", path: join(tmp, "verdaccio.log"), format: "json", level: "warn" },
  }));
  const server = await runServer(config);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address();
  // npm does not publish without a token, whatever it is.
  writeFileSync(join(home, ".npmrc"), `registry=http://127.0.0.1:${port}/\n//127.0.0.1:${port}/:_authToken=anyone\n`);
  return {
    publish: (tarball) => run("npm", ["publish", tarball]),
    stop: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
  };
}
