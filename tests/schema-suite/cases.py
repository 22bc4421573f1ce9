#!/usr/bin/env python3
"""Cases for judge.c, one a line on stdout, from Debian's json-schema-test-suite (draft7).

    cases.py            as they stand, with what each has to come out as
    cases.py 2020       translated to 2020-12, with our own: ajv.mjs says how they come out

A case that is left out stands in `skipped`, with the reason.
"""
import json
import sys
from pathlib import Path

SUITE = Path("/usr/share/json-schema-test-suite/tests/draft7")
FORMATS = ["date-time", "date", "uri", "email", "uuid"]
META = "http://json-schema.org/draft-07/schema#"

remote = "it fetches a document: a tool's schema has to be whole"
skipped = {
    ("refRemote.json", None): remote,
    ("definitions.json", None): remote,
    ("ref.json", "remote ref, containing refs itself"): remote,
    ("optional/ecmascript-regex.json", None): "PCRE2 takes \\Z, \\a, and its own classes for \\s \\d \\w",
    ("optional/content.json", None): "contentEncoding and contentMediaType say what a string is, not what is valid",
}


def left_out(file, description):
    """Is it left out? A whole file is by None."""
    return any(f == file and d in (None, description) for f, d in skipped)


def groups():
    files = sorted(p.name for p in SUITE.glob("*.json"))
    files += ["optional/bignum.json", "optional/zeroTerminatedFloats.json", "optional/content.json",
              "optional/ecmascript-regex.json"]
    files += [f"optional/format/{f}.json" for f in FORMATS if (SUITE / f"optional/format/{f}.json").exists()]
    for file in files:
        for group in json.loads((SUITE / file).read_text()):
            if not left_out(file, group["description"]):
                yield file, group


def emit(name, schema, data, valid):
    print(json.dumps({"name": name, "schema": schema, "data": data, "valid": valid}, ensure_ascii=False))


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
]


def main():
    if sys.argv[1:] == ["2020"]:
        for file, group in groups():
            if "optional/" in file or file in ("ref.json",) and "draft" in json.dumps(group["schema"]):
                continue
            for test in group["tests"]:
                emit(f"2020 {file}: {group['description']}: {test['description']}", translate(group["schema"]),
                     test["data"], None)
        for schema in OWN:
            for value in VALUES:
                emit(f"own: {json.dumps(schema)}: {json.dumps(value)}", schema, value, None)
        return
    for file, group in groups():
        schema = group["schema"]
        if isinstance(schema, dict):
            schema = {"$schema": META, **schema}
        for test in group["tests"]:
            emit(f"draft7 {file}: {group['description']}: {test['description']}", schema, test["data"], test["valid"])


main()
