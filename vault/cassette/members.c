#include "vault/cassette/members.h"

#include "base/text.h"
#include "wire/json/text.h"

struct gather {
    const struct cassette_member *table;
    size_t n;
    int version;
    struct json_value *values;
    struct slice unknown;  /* a key of the line that is not in the table; {NULL, 0}: none */
    const char *duplicate; /* name of a member that the line has twice; NULL: none */
};

static void cassette_members_store_value(void *ctx, const struct json_member *m)
{
    struct gather *g = ctx;
    if (m->depth != 1)
        return;
    for (size_t i = 0; i < g->n; i++) {
        if (g->table[i].since > g->version || !json_key_is(m->key, g->table[i].name))
            continue;
        if (g->values[i].type != JSON_NONE)
            g->duplicate = g->table[i].name;
        g->values[i] = m->value;
        return;
    }
    g->unknown = m->key;
}

static const char *const json_type_names[] = {
    [JSON_NONE] = "a value",   [JSON_NULL] = "null",        [JSON_FALSE] = "false",
    [JSON_TRUE] = "true",      [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string",
    [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
};

int cassette_read_members(struct slice line, const struct cassette_member *table, size_t n,
                          int version, struct json_value *values, struct buf *why)
{
    struct gather g = {.table = table, .n = n, .version = version, .values = values};
    struct json_scan scan;
    buf_clear(why);
    for (size_t i = 0; i < n; i++)
        values[i] = (struct json_value){0};
    if (json_scan(line, cassette_members_store_value, &g, &scan) < 0) {
        buf_printf(why, "%s (byte %zu)", json_fault_text(scan.fault.kind), scan.fault.at + 1);
        return MI_EPROTO;
    }
    if (scan.type != JSON_OBJECT)
        buf_adds(why, "this is not a JSON object");
    else if (version != CASSETTE_ANY && g.duplicate != NULL)
        buf_printf(why, "duplicate member `%s`", g.duplicate);
    else if (version != CASSETTE_ANY && g.unknown.p != NULL) {
        buf_adds(why, "unknown member `");
        text_append_visible(why, text_prefix(g.unknown, 40));
        buf_adds(why, "` in this kind of line");
    }
    for (size_t i = 0; why->n == 0 && i < n; i++) {
        if (values[i].type == JSON_NONE && table[i].required)
            buf_printf(why, "`%s` is missing", table[i].name);
        else if (values[i].type != JSON_NONE && table[i].type != JSON_NONE &&
                 values[i].type != table[i].type)
            buf_printf(why, "`%s` must be %s", table[i].name, json_type_names[table[i].type]);
    }
    return why->n > 0 || why->failed ? MI_EPROTO : 0;
}

int cassette_read_string(struct json_value v, const char *name, struct buf *texts,
                         struct slice *ret, struct buf *why)
{
    if (v.type != JSON_STRING)
        return 0;
    size_t from = texts->n;
    struct slice raw = json_string_raw(v);
    json_unescape(texts, raw);
    *ret = (struct slice){texts->p + from, texts->n - from};
    if (memchr(ret->p, '\0', ret->n) == NULL)
        return 0;
    buf_printf(why, "`%s` contains \\u0000", name);
    return MI_EPROTO;
}

int cassette_read_unsigned_number(struct json_value v, const char *name, int64_t *ret,
                                  struct buf *why)
{
    int64_t n;
    if (v.type == JSON_NONE)
        return 0;
    if (!json_int(v, &n) || n < 0) {
        buf_printf(why, "`%s` must be a whole number, 0 or more", name);
        return MI_EPROTO;
    }
    *ret = n;
    return 0;
}
