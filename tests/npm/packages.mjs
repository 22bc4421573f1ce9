// packaging/npm/build: what is in the packages, and what it refuses.

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM, ROOT, VERSION, has, run, same, test, tmp } from "./lib.mjs";

const BUILD = join(ROOT, "packaging/npm/build");
export const PLATFORM = `linux-${process.arch}`;

async function unpack(tarball) {
  const dir = join(tmp, "unpacked", String(Math.random()));
  mkdirSync(dir, { recursive: true });
  await run("tar", ["xzf", tarball, "-C", dir]);
  return join(dir, "package");
}

const manifest = (dir) => JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));

// The tarballs, in the order in which they are published.
async function build() {
  mkdirSync(join(tmp, "home"), { recursive: true });
  const { stdout } = await run(BUILD, ["--out", join(tmp, "tarballs"), "--dynamic", `${PLATFORM}=${PROGRAM}`]);
  return stdout.trim().split("\n");
}

// Returns the tarballs: without them there is nothing to test.
export async function packageCases() {
  const tarballs = await build();

  await test("packages: no scripts, one optional dependency for each platform, in exactly this version", async () => {
    same(tarballs.length, 2, "number of tarballs");
    const [program, launcher] = await Promise.all(tarballs.map(unpack));
    const [a, b] = [manifest(program), manifest(launcher)];
    same([a.name, a.version, a.os, a.cpu], [`@mcp-interposer/${PLATFORM}`, VERSION, ["linux"], [process.arch]], "the program's package");
    same([b.name, b.version, b.os, b.cpu], ["mcp-interposer", VERSION, undefined, undefined], "the launcher's package");
    same(b.optionalDependencies, { [a.name]: VERSION }, "optional dependencies");
    for (const m of [a, b]) {
      same([m.scripts, m.dependencies, m.license, m.publishConfig], [undefined, undefined, "MIT", { access: "public" }], m.name);
      for (const key of ["repository", "homepage", "bugs"]) same(m[key], undefined, key);
    }
    for (const file of [join(program, "bin/mcp-interposer"), join(launcher, b.bin["mcp-interposer"])])
      same(statSync(file).mode & 0o777, 0o755, file);
    for (const file of [join(program, "share/doc/mcp-interposer/options.md"), join(launcher, b.man[0]), join(launcher, "LICENSE"),
      join(program, "LICENSE"), join(launcher, "README.md")])
      if (!existsSync(file)) throw new Error(`there is no ${file}`);
    has((await run(join(program, "bin/mcp-interposer"), ["help"])).stdout, join(program, "share/doc/mcp-interposer"));
  });

  await test("packages: a program of another platform or version, or one with shared libraries, is refused", async () => {
    const other = join(tmp, "other");
    const refused = async (words, text, status = 1) =>
      has((await run(BUILD, ["--out", join(tmp, "refused"), ...words], { status })).stderr, text);
    const foreign = process.arch === "x64" ? "linux-arm64" : "linux-x64";
    await refused([`${foreign}=${PROGRAM}`], `${PROGRAM} is not a program for ${foreign}`);
    await refused([`${PLATFORM}=${BUILD}`], `${BUILD} is not a program for ${PLATFORM}`);
    await refused([`${PLATFORM}=/nowhere`], "/nowhere: No such file or directory");
    await refused([`${PLATFORM}=/bin/true`], "needs shared libraries, which others may not have: use a program of make dist");
    await refused(["--dynamic", `${PLATFORM}=/bin/true`], `expected 'mcp-interposer ${VERSION}'`);
    await refused(["darwin-arm64=/bin/true"], "expected one PLATFORM=PROGRAM for each platform, of: linux-x64, linux-arm64", 2);
    await refused([`${PLATFORM}=${PROGRAM}`, `${PLATFORM}=${PROGRAM}`], "invalid argument", 2);
    writeFileSync(other, readFileSync("/bin/true").subarray(0, 10));
    await refused([`${PLATFORM}=${other}`], "is not a program for");
    same(existsSync(join(tmp, "refused")), false, "a directory of a build that was refused");
  });
  return tarballs;
}
