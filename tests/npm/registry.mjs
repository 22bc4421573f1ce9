// A registry on the loopback interface (verdaccio), which knows what is published to it, and nothing else unless it may ask
// another registry.

import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runServer } from "verdaccio";
import { run, tmp } from "./lib.mjs";

// Starts it, and makes it the registry of the home directory of the tests. others: the URL of the registry for other packages.
export async function startRegistry(others) {
  const home = join(tmp, "home");
  const config = join(tmp, "verdaccio.yaml");
  const own = { access: "$all", publish: "$all" };
  mkdirSync(home, { recursive: true });
  mkdirSync(join(tmp, "prefix/lib"), { recursive: true }); // npm 9 needs it
  writeFileSync(config, JSON.stringify({
    storage: join(tmp, "storage"),
    auth: { htpasswd: { file: join(tmp, "htpasswd") } },
    uplinks: others ? { others: { url: others } } : {},
    packages: { "mcp-interposer": own, "@mcp-interposer/*": own, "**": { access: "$all", ...(others && { proxy: "others" }) } },
    log: { type: "file", path: join(tmp, "verdaccio.log"), format: "json", level: "warn" },
  }));
  const server = await runServer(config);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${server.address().port}/`;
  // npm does not publish without a token, whatever it is.
  writeFileSync(join(home, ".npmrc"), `registry=${url}\n${url.replace("http:", "")}:_authToken=anyone\n`);
  return {
    url,
    publish: (tarball) => run("npm", ["publish", "--tag", "latest", tarball]),
    stop: () => new Promise((done) => (server.close(done), server.closeAllConnections())),
  };
}
