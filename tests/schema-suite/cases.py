#!/usr/bin/env python3
"""Cases for judge.c, one a line on stdout.

    cases.py draft4|draft6|draft7   from Debian's json-schema-test-suite, with what each has to come out as
    cases.py 2019|2020              the same from the copy in suite/
    cases.py ajv                    draft-07 translated to 2020-12, with our own: ajv.mjs says how they come out

Tests with documents that are not in the schema come twice: as they stand, where the judge also accepts that the result is
unknown ("unknown": true), and with those documents in `$defs`. What comes out otherwise than the suite says stands in `differs`, with
the reason.
"""
import json
import sys
from pathlib import Path
from urllib.parse import urljoin

HERE = Path(__file__).parent / "suite"
DEBIAN = Path("/usr/share/json-schema-test-suite")
HOST = "http://localhost:1234/"
FORMATS = ["date-time", "date", "uri", "email", "uuid"]
META = {d: f"http://json-schema.org/draft-0{d[-1]}/schema#" for d in ("draft4", "draft6", "draft7")}
FOLDER = {"2019": "draft2019-09", "2020": "draft2020-12"}

meta = "its dialect is defined by another document, or it refers to the definition of its dialect: nothing is fetched"
formats = "formats are checked, as clients do, although 2020-12 makes them annotations"
UNKNOWN, LEFT = "unknown", "left out"
# (file, group or None): what comes out, why
differs = {
    ("ref.json", "remote ref, containing refs itself"): (UNKNOWN, meta),
    ("definitions.json", None): (UNKNOWN, meta),
    ("defs.json", None): (UNKNOWN, meta),
    ("vocabulary.json", None): (UNKNOWN, meta),
    ("optional/format-assertion.json", None): (UNKNOWN, meta),
    ("optional/cross-draft.json", None): (UNKNOWN, "a schema of another dialect inside of this one is not checked"),
    ("optional/content.json", None): (LEFT, "contentEncoding and contentMediaType say what a string is, not what is valid"),
    ("optional/ecmascript-regex.json", "ECMA 262 regex non-compliance"): (LEFT, "the format regex is not checked"),
    ("optional/format.json", None): (LEFT, "other formats than those of FORMATS are not checked"),
    ("optional/zeroTerminatedFloats.json", None): (LEFT, "1.0 is an integer, as in all later drafts"),
    ("format.json", None): (LEFT, formats),
}


def documents(draft):
    """The remote documents by their address."""
    root = HERE / "remotes" if draft in FOLDER else DEBIAN / "remotes"
    found = {}
    for path in sorted(root.rglob("*.json")):
        name = str(path.relative_to(root))
        if draft not in FOLDER or name.startswith(FOLDER[draft] + "/"):
            found[HOST + name] = json.loads(path.read_text())
    return found


def groups(draft):
    top = (HERE if draft in FOLDER else DEBIAN) / "tests" / FOLDER.get(draft, draft)
    files = sorted(p.name for p in top.glob("*.json"))
    files += sorted("optional/" + p.name for p in top.glob("optional/*.json"))
    files += [f"optional/format/{f}.json" for f in FORMATS + ["unknown"]]
    for file in files:
        if (top / file).exists():
            for group in json.loads((top / file).read_text()):
                yield file, group


def whole(schema, draft):
    """The schema with all remote documents in it."""
    name = "$defs" if draft in FOLDER else "definitions"
    word = "id" if draft == "draft4" else "$id"
    more = {}
    for address, document in documents(draft).items():
        if isinstance(document, dict):
            own = urljoin(address, document.get(word, ""))
            document = {**document, word: own}
            if own != address:
                more["alias " + address] = {word: address, "$ref": own}
        more[address] = document
    return {**schema, name: {**schema.get(name, {}), **more}}


def emit(name, schema, data, valid, unknown=False):
    print(json.dumps({"name": name, "schema": schema, "unknown": unknown, "data": data, "valid": valid},
                     ensure_ascii=False))


def emit_suite(draft):
    for file, group in groups(draft):
        schema, name = group["schema"], f"{draft} {file}: {group['description']}"
        verdict, _ = differs.get((file, group["description"]), differs.get((file, None), (None, None)))
        if verdict == LEFT:
            continue
        if isinstance(schema, dict) and draft in META:
            schema = {"$schema": META[draft], **schema}
        remote = HOST in json.dumps(group) or file == "refRemote.json"
        for test in group["tests"]:
            title, data, valid = f"{name}: {test['description']}", test["data"], test["valid"]
            emit(title, schema, data, valid, remote or verdict == UNKNOWN)
            if remote and verdict != UNKNOWN:
                emit(title + " (whole)", whole(schema, draft), data, valid)


def translate(s):
    """The same schema in the words of 2020-12."""
    if isinstance(s, list):
        return [translate(x) for x in s]
    if not isinstance(s, dict):
        return s
    out = {}
    for k, v in s.items():
        if k in ("enum", "const", "required"):
            out[k] = v
        elif k == "$ref" and isinstance(v, str):
            out[k] = v.replace("#/definitions", "#/$defs").replace("/items/", "/prefixItems/")
        elif k == "$schema":
            continue
        elif k == "definitions":
            out["$defs"] = translate(v)
        elif k == "items" and isinstance(v, list):
            out["prefixItems"] = translate(v)
        elif k == "additionalItems":
            if isinstance(s.get("items"), list):
                out["items"] = translate(v)
        elif k == "dependencies" and isinstance(v, dict):
            out["dependentRequired"] = {n: x for n, x in v.items() if isinstance(x, list)}
            out["dependentSchemas"] = {n: translate(x) for n, x in v.items() if not isinstance(x, list)}
        elif k == "$id" and isinstance(v, str) and v.startswith("#"):
            out["$anchor"] = v[1:]
        else:
            out[k] = translate(v)
    return out


VALUES = [None, True, False, 0, 1, -1, 1.0, 1.5, 2, 3, 10, 1e2, "", "a", "ab", "abc", "é", "💩💩", "1", [], [1],
          [1, 1], [1, "a"], ["a", 1, None], [[], {}], {}, {"a": 1}, {"a": "x", "b": 2}, {"b": 2}, {"a": {"a": 1}},
          {"x1": 1, "y": 2}, {"a": [1, 2, 3]}]
OWN = [
    {"type": ["integer", "null"]}, {"type": "number", "multipleOf": 0.5}, {"minimum": 1, "exclusiveMaximum": 3},
    {"exclusiveMinimum": 0, "maximum": 1e2}, {"minLength": 1, "maxLength": 2}, {"pattern": "^[a-c]+$"},
    {"enum": [1, "a", None, {"a": 1}, [1]]}, {"const": 1.0}, {"const": {"b": 2}},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, {"items": {"type": "integer"}},
    {"items": False}, {"prefixItems": [True, False]}, {"contains": {"const": 1}},
    {"contains": {"type": "integer"}, "minContains": 2}, {"contains": {"const": 1}, "minContains": 0},
    {"contains": {"const": 1}, "maxContains": 1}, {"minContains": 2}, {"uniqueItems": True, "minItems": 1, "maxItems": 2},
    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"properties": {"a": True}, "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False},
    {"additionalProperties": {"type": "integer"}}, {"propertyNames": {"maxLength": 1}},
    {"propertyNames": {"enum": ["a", "b"]}}, {"minProperties": 1, "maxProperties": 1},
    {"dependentRequired": {"a": ["b"]}}, {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"allOf": [{"type": "object"}, {"required": ["a"]}]}, {"anyOf": [{"type": "string"}, {"minimum": 2}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 2}]}, {"not": {"type": "object"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}}, {"if": {"type": "integer"}, "then": False},
    {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}, "minimum": 2},
    {"$ref": "#here", "$defs": {"n": {"$anchor": "here", "type": "string"}}},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
    {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}],
     "$defs": {"tree": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "object"}]}}}},
    {"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": True}}], "unevaluatedProperties": False},
    {"oneOf": [{"required": ["a"], "properties": {"a": True}}, {"patternProperties": {"^x": True}, "required": ["y"]}],
     "unevaluatedProperties": {"type": "integer"}},
    {"if": {"properties": {"a": {"type": "integer"}}, "required": ["a"]}, "then": {"properties": {"b": True}},
     "else": {"additionalProperties": True}, "unevaluatedProperties": False},
    {"not": {"not": {"properties": {"a": True}}}, "unevaluatedProperties": False},
    {"allOf": [{"unevaluatedProperties": {"type": "integer"}}], "properties": {"a": True}, "unevaluatedProperties": False},
    {"allOf": [{"properties": {"a": True}}, {"unevaluatedProperties": False}]},
    {"dependentSchemas": {"a": {"properties": {"a": True}}}, "unevaluatedProperties": False},
    {"anyOf": [{"prefixItems": [True]}, {"prefixItems": [True, {"type": "string"}]}], "unevaluatedItems": False},
    {"allOf": [{"prefixItems": [True]}], "unevaluatedItems": {"type": "integer"}},
    {"$dynamicAnchor": "node", "type": ["object", "integer", "string"], "properties": {"a": {"$dynamicRef": "#node"}},
     "unevaluatedProperties": False},
]


def emit_ajv():
    for file, group in groups("draft7"):
        remote = "http://" in json.dumps(group) and file != "id.json"
        if "optional/" in file or file == "definitions.json" or remote:
            continue
        for test in group["tests"]:
            emit(f"2020 {file}: {group['description']}: {test['description']}", translate(group["schema"]),
                 test["data"], None)
    for schema in OWN:
        for value in VALUES:
            emit(f"own: {json.dumps(schema)}: {json.dumps(value)}", schema, value, None)


if sys.argv[1] == "ajv":
    emit_ajv()
else:
    emit_suite(sys.argv[1])
