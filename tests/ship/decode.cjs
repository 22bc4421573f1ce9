// Decodes requests of OTLP in JSON with the official .proto files, which the package @elastic/mockotlpserver has. stdin: lines
// {"path":…,"data":…}. Every member must be a field of its message, and every value of the field's type. Prints a line for
// each request: the items that its binary form has.
const readline = require("readline");
const { Field } = require("protobufjs");
const { getProtoRoot } = require("@elastic/mockotlpserver/lib/proto");

const root = getProtoRoot();
// The files of this package are older than this field, which came with version 1.5.0.
const record = root.lookupType("opentelemetry.proto.logs.v1.LogRecord");
if (!record.fields.eventName) record.add(new Field("eventName", 12, "string"));
const messages = {
    "/v1/traces": "trace.v1.ExportTraceServiceRequest",
    "/v1/logs": "logs.v1.ExportLogsServiceRequest",
    "/v1/metrics": "metrics.v1.ExportMetricsServiceRequest",
};
const hexIds = new Set(["traceId", "spanId", "parentSpanId"]);
const integers = /^-?\d+$/;

function scalar(field, value, where) {
    const bad = (why) => { throw new Error(`${where}: ${why}: ${JSON.stringify(value)}`); };
    if (hexIds.has(field.name)) {
        const bytes = field.name === "traceId" ? 16 : 8;
        if (!new RegExp(`^[0-9a-f]{${2 * bytes}}$`).test(value)) bad(`not ${bytes} bytes in hexadecimal`);
        return Buffer.from(value, "hex");
    }
    if (field.resolvedType?.values) {
        if (!Object.values(field.resolvedType.values).includes(value)) bad("not a number of the enum");
        return value;
    }
    switch (field.type) {
    case "string":
        if (typeof value !== "string") bad("not a string");
        return value;
    case "fixed64": case "sfixed64": case "int64": case "uint64":
        if (typeof value !== "string" || !integers.test(value)) bad("not a 64-bit integer as a string");
        return value;
    case "fixed32": case "uint32": case "int32":
        if (!Number.isInteger(value)) bad("not an integer");
        return value;
    case "double":
        if (typeof value !== "number") bad("not a number");
        return value;
    case "bool":
        if (typeof value !== "boolean") bad("not a boolean");
        return value;
    default:
        return bad(`a field of type ${field.type}`);
    }
}

function message(type, object, where) {
    const ret = {};
    for (const [name, value] of Object.entries(object)) {
        const field = type.fields[name];
        if (!field) throw new Error(`${where}.${name}: ${type.fullName} has no such field`);
        field.resolve();
        const one = (v, at) => field.resolvedType?.fields ? message(field.resolvedType, v, at) : scalar(field, v, at);
        if (field.repeated !== Array.isArray(value)) throw new Error(`${where}.${name}: a list, or not`);
        ret[name] = field.repeated ? value.map((v, i) => one(v, `${where}.${name}[${i}]`)) : one(value, `${where}.${name}`);
    }
    return ret;
}

readline.createInterface({ input: process.stdin }).on("line", (line) => {
    const { path, data } = JSON.parse(line);
    const type = root.lookupType(`opentelemetry.proto.collector.${messages[path]}`);
    const binary = type.encode(type.fromObject(message(type, data, path))).finish();
    const back = type.toObject(type.decode(binary), { longs: String, bytes: String, arrays: true });
    const [resources, scopes, items] = { "/v1/traces": ["resourceSpans", "scopeSpans", "spans"], "/v1/logs": ["resourceLogs", "scopeLogs",
        "logRecords"], "/v1/metrics": ["resourceMetrics", "scopeMetrics", "metrics"] }[path];
    const names = back[resources].flatMap((r) => r[scopes].flatMap((s) => s[items].map((i) => i.name ?? i.eventName)));
    console.log(JSON.stringify({ path, bytes: binary.length, names }));
});
