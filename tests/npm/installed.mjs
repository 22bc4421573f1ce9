// The packages as users get them: npx, npm install, npm install -g.

import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { SERVER, VERSION, alive, deadline, environment, family, has, run, same, skip, test, tmp, until } from "./lib.mjs";
import { PLATFORM } from "./packages.mjs";
import { reasonWithoutExecve, runtimes } from "./runtimes.mjs";
import { Session } from "./session.mjs";
import { startRegistry } from "./registry.mjs";

const NPX = ["-y", "--prefer-offline", `mcp-interposer@${VERSION}`];
const home = join(tmp, "home");

// A session of the SDK's client: one call. Every process that it started must end.
async function callOnce(command, args, env) {
  const client = new Client({ name: "npm-test", version: "1.2.3" });
  const transport = new StdioClientTransport({ command, args, env: environment(env), cwd: home, stderr: "pipe" });
  let stderr = "";
  transport.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  await client.connect(transport, { timeout: deadline(20_000) }).catch((error) => {
    throw new Error(`${error.message}\n${stderr}`);
  });
  const started = family(transport.pid);
  const { content } = await client.callTool({ name: "count_words", arguments: { text: "one two three" } }, undefined, { timeout: deadline(10_000) });
  await client.close();
  same(content[0].text, "3 words", "the answer");
  await until("the end of every process of the session", () => alive(started).length === 0, () => alive(started));
  same(stderr, "", "stderr");
}

async function newestSession(env) {
  const { stdout } = await run("npx", ["-y", "mcp-interposer", "sessions", "-n", "1", "--json"], { env });
  const { name, state, client_name, calls, ok } = JSON.parse(stdout);
  return [name, state, client_name, calls, ok];
}

const configFile = join(home, ".cursor/mcp.json");
const original = JSON.stringify({ mcpServers: { words: { command: SERVER[0], args: SERVER.slice(1) } } });

function configure() {
  mkdirSync(join(home, ".cursor"), { recursive: true });
  writeFileSync(configFile, original);
}

const entry = () => JSON.parse(readFileSync(configFile, "utf8")).mcpServers.words;

async function npxCases(registry) {
  for (const { name, env } of runtimes)
    await test(`npx (${name}): a session of the SDK's client is forwarded, recorded, and leaves no process behind`, async () => {
      await callOnce("npx", ["-y", "mcp-interposer", "proxy", "--name", name, "--", ...SERVER], env);
      same(await newestSession(env), [name, "ended", "npm-test", 2, 2], "the recorded session");
    });
  if (runtimes.length < 2) skip("npx (execve)", reasonWithoutExecve);

  for (const { name, env } of runtimes)
    // npx does not pass SIGINT on: on a terminal all processes get it.
    await test(`npx (${name}): a signal to npx leaves no process behind`, async () => {
      for (const signal of ["SIGTERM", "SIGHUP", "SIGKILL"]) {
        const s = new Session("npx", NPX, env, `npx ${name} ${signal}`, SERVER);
        await s.ask(1);
        process.kill(s.child.pid, signal);
        same(await s.end(), signal, "the end of npx");
        await s.gone();
      }
    });

  await test("npx: wrap writes a command that works without the registry, and unwrap restores the file", async () => {
    configure();
    const { stdout } = await run("npx", ["-y", "mcp-interposer", "wrap"]);
    has(stdout, `undo with: npx ${NPX.join(" ")} unwrap`);
    same(entry(), { command: "npx", args: [...NPX, "proxy", "--name", "words", "--", ...SERVER] }, "the entry");
    await callOnce(entry().command, entry().args); // as the client does it the first time
    await registry.stop();
    await callOnce(entry().command, entry().args); // the next day, without a network
    const list = await run("npx", [...NPX, "wrap", "--list", "--json"]);
    same(JSON.parse(list.stdout).state, "wrapped", "the state");
    has((await run("npx", [...NPX, "doctor", "-v"], { status: null })).stdout, "1 wrapped server");
    await run("npx", [...NPX, "unwrap"]);
    same(readFileSync(configFile, "utf8"), original, "the file");
  });
}

async function projectCases() {
  await test("npm install: in a project, wrap writes the npx command, because the project may be removed", async () => {
    const project = join(tmp, "project");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    await run("npm", ["install", "mcp-interposer"], { cwd: project });
    configure();
    const bin = join(project, "node_modules/.bin");
    await run(join(bin, "mcp-interposer"), ["wrap"], { cwd: project, env: { PATH: `${bin}:${process.env.PATH}` } });
    same([entry().command, entry().args.slice(0, 3)], ["npx", NPX], "the entry");
  });

  await test("npm install --omit=optional: an error that says what to do, and status 3", async () => {
    const project = join(tmp, "omitted");
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), "{}");
    await run("npm", ["install", "--omit=optional", "mcp-interposer"], { cwd: project });
    const { stdout, stderr } = await run(join(project, "node_modules/.bin/mcp-interposer"), ["--version"], { status: 3 });
    has(stderr, `mcp-interposer: error: the package @mcp-interposer/${PLATFORM}, which contains the program, is not usable:`);
    has(stderr, `npm install @mcp-interposer/${PLATFORM}@${VERSION}`);
    same(stdout, "", "stdout");
  });
}

async function globalCases() {
  const prefix = join(tmp, "global");
  const env = { npm_config_prefix: prefix, PATH: `${prefix}/bin:${process.env.PATH}` };
  await test("npm install -g: the command, its manual, and the path of the program in the configuration of clients", async () => {
    await run("npm", ["install", "-g", "mcp-interposer"], { env });
    same((await run("mcp-interposer", ["--version"], { env })).stdout.split("\n")[0], `mcp-interposer ${VERSION}`, "--version");
    // npm 9 takes the list of manuals from the registry's short description, which has none.
    const npm = parseInt((await run("npm", ["--version"], { env })).stdout);
    same(existsSync(join(prefix, "share/man/man1/mcp-interposer.1")), npm >= 10, "whether there is a manual");
    configure();
    has((await run("mcp-interposer", ["wrap"], { env })).stdout, "undo with: mcp-interposer unwrap");
    const program = entry().command;
    same([program.startsWith(realpathSync(prefix)), program.endsWith(`/@mcp-interposer/${PLATFORM}/bin/mcp-interposer`)], [true, true], program);
    same(entry().args, ["proxy", "--name", "words", "--", ...SERVER], "the arguments");
    await callOnce(program, entry().args, { PATH: "/usr/local/bin:/usr/bin:/bin" });
    await run("mcp-interposer", ["unwrap"], { env });
    same(readFileSync(configFile, "utf8"), original, "the file");
  });

  await test("npm install -g: in a git work tree, wrap writes the plain name, which PATH leads to", async () => {
    configure();
    mkdirSync(join(home, ".cursor/.git"));
    has((await run("mcp-interposer", ["wrap"], { env })).stdout, "by the plain name");
    same(entry().command, "mcp-interposer", "the command");
    await callOnce(entry().command, entry().args, env);
    await run("mcp-interposer", ["unwrap"], { env });
    await run("npm", ["uninstall", "-g", "mcp-interposer"], { env });
    same(existsSync(join(prefix, "bin/mcp-interposer")), false, "the command after npm uninstall");
  });
}

export async function installCases(tarballs) {
  const registry = await startRegistry();
  for (const tarball of tarballs) await registry.publish(tarball);
  await projectCases();
  await globalCases();
  await npxCases(registry);
}
