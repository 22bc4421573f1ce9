#include "cli/send/send_list.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/settings/command.h"
#include "wire/json/text.h"

#define TYPE_MAX 60 /* maximum number of bytes that are shown of an argument's type */

/* Adds the first line of a description, then ends the output line. The output line began at offset
 * `from`. */
static void add_first_line_of_description(struct out *o, struct json_value text, size_t from,
                                          size_t indent)
{
    struct buf b = {0};
    if (text.type == JSON_STRING)
        json_unescape(&b, json_string_raw(text));
    struct slice line = buf_slice(&b);
    while (line.n > 0 && (*line.p == '\n' || *line.p == ' '))
        line = (struct slice){line.p + 1, line.n - 1};
    if (line.n > 0) {
        out_add_raw(o, "  ");
        out_add_text(o, slice_take_line(&line));
    }
    out_fill_line(o, from, indent);
    buf_close(&b);
}

/* Appends the type of an argument: "string", "integer|null", `"a"|"b"`, "array of string"; "any" if
 * the schema does not say. */
static void append_argument_type(struct buf *b, struct json_value property)
{
    static const char *const unions[] = {"anyOf", "oneOf"};
    struct json_value type = json_get(property, "type"), values = json_get(property, "enum");
    struct json_value one;
    struct slice key;
    size_t at = b->n;
    if (values.type == JSON_ARRAY) {
        for (struct json_walk w = json_walk_begin(values); json_walk_next(&w, &key, &one);) {
            buf_adds(b, b->n > at ? "|" : "");
            buf_slice_add(b, one.text);
        }
    } else if (type.type == JSON_STRING) {
        json_unescape(b, json_string_raw(type));
    } else if (type.type == JSON_ARRAY) {
        for (struct json_walk w = json_walk_begin(type); json_walk_next(&w, &key, &one);) {
            buf_adds(b, b->n > at ? "|" : "");
            json_unescape(b, json_string_raw(one));
        }
    }
    for (size_t i = 0; i < MI_COUNT(unions) && b->n == at; i++)
        for (struct json_walk w = json_walk_begin(json_get(property, unions[i]));
             json_walk_next(&w, &key, &one);) {
            buf_adds(b, b->n > at ? "|" : "");
            struct json_value inner = json_get(one, "type");
            json_unescape(b, inner.type == JSON_STRING ? json_string_raw(inner) : slice_of("any"));
        }
    if (slice_is((struct slice){b->p + at, b->n - at}, "array")) {
        struct json_value items = json_get(json_get(property, "items"), "type");
        buf_adds(b, items.type == JSON_STRING ? " of " : "");
        if (items.type == JSON_STRING)
            json_unescape(b, json_string_raw(items));
    }
    buf_adds(b, b->n == at ? "any" : "");
}

static bool argument_is_required(struct json_value schema, struct slice raw_name)
{
    struct json_value one;
    struct slice key;
    for (struct json_walk w = json_walk_begin(json_get(schema, "required"));
         json_walk_next(&w, &key, &one);)
        if (slice_eq(json_string_raw(one), raw_name))
            return true;
    return false;
}

static void print_argument(struct out *o, struct json_value schema, struct slice raw_name,
                           struct json_value property)
{
    struct buf b = {0};
    struct json_value def = json_get(property, "default");
    out_add_raw(o, "  ");
    size_t from = o->b.n;
    json_unescape(&b, raw_name);
    out_add_text(o, buf_slice(&b));
    buf_clear(&b);
    buf_addc(&b, '=');
    append_argument_type(&b, property);
    out_add_text(o, text_prefix(buf_slice(&b), TYPE_MAX));
    out_add_raw(o, argument_is_required(schema, raw_name) ? "  required" : "");
    if (def.type != JSON_NONE) {
        out_add_raw(o, "  default ");
        out_add_text(o, text_prefix(def.text, TYPE_MAX));
    }
    buf_close(&b);
    add_first_line_of_description(o, json_get(property, "description"), from, 6);
}

static void print_tool(struct out *o, const struct tool *t)
{
    struct json_value v = {JSON_OBJECT, t->text}, property;
    struct json_value hints = json_get(v, "annotations");
    struct slice key;
    out_write_styled(o, OUT_BOLD, t->name);
    size_t from = o->b.n;
    out_add_raw(o, json_get(hints, "readOnlyHint").type == JSON_TRUE ? "  read-only" : "");
    add_first_line_of_description(o, json_get(v, "description"), from, 4);
    for (struct json_walk w = json_walk_begin(json_get(t->input.text, "properties"));
         json_walk_next(&w, &key, &property);)
        print_argument(o, t->input.text, key, property);
}

int list_tools(const struct tools *t, bool json)
{
    struct out o;
    struct buf b = {0};
    if (!t->begun) {
        log_error("the server did not list its tools");
        return EXIT_FOUND;
    }
    out_open(&o);
    for (size_t i = 0; i < t->n; i++) {
        if (!json) {
            print_tool(&o, &t->tool[i]);
            continue;
        }
        buf_clear(&b);
        text_append_visible_json(&b, t->tool[i].text);
        buf_slice_add(&o.b, buf_slice(&b));
        out_end_line(&o);
    }
    buf_close(&b);
    return out_close(&o);
}
