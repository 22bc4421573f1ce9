// The official SDK of a major version, from the packages of tests/sdk and tests/revision-2026.
import { createRequire } from "node:module";

export function sdk(major) {
  if (major === "1") {
    const load = createRequire(new URL("../sdk/package.json", import.meta.url));
    const part = (name) => load(`@modelcontextprotocol/sdk/${name}.js`);
    return {
      Client: part("client/index").Client,
      StdioClientTransport: part("client/stdio").StdioClientTransport,
      clientOptions: {},
      Server: part("server/index").Server,
      StdioServerTransport: part("server/stdio").StdioServerTransport,
      CALL: part("types").CallToolRequestSchema,
    };
  }
  const load = createRequire(new URL("../revision-2026/package.json", import.meta.url));
  return {
    Client: load("@modelcontextprotocol/client").Client,
    StdioClientTransport: load("@modelcontextprotocol/client/stdio").StdioClientTransport,
    clientOptions: { versionNegotiation: { mode: "legacy" } },
    Server: load("@modelcontextprotocol/server").Server,
    StdioServerTransport: load("@modelcontextprotocol/server/stdio").StdioServerTransport,
    CALL: "tools/call",
  };
}

const LONGEST = 2000;

// A value as one short text: JSON but for numbers that JSON has not. Not recursive: JSON.stringify has not the stack
// for 10,000 levels. Of a long text it has the length and a checksum.
export function describe(value) {
  const out = [];
  const rest = [{ value }];
  while (rest.length > 0) {
    const { words, value: v } = rest.pop();
    if (words !== undefined) out.push(words);
    else if (Array.isArray(v)) {
      rest.push({ words: "]" });
      for (let i = v.length - 1; i >= 0; i--) rest.push({ value: v[i] }, { words: i > 0 ? "," : "" });
      rest.push({ words: "[" });
    } else if (v !== null && typeof v === "object") {
      const keys = Object.keys(v);
      rest.push({ words: "}" });
      for (let i = keys.length - 1; i >= 0; i--)
        rest.push({ value: v[keys[i]] }, { words: `${i > 0 ? "," : ""}${JSON.stringify(keys[i])}:` });
      rest.push({ words: "{" });
    } else if (Object.is(v, -0)) out.push("-0");
    else out.push(typeof v === "string" ? JSON.stringify(v) : String(v));
  }
  const text = out.join("");
  if (text.length <= LONGEST) return text;
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) >>> 0;
  return `${text.slice(0, 60)}… (${text.length} characters, ${sum})`;
}
