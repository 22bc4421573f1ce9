// The official servers and the Inspector, each as one or a few files: node starts them in less than half of the time that it needs
// for the hundreds of files of the packages.

import { cp, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

// What to bundle, and what the programs read: paths in node_modules/@modelcontextprotocol, and where a copy goes if that is
// elsewhere. dist/index.js, which has the code of dist/server and dist/resources, looks for the documents in `../docs`.
const PROGRAMS = [
  "server-everything/dist/index.js", "server-filesystem/dist/index.js", "server-memory/dist/index.js",
  "inspector/clients/launcher/build/index.js", "inspector/clients/cli/build/index.js",
];
const FILES = [
  ["server-everything/dist/docs", "server-everything/docs"],
  ...["server-everything", "server-filesystem", "server-memory", "inspector"].map((name) => [`${name}/package.json`, `${name}/package.json`]),
];

// Returns a folder in which the programs have the same paths as in `packages`. It is made once for each installation of the
// packages, and appears in one step: several runs may want it.
export async function bundle(packages) {
  const cache = join(packages, "../.bundles");
  const made = join(cache, "1"); // to be increased when this file changes
  if (await stat(made).catch(() => undefined)) return made;
  const { rolldown } = await import("rolldown");
  await mkdir(cache, { recursive: true });
  const dir = await mkdtemp(join(cache, "new-"));
  for (const program of PROGRAMS) {
    const build = await rolldown({ input: join(packages, program), external: /^@napi-rs\//, platform: "node", logLevel: "silent" }); // native
    await build.write({ dir: dirname(join(dir, program)), format: "esm", entryFileNames: "index.js" });
    await build.close();
  }
  for (const [from, to] of FILES) await cp(join(packages, from), join(dir, to), { recursive: true });
  await rename(dir, made).catch(() => rm(dir, { recursive: true })); // another run was faster
  return made;
}
