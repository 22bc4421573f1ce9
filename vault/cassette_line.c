/* cassette_line.c - one line of a cassette: its members, and what a message says by itself. */
#include "vault/cassette_inner.h"

#include "base/text.h"
#include "wire/json_text.h"

/* ---- members ---- */

struct gather {
    const struct cassette_member *table;
    size_t n;
    struct json_value *values;
    struct slice unknown; /* a key that is not in the table */
    const char *twice;    /* a name that stands twice */
};

static void on_member(void *ctx, const struct json_member *m)
{
    struct gather *g = ctx;
    if (m->depth != 1)
        return;
    for (size_t i = 0; i < g->n; i++) {
        if (!json_key_is(m->key, g->table[i].name))
            continue;
        if (g->values[i].type != JSON_NONE)
            g->twice = g->table[i].name;
        g->values[i] = m->value;
        return;
    }
    g->unknown = m->key;
}

static const char *type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_NONE] = "a value",   [JSON_NULL] = "null",        [JSON_FALSE] = "false",
        [JSON_TRUE] = "true",      [JSON_NUMBER] = "a number",  [JSON_STRING] = "a string",
        [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
    };
    return names[type];
}

int cassette_members(struct slice line, const struct cassette_member *table, size_t n, bool strict,
                     struct json_value *values, struct buf *why)
{
    struct gather g = {.table = table, .n = n, .values = values};
    struct json_scan scan;
    buf_clear(why);
    for (size_t i = 0; i < n; i++)
        values[i] = (struct json_value){0};
    if (json_scan(line, on_member, &g, &scan) < 0) {
        buf_printf(why, "%s (byte %zu)", json_fault_text(scan.fault.kind), scan.fault.at + 1);
        return MI_EPROTO;
    }
    if (scan.type != JSON_OBJECT)
        buf_adds(why, "this is no JSON object");
    else if (strict && g.twice != NULL)
        buf_printf(why, "`%s` stands twice", g.twice);
    else if (strict && g.unknown.p != NULL) {
        buf_adds(why, "there is no member `");
        text_visible(why, text_head(g.unknown, 40));
        buf_adds(why, "` in this kind of line");
    }
    for (size_t i = 0; why->n == 0 && i < n; i++) {
        if (values[i].type == JSON_NONE && table[i].needed)
            buf_printf(why, "`%s` is missing", table[i].name);
        else if (values[i].type != JSON_NONE && table[i].type != JSON_NONE &&
                 values[i].type != table[i].type)
            buf_printf(why, "`%s` must be %s", table[i].name, type_name(table[i].type));
    }
    return why->n > 0 || why->failed ? MI_EPROTO : 0;
}

int cassette_string(struct json_value v, const char *name, struct buf *room, struct slice *ret,
                    struct buf *why)
{
    if (v.type != JSON_STRING)
        return 0;
    size_t from = room->n;
    struct slice raw = json_string_raw(v);
    json_unescape(room, raw);
    *ret = (struct slice){room->p + from, room->n - from};
    if (memchr(ret->p, '\0', ret->n) == NULL)
        return 0;
    buf_printf(why, "`%s` holds \\u0000, which no record does", name);
    return MI_EPROTO;
}

int cassette_count(struct json_value v, const char *name, int64_t *ret, struct buf *why)
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

/* ---- what a message says by itself ---- */

struct span {
    bool made;
    size_t from, n;
};

/* As the vault keeps names: escapes resolved, CASSETTE_NAME_MAX bytes at most. */
static struct span resolve(struct buf *b, struct slice raw)
{
    if (raw.p == NULL || (raw.n <= CASSETTE_NAME_MAX && memchr(raw.p, '\\', raw.n) == NULL))
        return (struct span){0};
    struct span s = {.made = true, .from = b->n};
    struct buf name = {0};
    json_unescape(&name, text_head(raw, (size_t)CASSETTE_NAME_MAX * 6));
    text_utf8(b, text_head(buf_slice(&name), CASSETTE_NAME_MAX));
    if (name.failed)
        b->failed = true;
    buf_close(&name);
    s.n = b->n - s.from;
    return s;
}

static struct slice pick(const struct buf *b, struct span s, struct slice raw)
{
    return s.made ? (struct slice){b->p + s.from, s.n} : raw;
}

int cassette_derive(struct slice body, bool is_stderr, struct buf *scratch,
                    struct cassette_derived *ret)
{
    *ret = (struct cassette_derived){.kind = slice_of("noise")};
    buf_clear(scratch);
    if (is_stderr || body.p == NULL || rpc_read(body, &ret->rpc) < 0)
        return 0;
    const struct rpc *m = &ret->rpc;
    struct slice raw_target = rpc_target(m);
    struct span method = resolve(scratch, m->method);
    struct span target = resolve(scratch, raw_target);
    if (scratch->failed || ((method.made || target.made) && !buf_room(scratch, 1)))
        return MI_ENOMEM;
    ret->kind = slice_of(rpc_kind_name(m->kind));
    ret->method = pick(scratch, method, m->method);
    ret->target = pick(scratch, target, raw_target);
    if (m->id.type != JSON_NONE && m->id.text.n <= CASSETTE_NAME_MAX)
        ret->rpc_id = m->id.text;
    if (m->kind == RPC_ERROR)
        ret->has_error_code = json_int(m->error_code, &ret->error_code);
    return 0;
}

void cassette_stand_in(const struct query_message *m, struct cassette_derived *d)
{
    static const enum rpc_kind kinds[] = {RPC_REQUEST, RPC_RESULT, RPC_ERROR, RPC_BATCH};
    if (m->body.p != NULL)
        return;
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (slice_is(m->kind, rpc_kind_name(kinds[i])))
            d->rpc.kind = kinds[i];
    if (m->rpc_id.p != NULL)
        d->rpc.id = (struct json_value){json_type_at(m->rpc_id.p[0]), m->rpc_id};
}
