// A registry with these packages, until stdin ends. Prints its URL.
//
//   node tests/npm/serve.mjs [--all] TARBALL...
//
// --all: packages that were not published to it come from the registry that npm uses.

import { execFileSync } from "node:child_process";
import { startRegistry } from "./registry.mjs";

const tarballs = process.argv.slice(2).filter((word) => word !== "--all");
const others = process.argv[2] === "--all" ? execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim() : undefined;
const registry = await startRegistry(others);
for (const tarball of tarballs) await registry.publish(tarball);
console.log(registry.url);
process.stdin.resume().on("end", () => process.exit(0));
