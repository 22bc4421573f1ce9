// server-filesystem on a directory of its own: every tool, roots, large files, a start that fails.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const NO_OBJECT = "arguments that are no object";
const filesystem = (...folders) => ({ packages, dir }) => ({
  command: process.execPath,
  args: [`${packages}/server-filesystem/dist/index.js`, ...folders.map((f) => join(dir, f))],
});
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

async function folder({ dir }) {
  await mkdir(join(dir, "files", "sub", "deep"), { recursive: true });
  await mkdir(join(dir, "more"));
  await writeFile(join(dir, "files", "lines.txt"), Array.from({ length: 20 }, (_, i) => `line ${i + 1}\n`).join(""));
  await writeFile(join(dir, "files", "ünïcode 文.txt"), "grüße ✓\u2028and a line separator\n");
  await writeFile(join(dir, "files", "empty"), "");
  await writeFile(join(dir, "files", "dot.png"), Buffer.from(PNG, "base64"));
  await writeFile(join(dir, "files", "tone.mp3"), Buffer.from([0x49, 0x44, 0x33, 4, 0, 0]));
  await writeFile(join(dir, "files", "data.bin"), Buffer.from([0, 255, 10, 13, 128]));
  await writeFile(join(dir, "files", "sub", "a.md"), "# a\n");
  await writeFile(join(dir, "files", "sub", "deep", "b.md"), "# b\n");
  await writeFile(join(dir, "more", "other.txt"), "other\n");
}

async function tools(s) {
  const { tools } = await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  const at = (...names) => join(s.dir, "files", ...names);
  const outside = join(s.dir, "..", "outside.txt");
  const good = {
    read_file: [{ path: at("lines.txt") }],
    read_text_file: [{ path: at("ünïcode 文.txt") }, { path: at("empty") }, { path: at("lines.txt"), head: 2 }, { path: at("lines.txt"), tail: 3 }, { path: at("data.bin") }],
    read_media_file: [{ path: at("dot.png") }, { path: at("tone.mp3") }, { path: at("data.bin") }],
    read_multiple_files: [{ paths: [at("lines.txt"), at("nowhere"), at("sub", "a.md"), outside] }],
    write_file: [{ path: at("new.txt"), content: "one\ntwo\nthree\n" }, { path: at("new.txt"), content: "one\n\ttwo \"2\"\n\u0000three\n" }],
    edit_file: [
      { path: at("lines.txt"), edits: [{ oldText: "line 3\nline 4", newText: "drei\nvier" }], dryRun: true },
      { path: at("lines.txt"), edits: [{ oldText: "line 3\nline 4", newText: "drei\nvier" }] },
    ],
    create_directory: [{ path: at("made", "by", "us") }, { path: at("made") }],
    list_directory: [{ path: at() }, { path: at("made") }],
    list_directory_with_sizes: [{ path: at() }, { path: at(), sortBy: "size" }],
    directory_tree: [{ path: at() }, { path: at(), excludePatterns: ["deep", "*.txt"] }],
    move_file: [{ source: at("new.txt"), destination: at("made", "moved.txt") }],
    search_files: [{ path: at(), pattern: "**/*.md" }, { path: at(), pattern: "nothing*" }],
    get_file_info: [{ path: at("sub", "a.md") }, { path: at("sub") }],
    list_allowed_directories: [{}],
  };
  const bad = {
    read_file: [{ path: at("nowhere") }],
    read_text_file: [{ path: at("lines.txt"), head: 1, tail: 1 }, { path: outside }, { path: at("..", "..", "..", "etc", "passwd") }, {}],
    read_media_file: [{ path: at("nowhere.png") }],
    read_multiple_files: [{ paths: [] }],
    write_file: [{ path: outside, content: "x" }, { path: at("x") }],
    edit_file: [{ path: at("lines.txt"), edits: [{ oldText: "not there", newText: "x" }] }],
    create_directory: [{ path: outside }, { path: at("lines.txt", "below") }],
    list_directory: [{ path: at("lines.txt") }],
    list_directory_with_sizes: [{ path: at(), sortBy: "colour" }],
    directory_tree: [{ path: at("nowhere") }],
    move_file: [{ source: at("nowhere"), destination: at("x") }, { source: at("empty"), destination: at("lines.txt") }],
    search_files: [{ path: at("nowhere"), pattern: "*" }],
    get_file_info: [{ path: "relative" }, { path: 7 }],
  };
  for (const { name } of tools) {
    for (const args of good[name] ?? []) await s.tool(name, args);
    for (const args of [...(bad[name] ?? []), NO_OBJECT]) await s.tool(name, args);
  }
  await s.call("ping", (c, o) => c.ping(o));
  // Features that this server does not have.
  await s.call("resources/list", (c, o) => c.listResources(undefined, o));
  await s.call("prompts/get", (c, o) => c.getPrompt({ name: "x" }, o));
  await s.call("completion", (c, o) => c.complete({ ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } }, o));
  await s.call("level", (c, o) => c.setLoggingLevel("info", o));
}

async function large(s) {
  const path = join(s.dir, "files", "large.txt");
  const content = "0123456789abcdef €\t\"\\\n".repeat(60_000); // 1.4 MB, and every kind of escape
  await s.tool("write_file", { path, content });
  const back = await s.tool("read_text_file", { path });
  if (back?.structuredContent?.content !== content) throw new Error("the large file did not come back as it was written");
  await Promise.all(Array.from({ length: 4 }, () => s.tool("read_text_file", { path })));
  await s.tool("get_file_info", { path });
}

async function roots(s) {
  let roots = [{ uri: pathToFileURL(join(s.dir, "files")).href, name: "files" }];
  s.serve(ListRootsRequestSchema, async () => ({ roots }));
  const heard = (text) => s.stderr.split(text).length - 1;
  const updated = "Updated allowed directories from MCP roots";
  await s.until("the first roots", () => heard(updated) === 1);
  await s.tool("list_allowed_directories", {});
  await s.tool("read_text_file", { path: join(s.dir, "files", "sub", "a.md") });
  await s.tool("read_text_file", { path: join(s.dir, "more", "other.txt") });

  roots = [...roots, { uri: pathToFileURL(join(s.dir, "more")).href }, { uri: "file:///no/such/directory" }];
  await s.call("roots/list_changed", (c) => c.sendRootsListChanged());
  await s.until("the new roots", () => heard(updated) === 2);
  await s.tool("list_allowed_directories", {});
  await s.tool("read_text_file", { path: join(s.dir, "more", "other.txt") });

  roots = [];
  await s.call("roots/list_changed", (c) => c.sendRootsListChanged());
  await s.until("a word on no roots", () => heard("No valid root directories") === 1);
  await s.tool("list_allowed_directories", {});
}

const nothing = async () => {};

export const filesystem_cases = [
  { name: "filesystem tools", server: filesystem("files"), prepare: folder, ordered: true, play: tools },
  { name: "filesystem large files", server: filesystem("files"), interposer: ["--record", "full"], prepare: folder, play: large },
  { name: "filesystem roots", server: filesystem(), prepare: folder, capabilities: { roots: { listChanged: true } }, ordered: true, play: roots },
  // The server reports the reason on stderr and exits with status 1; there is no session to record.
  {
    name: "filesystem without its directory",
    server: filesystem("nowhere"),
    dies: true,
    interposer: ["--restarts", "0"],
    says: ["the server exited"],
    play: nothing,
  },
];
