// Preloaded into conformance 0.2, which is read with two changes:
// - One function is not imported. Node 20 lacks it, and the scenarios of servers do not call it.
// - `server-stateless` is not of 2026-07-28 any more. It gives a process that is still to be started half a second.
import { register } from "node:module";

const hooks = `
const changes = [
  ["globSync as a,", ""],
  ["this.name=\`server-stateless\`,this.source={introducedIn:A}", "this.name=\`server-stateless\`,this.source={introducedIn:A,removedIn:A}"],
];
export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.endsWith("/conformance-2026/dist/index.js")) return loaded;
  let source = String(loaded.source);
  for (const [from, to] of changes) {
    if (source.split(from).length !== 2) throw new Error("this is another version: no single " + from);
    source = source.replace(from, to);
  }
  return { ...loaded, source };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
