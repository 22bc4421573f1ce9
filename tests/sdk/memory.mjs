// server-memory with a temporary file: every tool, its resource, and updates of the resource.

import { join } from "node:path";

const NO_OBJECT = "arguments that are no object";
const GRAPH = "memory://knowledge-graph";
const memory = ({ packages, dir }) => ({
  command: process.execPath,
  args: [`${packages}/server-memory/dist/index.js`],
  env: { MEMORY_FILE_PATH: join(dir, "memory.jsonl") },
});

async function graph(s) {
  const { tools } = await s.call("tools/list", (c, o) => c.listTools(undefined, o));
  const { resources } = await s.call("resources/list", (c, o) => c.listResources(undefined, o));
  await s.call("resources/templates/list", (c, o) => c.listResourceTemplates(undefined, o));
  const read = (uri) => s.call(`read ${uri}`, (c, o) => c.readResource({ uri }, o));
  for (const { uri } of resources) await read(uri);
  await read("memory://nowhere");
  await s.call("subscribe", (c, o) => c.subscribeResource({ uri: GRAPH }, o));

  const steps = [
    ["create_entities", {
      entities: [
        { name: "Ada", entityType: "person", observations: ["writes programs", "lives in London"] },
        { name: "Engine", entityType: "machine", observations: [] },
        { name: "Zoë \"Z\" \\ \u2028 𝄞", entityType: "person", observations: ["ünïcode"] },
      ],
    }],
    ["create_entities", { entities: [{ name: "Ada", entityType: "person", observations: ["twice"] }] }],
    ["create_relations", { relations: [{ from: "Ada", to: "Engine", relationType: "programs" }, { from: "Engine", to: "Nobody", relationType: "waits for" }] }],
    ["add_observations", { observations: [{ entityName: "Ada", contents: ["likes numbers", "writes programs"] }] }],
    ["read_graph", {}],
    ["search_nodes", { query: "NUMBERS" }],
    ["search_nodes", { query: "nothing like it" }],
    ["open_nodes", { names: ["Engine", "Nobody"] }],
    ["delete_observations", { deletions: [{ entityName: "Ada", observations: ["lives in London"] }] }],
    ["delete_relations", { relations: [{ from: "Engine", to: "Nobody", relationType: "waits for" }] }],
    ["read_graph", {}],
    ["delete_entities", { entityNames: ["Engine"] }],
    // invalid arguments
    ["create_entities", { entities: [{ name: "half" }] }],
    ["create_relations", { relations: "Ada" }],
    ["add_observations", { observations: [{ entityName: "Nobody", contents: ["x"] }] }],
    ["search_nodes", {}],
    ["open_nodes", { names: [1] }],
    ["delete_observations", { deletions: {} }],
    ["delete_relations", {}],
    ["delete_entities", { entityNames: "Ada" }],
    ["no_such_tool", {}],
  ];
  for (const [name, args] of steps) await s.tool(name, args);
  for (const { name } of tools) await s.tool(name, NO_OBJECT);
  await read(GRAPH);

  await s.call("unsubscribe", (c, o) => c.unsubscribeResource({ uri: GRAPH }, o));
  await s.tool("delete_entities", { entityNames: ["Ada"] }); // no more updates
  await s.tool("create_entities", {
    entities: Array.from({ length: 2_000 }, (_, i) => ({ name: `entity ${i}`, entityType: "many", observations: [`number ${i}`] })),
  });
  await s.tool("read_graph", {});
  await s.call("ping", (c, o) => c.ping(o));
}

export const memory_cases = [{ name: "memory graph", server: memory, ordered: true, play: graph }];
