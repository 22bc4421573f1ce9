#include "cli/send/argument_json.h"

#include "base/json_out.h"
#include "base/text.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/schema/compile.h"

/* ---- schemas ---- */

static struct json_value get_argument_schema(struct json_value input_schema, struct slice name)
{
    struct json_value found = {0};
    struct buf plain = {0};
    buf_slice_add(&plain, name);
    if (input_schema.type == JSON_OBJECT)
        found = json_get(json_get(input_schema, "properties"), buf_str(&plain));
    buf_close(&plain);
    return found;
}

/* Opens the schema of one argument, with the definitions to which it may refer. Returns NULL if the
 * argument has no valid schema. */
static struct schema *open_argument_schema(struct json_value input_schema, struct slice name)
{
    static const char *const shared[] = {"$schema", "$defs", "definitions"};
    struct json_value property = get_argument_schema(input_schema, name);
    struct schema *s = NULL;
    struct buf text = {0}, why = {0};
    struct json_out j = json_out_to(&text);
    if (property.type == JSON_NONE)
        return NULL;
    json_out_object(&j, NULL);
    for (size_t i = 0; i < MI_COUNT(shared); i++) {
        struct json_value v = json_get(input_schema, shared[i]);
        if (v.type != JSON_NONE)
            json_out_raw(&j, shared[i], v.text);
    }
    json_out_array(&j, "allOf");
    json_out_raw(&j, NULL, property.text);
    json_out_end(&j);
    json_out_end(&j);
    if (text.failed || schema_open(&s, buf_slice(&text), NULL, &why) < 0)
        s = NULL;
    buf_close(&text);
    buf_close(&why);
    return s;
}

static bool argument_json_fits_schema(struct schema *s, const struct buf *value)
{
    return !value->failed && schema_check(s, buf_slice(value), NULL) != SCHEMA_FAILS;
}

static bool schema_type_allows_string(struct json_value property)
{
    struct json_value type = json_get(property, "type"), one;
    struct slice key;
    if (type.type == JSON_STRING)
        return json_key_is(json_string_raw(type), "string");
    for (struct json_walk w = json_walk_begin(type); json_walk_next(&w, &key, &one);)
        if (one.type == JSON_STRING && json_key_is(json_string_raw(one), "string"))
            return true;
    return false;
}

bool argument_json_name_is_undeclared(struct json_value input_schema, struct slice name)
{
    static const char *const others[] = {
        "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if"};
    struct json_value more = json_get(input_schema, "additionalProperties");
    if (more.type != JSON_NONE && !slice_is(more.text, "false"))
        return false;
    for (size_t i = 0; i < MI_COUNT(others); i++)
        if (json_get(input_schema, others[i]).type != JSON_NONE)
            return false;
    return json_get(input_schema, "properties").type == JSON_OBJECT &&
           get_argument_schema(input_schema, name).type == JSON_NONE;
}

/* ---- values ---- */

static bool argument_value_is_json(const struct cli_value *g)
{
    struct json_scan scan;
    return json_scan(buf_slice(&g->value), NULL, NULL, &scan) == 0;
}

/* Appends the value as JSON if as_json is true; otherwise as a string. */
static void append_string_or_json(struct buf *b, const struct cli_value *g, bool as_json)
{
    if (as_json)
        buf_slice_add(b, buf_slice(&g->value));
    else
        text_append_json(b, buf_slice(&g->value));
}

static void format_argument_value(struct buf *b, const struct cli_value *g, bool as_json,
                                  bool in_array)
{
    buf_clear(b);
    buf_adds(b, in_array ? "[" : "");
    append_string_or_json(b, g, as_json);
    buf_adds(b, in_array ? "]" : "");
}

/* Appends a value in the first form that fits the schema; if no form fits, with the most likely
 * type. */
static void argument_json_append_fitting_form(struct buf *out, struct schema *s,
                                              struct json_value property, const struct cli_value *g)
{
    struct buf b = {0};
    bool readable = argument_value_is_json(g), found = false;
    if (s == NULL || g->is_json) {
        append_string_or_json(out, g, g->is_json);
        return;
    }
    for (int form = 0; form < 4 && !found; form++) {
        bool as_json = form % 2 == 1;
        format_argument_value(&b, g, as_json, form >= 2);
        found = (readable || !as_json) && argument_json_fits_schema(s, &b);
    }
    if (!found)
        format_argument_value(&b, g, readable && !schema_type_allows_string(property), false);
    buf_slice_add(out, buf_slice(&b));
    out->failed |= b.failed;
    buf_close(&b);
}

/* Appends all values for a name as one array. The array has strings if that fits the schema.
 * Otherwise, each value that is valid JSON is added as JSON. */
static void argument_json_append_array(struct buf *out, struct schema *s, struct slice name,
                                       const struct cli_value_list *l)
{
    struct buf b = {0};
    for (int as_json = 0; as_json < 2; as_json++) {
        bool first = true;
        buf_clear(&b);
        buf_addc(&b, '[');
        for (size_t i = 0; i < l->n; i++) {
            const struct cli_value *g = &l->list[i];
            if (!slice_eq(g->name, name))
                continue;
            buf_adds(&b, first ? "" : ",");
            append_string_or_json(&b, g, g->is_json || (as_json && argument_value_is_json(g)));
            first = false;
        }
        buf_addc(&b, ']');
        if (s == NULL || argument_json_fits_schema(s, &b))
            break;
    }
    buf_slice_add(out, buf_slice(&b));
    out->failed |= b.failed;
    buf_close(&b);
}

void argument_json_append_argument(struct buf *out, struct json_value input_schema,
                                   struct slice name, const struct cli_value_list *l)
{
    const struct cli_value *one = NULL;
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (slice_eq(l->list[i].name, name)) {
            one = &l->list[i];
            n++;
        }
    struct schema *s = open_argument_schema(input_schema, name);
    if (n == 1)
        argument_json_append_fitting_form(out, s, get_argument_schema(input_schema, name), one);
    else
        argument_json_append_array(out, s, name, l);
    schema_close(s);
}

void argument_json_append_object(struct buf *out, struct json_value input_schema,
                                 const struct cli_value_list *l)
{
    buf_addc(out, '{');
    for (size_t i = 0; i < l->n; i++) {
        bool again = false;
        for (size_t k = 0; k < i && !again; k++)
            again = slice_eq(l->list[k].name, l->list[i].name);
        if (again)
            continue;
        buf_adds(out, i > 0 ? "," : "");
        text_append_json(out, l->list[i].name);
        buf_addc(out, ':');
        argument_json_append_argument(out, input_schema, l->list[i].name, l);
    }
    buf_addc(out, '}');
}

void argument_json_append_param(struct buf *out, const char *method, const struct cli_value *g)
{
    const struct method *m = method_find(slice_of(method));
    struct json_scan scan;
    bool as_json = g->is_json;
    for (size_t i = 0; m != NULL && i < METHOD_NEEDS_MAX && m->params[i].types != 0; i++) {
        const struct method_need *need = &m->params[i];
        if (!as_json && slice_is(g->name, field_name((enum field)need->field)) &&
            (need->types & 1u << JSON_STRING) == 0)
            as_json = json_scan(buf_slice(&g->value), NULL, NULL, &scan) == 0;
    }
    append_string_or_json(out, g, as_json);
}
