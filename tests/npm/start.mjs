// The time of a start: the program alone, Node alone, and the launcher in both ways. They take turns.
//
//   node tests/npm/start.mjs [STARTS]      default 20 of each; MCP_INTERPOSER is the program
//
// Prints the median and the minimum in ms, from before the fork to the end of `--version`.

import { spawnSync } from "node:child_process";
import { PROGRAM, environment, tmp } from "./lib.mjs";
import { installLauncher } from "./launcher.mjs";
import { build } from "./packages.mjs";
import { runtimes } from "./runtimes.mjs";

const starts = Number(process.argv[2] ?? 20);
const launcher = await installLauncher(await build());
const commands = [{ name: "the program", command: [PROGRAM, "--version"], env: {}, times: [] }];
for (const { name, node, env } of runtimes) {
  const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  commands.push({ name: `node -e 0, ${stdout.trim()}`, command: [node, "-e", "0"], env, times: [] });
  commands.push({ name: `launcher, ${name}`, command: [node, launcher, "--version"], env, times: [] });
}
for (let i = 0; i < starts; i++)
  for (const { command, env, times } of commands) {
    const before = process.hrtime.bigint();
    const { status } = spawnSync(command[0], command.slice(1), { cwd: tmp, env: environment(env), stdio: "ignore" });
    if (status !== 0) throw new Error(`${command} ended with ${status}`);
    times.push(Number(process.hrtime.bigint() - before) / 1e6);
  }
console.log(`${"ms".padEnd(34)}median  minimum`);
for (const { name, times } of commands) {
  times.sort((a, b) => a - b);
  const shown = [times[times.length >> 1], times[0]].map((ms) => ms.toFixed(1).padStart(8)).join("");
  console.log(`${name.padEnd(32)}${shown}`);
}
