#!/usr/bin/env node
// The command mcp-interposer of the npm package: starts the program from the package for this platform.
//
// The program takes the place of this process if Node has process.execve (22.15, 23.11 or later): signals, stdin, stdout
// and the exit status are then its own. Otherwise it is a child process that inherits stdin, stdout and stderr: signals are
// forwarded to it, and this process ends as it has ended, by the same status or signal. A signal that cannot be
// forwarded (SIGKILL) ends this process alone; the program ends when the client closes its stdin.
//
// Exit status, if the program cannot be started: 3, with a message on stderr.
"use strict";

// What only some starts need is loaded there: every start counts.
const fs = require("node:fs");
const path = require("node:path");

const NAME = "mcp-interposer";
const EXIT_TROUBLE = 3;
// Signals that end a process by default, except those that cannot be caught (SIGKILL) or that a fault of this process
// raises (SIGSEGV and others); and SIGCONT.
const FORWARDED = [
  "SIGHUP", "SIGINT", "SIGQUIT", "SIGABRT", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCONT",
  "SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPWR",
];
// Node ignores these. Whoever inherits that would not be ended by them.
const IGNORED_BY_NODE = ["SIGPIPE", "SIGXFSZ"];

function fail(...lines) {
  fs.writeSync(2, `${NAME}: error: ${lines.join("\n  ")}\n`);
  process.exit(EXIT_TROUBLE);
}

function findProgram() {
  const dependency = `@${NAME}/${process.platform}-${process.arch}`;
  try {
    const program = require.resolve(`${dependency}/bin/${NAME}`);
    fs.accessSync(program, fs.constants.X_OK); // process.execve would abort
    return program;
  } catch (error) {
    return explain(dependency, error.message.split("\n")[0]);
  }
}

// Why there is no program, and what to do.
function explain(dependency, reason) {
  const { version, optionalDependencies } = require("../package.json");
  const platform = (name) => name.split("/")[1];
  if (!(dependency in optionalDependencies))
    fail(`this package has no program for ${platform(dependency)}, only for ${Object.keys(optionalDependencies).map(platform).join(", ")}.`,
      "Use it on such a system: on Windows in WSL, elsewhere in a virtual machine or a container.");
  fail(`the package ${dependency}, which contains the program, is not usable: ${reason}.`,
    "npm leaves it out with --omit=optional or --no-optional, and when node_modules was installed on another system.",
    `Install again without these options, or add the package: npm install ${dependency}@${version}`);
}

// Whether PATH leads to this file. Directories node_modules/.bin do not count: npx and npm scripts put them into PATH
// for as long as they run.
function isInPath() {
  for (const dir of (process.env.PATH ?? "").split(path.delimiter)) {
    if (!path.isAbsolute(dir) || path.resolve(dir).endsWith(path.join("node_modules", ".bin"))) continue;
    try {
      return fs.realpathSync(path.join(dir, NAME)) === __filename;
    } catch {
      // not in this directory
    }
  }
  return false;
}

// What `wrap` writes into the configuration of clients (docs/options.md). A version: what the clients run changes only when
// the user wraps again. --prefer-offline: npx does not ask the registry when it has this version.
function environment(command) {
  if (command !== "wrap" || process.env.MCP_INTERPOSER_COMMAND) return process.env;
  const { version } = require("../package.json");
  return { ...process.env, MCP_INTERPOSER_COMMAND: isInPath() ? NAME : `npx -y --prefer-offline ${NAME}@${version}` };
}

// Default action again, which Node has changed.
function reset(signals) {
  for (const signal of signals) {
    process.on(signal, () => {});
    process.removeAllListeners(signal);
  }
}

function become(program, args, env) {
  reset(IGNORED_BY_NODE);
  process.execve(program, [NAME, ...args], env);
}

function end(status, signal) {
  if (signal) {
    if (signal !== "SIGKILL") reset([...FORWARDED, signal]);
    process.kill(process.pid, signal);
  }
  process.exit(signal ? 128 + require("node:os").constants.signals[signal] : status);
}

function spawn(program, args, env) {
  let child;
  // First: a signal that arrives now is forwarded as soon as there is a child.
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child = require("node:child_process").spawn(program, args, { argv0: NAME, env, stdio: "inherit" });
  child.on("error", (error) => fail(`cannot start ${program}: ${error.message}`));
  child.on("exit", end);
}

const args = process.argv.slice(2);
const start = process.execve ? become : spawn;
start(findProgram(), args, environment(args[0]));
