// What the scenarios of all revisions ask for. What each must answer stands in their descriptions (`conformance server`
// prints one when it fails).

// A red pixel, and a moment of silence.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA==";

export const text = (t) => ({ type: "text", text: t });
const image = { type: "image", data: png, mimeType: "image/png" };
const resource = (uri, mimeType, t) => ({ type: "resource", resource: { uri, mimeType, text: t } });

export const none = { type: "object", properties: {} };
export const strings = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  required: names,
});

// Name: what the list says of the tool, and the content that a call gives.
export const tools = {
  test_simple_text: ["Text", none, () => [text("This is a simple text response for testing.")]],
  test_image_content: ["An image", none, () => [image]],
  test_audio_content: ["A sound", none, () => [{ type: "audio", data: wav, mimeType: "audio/wav" }]],
  test_embedded_resource: ["A resource", none, () => [
    resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
  ]],
  test_multiple_content_types: ["Text, an image and a resource", none, () => [
    text("Multiple content types test:"),
    image,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ]],
  test_error_handling: ["An error", none, () => {
    throw new Error("This tool intentionally returns an error for testing");
  }],
  json_schema_2020_12_tool: ["Keywords of 2020-12", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }, () => [text("Valid.")]],
};
export const toolList = (all) => Object.entries(all).map(([name, [description, inputSchema]]) => ({ name, description, inputSchema }));

const resources = {
  "test://static-text": { mimeType: "text/plain", text: "This is the content of the static text resource." },
  "test://static-binary": { mimeType: "image/png", blob: png },
  "test://watched-resource": { mimeType: "text/plain", text: "Nothing changes here." },
};
export const resourceList = Object.entries(resources).map(([uri, { mimeType }]) => ({
  uri, mimeType, name: uri.slice("test://".length), description: uri,
}));
export const templateList = [{ uriTemplate: "test://template/{id}/data", name: "template", mimeType: "application/json" }];
// What is at the address; undefined: nothing.
export function contents(uri) {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return Object.hasOwn(resources, uri) ? [{ uri, ...resources[uri] }] : undefined;
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return [{ uri, mimeType: "application/json", text: data }];
}

// Name: its arguments, and what its messages have in them.
export const prompts = {
  test_simple_prompt: [[], () => [text("This is a simple prompt for testing.")]],
  test_prompt_with_arguments: [["arg1", "arg2"], ({ arg1, arg2 }) => [
    text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`),
  ]],
  test_prompt_with_embedded_resource: [["resourceUri"], ({ resourceUri }) => [
    resource(resourceUri, "text/plain", "Embedded resource content for testing."),
    text("Please process the embedded resource above."),
  ]],
  test_prompt_with_image: [[], () => [image, text("Please analyze the image above.")]],
};
export const promptList = (all) => Object.entries(all).map(([name, [names]]) => ({
  name,
  description: name.replaceAll("_", " "),
  arguments: names.map((n) => ({ name: n, description: n, required: true })),
}));
export const messages = (content) => content.map((c) => ({ role: "user", content: c }));

export function completion(value) {
  const values = ["test", "testing", "tested"].filter((word) => word.startsWith(value));
  return { values, total: values.length, hasMore: false };
}
