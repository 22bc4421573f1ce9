// Conformance 0.2 in a folder of its own, with two changes:
// - One function is not imported. Node 20 lacks it, and the scenarios of servers do not call it.
// - `server-stateless` is not of 2026-07-28 any more. It gives a process that is still to be started half a second.
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const CHANGES = [
  ["globSync as a,", ""],
  ["this.name=`server-stateless`,this.source={introducedIn:A}", "this.name=`server-stateless`,this.source={introducedIn:A,removedIn:A}"],
];

// Returns the program. root: gets a link to node_modules, where the program finds its packages.
export async function changed(root) {
  const from = resolve("node_modules/conformance-2026");
  const to = join(root, "conformance-2026");
  let source = await readFile(join(from, "dist/index.js"), "utf8");
  for (const [before, after] of CHANGES) {
    if (source.split(before).length !== 2) throw new Error(`this is another version: no single ${before}`);
    source = source.replace(before, after);
  }
  await mkdir(join(to, "dist"), { recursive: true });
  await writeFile(join(to, "dist/index.js"), source);
  await cp(join(from, "package.json"), join(to, "package.json"));
  for (const folder of ["requirements", "node_modules"]) await symlink(join(from, folder), join(to, folder));
  await symlink(resolve("node_modules"), join(root, "node_modules"));
  return join(to, "dist/index.js");
}
