/* value.c - keywords that concern a single value: its type, numbers, strings; and the reasons of
 * failures. */
#include "wire/schema/check.h"

#include "base/text.h"
#include "wire/json/decimal.h"
#include "wire/json/pointer.h"
#include "wire/json/text.h"

/* For arrays and objects, the steps grow with the square of the length: json_equal() searches each
 * member of one object in the other object. */
bool schema_values_are_equal(struct check *c, struct json_value a, struct json_value b)
{
    size_t n = a.type == b.type ? size_min(a.text.n, b.text.n) : 0;
    size_t pairs = a.type >= JSON_ARRAY && n <= JSON_EQUAL_MAX ? n * n / 1024 : 0;
    return !schema_count_steps(c, 1 + n / 16 + pairs) || json_equal(a, b);
}

/* ---- reasons of failures -------------------------------------------------------------------- */

/* Appends the JSON Pointer of a value. Long names are truncated. */
static void write_pointer(const struct check *c, struct buf *b, const struct place *p)
{
    if (p->up == NULL)
        return;
    write_pointer(c, b, p->up);
    if (p->in_array) {
        pointer_add_index(b, (size_t)p->index);
        return;
    }
    struct buf name = {0}, escaped = {0};
    json_unescape(&name, schema_get_value_node(c, p->at)->key);
    pointer_add(&escaped, buf_slice(&name));
    buf_slice_add(b, text_prefix(buf_slice(&escaped), 101));
    buf_close(&name);
    buf_close(&escaped);
}

struct buf *schema_begin_fault(struct check *c, const struct place *p)
{
    if (c->fault == NULL || c->quiet > 0 || c->fault->reason.n > 0 || c->gave_up)
        return NULL;
    write_pointer(c, &c->fault->pointer, p);
    return &c->fault->reason;
}

/* Appends a value of the schema as JSON, at most 120 bytes of it. */
static void add_truncated_json(struct buf *b, struct slice json)
{
    struct slice head = text_prefix(json, 120);
    buf_slice_add(b, head);
    if (head.n < json.n)
        buf_adds(b, "…");
}

/* ---- any value ------------------------------------------------------------------------------ */

static bool value_is_of_type(struct json_value v, struct slice name)
{
    switch (v.type) {
    case JSON_NULL:
        return json_key_is(name, "null");
    case JSON_TRUE:
    case JSON_FALSE:
        return json_key_is(name, "boolean");
    case JSON_NUMBER:
        return json_key_is(name, "number") || (json_key_is(name, "integer") && json_is_integer(v));
    case JSON_STRING:
        return json_key_is(name, "string");
    case JSON_ARRAY:
        return json_key_is(name, "array");
    case JSON_OBJECT:
        return json_key_is(name, "object");
    default:
        return false;
    }
}

static bool check_type(struct check *c, const struct json_node *k, const struct place *here)
{
    static const char *const names[] = {
        [JSON_NONE] = "nothing",   [JSON_NULL] = "null",       [JSON_FALSE] = "a boolean",
        [JSON_TRUE] = "a boolean", [JSON_NUMBER] = "a number", [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object"};
    struct json_value v = schema_get_value_node(c, here->at)->value;
    size_t digits = v.type == JSON_NUMBER ? v.text.n : 0;
    if (!schema_count_steps(c, digits / 16) ||
        (k->value.type == JSON_STRING && value_is_of_type(v, json_string_raw(k->value))))
        return true;
    if (k->value.type != JSON_STRING && k->value.type != JSON_ARRAY)
        return true;
    for (uint32_t i = k->child; i != 0; i = schema_get_node(c->s, i)->next)
        if (!schema_count_steps(c, 1 + digits / 16) ||
            value_is_of_type(v, json_string_raw(schema_get_node(c->s, i)->value)))
            return true;
    struct buf *b = schema_begin_fault(c, here);
    if (b != NULL) {
        buf_adds(b, "must be of type ");
        add_truncated_json(b, k->value.text);
        buf_printf(b, ", is %s", names[v.type]);
    }
    return false;
}

static bool check_enum(struct check *c, const struct json_node *k, const struct place *here)
{
    struct json_value v = schema_get_value_node(c, here->at)->value;
    if (k->value.type != JSON_ARRAY)
        return true;
    for (uint32_t i = k->child; i != 0; i = schema_get_node(c->s, i)->next)
        if (schema_values_are_equal(c, v, schema_get_node(c->s, i)->value))
            return true;
    struct buf *b = schema_begin_fault(c, here);
    if (b != NULL) {
        buf_adds(b, "must be one of ");
        add_truncated_json(b, k->value.text);
    }
    return false;
}

static bool check_const(struct check *c, const struct json_node *k, const struct place *here)
{
    struct json_value v = schema_get_value_node(c, here->at)->value;
    if (schema_values_are_equal(c, v, k->value))
        return true;
    struct buf *b = schema_begin_fault(c, here);
    if (b != NULL) {
        buf_adds(b, "must be ");
        add_truncated_json(b, k->value.text);
    }
    return false;
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool check_number(struct check *c, enum keyword word, const struct json_node *k,
                         const struct place *here)
{
    static const char *const words[] = {[KW_MULTIPLE_OF] = "must be a multiple of",
                                        [KW_MINIMUM] = "must be at least",
                                        [KW_MAXIMUM] = "must be at most",
                                        [KW_EXCLUSIVE_MINIMUM] = "must be more than",
                                        [KW_EXCLUSIVE_MAXIMUM] = "must be less than"};
    struct json_value v = schema_get_value_node(c, here->at)->value;
    if (v.type != JSON_NUMBER || k->value.type != JSON_NUMBER ||
        !schema_count_steps(c, 1 + (v.text.n + k->value.text.n) / 16))
        return true;
    struct decimal x = decimal_read(v.text), limit = decimal_read(k->value.text);
    bool good = true;
    if (word == KW_MULTIPLE_OF)
        good = limit.digits.n == 0 || decimal_is_multiple(x, limit);
    else if (word == KW_MINIMUM || word == KW_EXCLUSIVE_MINIMUM)
        good = decimal_compare(x, limit) >= (word == KW_EXCLUSIVE_MINIMUM);
    else
        good = decimal_compare(x, limit) <= -(word == KW_EXCLUSIVE_MAXIMUM);
    if (!good)
        SAY(c, here, "%s %.*s", words[word], (int)size_min(k->value.text.n, 60), k->value.text.p);
    return good;
}

bool schema_read_limit(struct check *c, const struct json_node *k, int64_t *ret)
{
    return schema_count_steps(c, k->value.text.n / 16) && json_int(k->value, ret) && *ret >= 0;
}

/* ---- strings -------------------------------------------------------------------------------- */

struct slice schema_unescape(struct check *c, int which, struct slice raw)
{
    struct buf *b = &c->s->scratch[which];
    if (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL)
        return (struct slice){raw.n > 0 ? raw.p : "", raw.n};
    buf_clear(b);
    json_unescape(b, raw);
    if (b->failed)
        c->gave_up = "out of memory";
    return buf_slice(b);
}

static bool check_length(struct check *c, enum keyword word, const struct json_node *k,
                         const struct place *here)
{
    int64_t limit;
    struct json_value v = schema_get_value_node(c, here->at)->value;
    if (v.type != JSON_STRING || !schema_read_limit(c, k, &limit) ||
        !schema_count_steps(c, 1 + v.text.n / 16))
        return true;
    struct slice text = schema_unescape(c, 0, json_string_raw(v));
    int64_t n = (int64_t)text_count_utf8_chars(text);
    bool good = word == KW_MIN_LENGTH ? n >= limit : n <= limit;
    if (!good)
        SAY(c, here, "must have at %s %lld characters, has %lld",
            word == KW_MIN_LENGTH ? "least" : "most", (long long)limit, (long long)n);
    return good;
}

static bool check_format(struct check *c, const struct json_node *k, const struct place *here)
{
    struct json_value v = schema_get_value_node(c, here->at)->value;
    struct slice format = json_string_raw(k->value);
    if (v.type != JSON_STRING || schema_describe_format(format) == NULL ||
        !schema_count_steps(c, 1 + v.text.n / 16) ||
        schema_text_has_format(format, schema_unescape(c, 0, json_string_raw(v))))
        return true;
    SAY(c, here, "must be %s", schema_describe_format(format));
    return false;
}

bool schema_pattern_matches(struct check *c, struct pattern *p, struct slice raw)
{
    if (p == NULL || c->gave_up || !schema_count_steps(c, raw.n / 16))
        return true;
    switch (pattern_search(p, schema_unescape(c, 0, raw), c->work)) {
    case PATTERN_YES:
        return true;
    case PATTERN_NO:
        return false;
    default:
        c->gave_up = "a pattern is too complex";
        return true;
    }
}

static bool check_pattern(struct check *c, uint32_t at, const struct place *here)
{
    struct json_value v = schema_get_value_node(c, here->at)->value;
    const struct json_node *k = schema_get_node(c->s, at);
    if (v.type != JSON_STRING || k->value.type != JSON_STRING)
        return true;
    if (c->s->pattern[at] == NULL)
        schema_mark_keyword_unchecked(c, at, here);
    if (schema_pattern_matches(c, c->s->pattern[at], json_string_raw(v)))
        return true;
    struct buf *b = schema_begin_fault(c, here);
    if (b != NULL) {
        buf_adds(b, "must match the pattern ");
        add_truncated_json(b, k->value.text);
    }
    return false;
}

bool schema_value_fits(struct check *c, const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_get_node(c->s, kw->at);
    enum keyword word = (enum keyword)kw->word;
    switch (word) {
    case KW_TYPE:
        return check_type(c, k, here);
    case KW_ENUM:
        return check_enum(c, k, here);
    case KW_CONST:
        return check_const(c, k, here);
    case KW_MIN_LENGTH:
    case KW_MAX_LENGTH:
        return check_length(c, word, k, here);
    case KW_FORMAT:
        return check_format(c, k, here);
    case KW_PATTERN:
        return check_pattern(c, kw->at, here);
    default:
        return check_number(c, word, k, here);
    }
}
