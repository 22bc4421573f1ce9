#include "evidence/bundle_read.h"

/* ---- objects -------------------------------------------------------------------------------- */

struct member {
    const char *name;
    enum json_type type;
};

/* Reads the values of the named members. Rejects an object that has other members. */
static int bundle_read_members(struct json_value object, const struct member *m, size_t n,
                               struct json_value *ret)
{
    struct json_walk w = json_walk_begin(object);
    struct slice key;
    struct json_value v;
    size_t found = 0;
    memset(ret, 0, n * sizeof *ret);
    if (object.type != JSON_OBJECT)
        return MI_EINVAL;
    while (json_walk_next(&w, &key, &v)) {
        size_t i = 0;
        while (i < n && !slice_is(key, m[i].name))
            i++;
        if (i == n || ret[i].type != JSON_NONE || v.type != m[i].type)
            return MI_EINVAL;
        ret[i] = v;
        found++;
    }
    return found == n ? 0 : MI_EINVAL;
}

static int bundle_read_unsigned_number(struct json_value v, uint64_t *ret)
{
    int64_t n;
    if (!json_int(v, &n) || n < 0)
        return MI_EINVAL;
    *ret = (uint64_t)n;
    return 0;
}

static int bundle_read_hashes(struct json_value array, size_t max, struct digest *ret,
                              size_t *ret_n)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v;
    size_t n = 0;
    while (json_walk_next(&w, &key, &v))
        if (n == max || v.type != JSON_STRING || !digest_read_hex(json_string_raw(v), &ret[n++]))
            return MI_EINVAL;
    *ret_n = n;
    return 0;
}

/* Appends the unescaped string to `text`. *ret is the part that was appended. Returns 0 or
 * MI_ENOMEM. */
static int bundle_read_string(struct json_value v, struct buf *text, struct slice *ret)
{
    size_t at = text->n;
    json_unescape(text, json_string_raw(v));
    if (text->failed)
        return MI_ENOMEM;
    *ret = (struct slice){text->p != NULL ? text->p + at : "", text->n - at};
    return 0;
}

/* ---- parts ---------------------------------------------------------------------------------- */

int bundle_read(struct slice text, struct bundle_text *ret)
{
    enum { FORMAT, VERSION, CHECKPOINT, LEAVES, REDACTIONS, GROUPS, RECORDS, END, N };
    static const struct member members[N] = {
        {"format", JSON_STRING}, {"version", JSON_NUMBER},   {"checkpoint", JSON_STRING},
        {"leaves", JSON_ARRAY},  {"redactions", JSON_ARRAY}, {"groups", JSON_ARRAY},
        {"records", JSON_ARRAY}, {"end", JSON_OBJECT},
    };
    struct json_scan scan;
    struct json_value v[N];
    int64_t version;
    if (text.n > BUNDLE_MAX || json_scan(text, NULL, NULL, &scan) < 0)
        return MI_EINVAL;
    if (bundle_read_members((struct json_value){scan.type, scan.root}, members, N, v) < 0 ||
        !slice_is(json_string_raw(v[FORMAT]), BUNDLE_FORMAT) || !json_int(v[VERSION], &version) ||
        version != BUNDLE_VERSION)
        return MI_EINVAL;
    *ret = (struct bundle_text){.checkpoint = json_string_raw(v[CHECKPOINT]),
                                .leaves = v[LEAVES],
                                .redactions = v[REDACTIONS],
                                .groups = v[GROUPS],
                                .records = v[RECORDS],
                                .end = v[END]};
    return 0;
}

int bundle_read_leaf(struct json_value v, struct bundle_leaf *ret, struct bundle_proof *p)
{
    static const struct member members[] = {
        {"n", JSON_NUMBER}, {"leaf", JSON_STRING}, {"proof", JSON_ARRAY}};
    struct json_value m[MI_COUNT(members)];
    struct slice text;
    if (bundle_read_members(v, members, MI_COUNT(members), m) < 0 ||
        bundle_read_unsigned_number(m[0], &p->n) < 0 ||
        bundle_read_hashes(m[2], TREE_DEPTH, p->proof, &p->proof_n) < 0)
        return MI_EINVAL;
    ret->n = p->n;
    int st = bundle_read_string(m[1], &ret->text, &text);
    return st == 0 ? leaf_read(text, &ret->leaf) : st;
}

int bundle_read_redaction(struct json_value v, uint64_t *ret_n, struct json_value *ret_lines)
{
    static const struct member members[] = {{"n", JSON_NUMBER}, {"lines", JSON_ARRAY}};
    struct json_value m[MI_COUNT(members)];
    if (bundle_read_members(v, members, MI_COUNT(members), m) < 0 ||
        bundle_read_unsigned_number(m[0], ret_n) < 0)
        return MI_EINVAL;
    *ret_lines = m[1];
    return 0;
}

int bundle_read_line(struct json_value v, struct bundle_line *ret)
{
    enum { HASHES = 2 * (1 + DIGEST_HEX) }; /* length of two hashes, each after a blank */
    struct slice s = json_string_raw(v);
    if (s.p == NULL || s.n <= HASHES)
        return MI_EINVAL;
    const char *old = s.p + s.n - HASHES, *now = old + 1 + DIGEST_HEX;
    if (*old != ' ' || *now != ' ' ||
        !digest_read_hex((struct slice){old + 1, DIGEST_HEX}, &ret->old) ||
        !digest_read_hex((struct slice){now + 1, DIGEST_HEX}, &ret->now))
        return MI_EINVAL;
    ret->record = (struct slice){s.p, s.n - HASHES};
    return 0;
}

int bundle_read_group(struct json_value v, struct bundle_proof *p,
                      struct digest ret[SESSION_TREE_GROUP], size_t *ret_k)
{
    static const struct member members[] = {
        {"n", JSON_NUMBER}, {"commitments", JSON_ARRAY}, {"proof", JSON_ARRAY}};
    struct json_value m[MI_COUNT(members)];
    if (bundle_read_members(v, members, MI_COUNT(members), m) < 0 ||
        bundle_read_unsigned_number(m[0], &p->n) < 0 ||
        bundle_read_hashes(m[1], SESSION_TREE_GROUP, ret, ret_k) < 0 ||
        bundle_read_hashes(m[2], TREE_DEPTH, p->proof, &p->proof_n) < 0)
        return MI_EINVAL;
    return 0;
}

/* ---- records -------------------------------------------------------------------------------- */

static int bundle_read_salt(struct json_value v, struct salt *ret)
{
    struct slice hex = json_string_raw(v);
    char twice[DIGEST_HEX];
    struct digest d;
    if (hex.p == NULL || hex.n != 2 * SALT_N)
        return MI_EINVAL;
    /* digest_read_hex() reads a hash, which is twice as long as a salt: the salt is passed twice */
    memcpy(twice, hex.p, hex.n);
    memcpy(twice + hex.n, hex.p, hex.n);
    if (!digest_read_hex((struct slice){twice, sizeof twice}, &d))
        return MI_EINVAL;
    memcpy(ret->b, d.b, SALT_N);
    return 0;
}

/* Whether s is a decimal number in the form in which it is hashed: no sign except `-`, no leading
 * zeros, within int64_t. */
static bool is_canonical_number(struct slice s)
{
    size_t first = s.n > 0 && s.p[0] == '-';
    uint64_t v = 0;
    if (s.n == first || s.n - first > 19 || (s.p[first] == '0' && s.n > 1))
        return false;
    for (size_t i = first; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        v = 10 * v + (uint64_t)(s.p[i] - '0');
    }
    return v <= (uint64_t)INT64_MAX + first;
}

int64_t bundle_parse_number(struct slice s)
{
    size_t first = s.n > 0 && s.p[0] == '-';
    uint64_t v = 0;
    for (size_t i = first; i < s.n; i++)
        v = 10 * v + (uint64_t)(s.p[i] - '0');
    return first ? -(int64_t)(v - 1) - 1 : (int64_t)v;
}

/* Returns enum bundle_kind, or -1. */
static int record_kind_by_name(struct slice name)
{
    for (int i = 0; i < BUNDLE_KINDS; i++)
        if (name.p != NULL && slice_is(name, bundle_shape[i].name))
            return i;
    return -1;
}

static int bundle_read_fields(struct json_value array, struct buf *text, struct bundle_record *ret)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v;
    size_t n = 0;
    if (!json_walk_next(&w, &key, &v) || v.type != JSON_STRING)
        return MI_EINVAL;
    int kind = record_kind_by_name(json_string_raw(v));
    if (kind < 0)
        return MI_EINVAL;
    ret->kind = (enum bundle_kind)kind;
    const struct bundle_shape *shape = &bundle_shape[kind];
    memset(ret->field, 0, sizeof ret->field);
    while (json_walk_next(&w, &key, &v)) {
        if (n == shape->n + shape->tail || (v.type != JSON_STRING && v.type != JSON_NULL))
            return MI_EINVAL;
        struct slice *f = &ret->field[n];
        int st = v.type == JSON_STRING ? bundle_read_string(v, text, f) : 0;
        if (st < 0)
            return st;
        if (f->p != NULL && (shape->numbers >> n & 1) != 0 && !is_canonical_number(*f))
            return MI_EINVAL;
        n++;
    }
    ret->n = n;
    return n == shape->n || (n > shape->n && ret->field[n - 1].p != NULL) ? 0 : MI_EINVAL;
}

int bundle_read_record(struct json_value v, bool last, struct buf *text, struct bundle_record *ret)
{
    static const struct member members[] = {
        {"salt", JSON_STRING}, {"fields", JSON_ARRAY}, {"place", JSON_NUMBER}};
    struct json_value m[MI_COUNT(members)];
    buf_clear(text);
    ret->place = 0;
    ret->redacted_at_us = 0;
    if (bundle_read_members(v, members, last ? 2 : 3, m) < 0 ||
        bundle_read_salt(m[0], &ret->salt) < 0 ||
        (!last && bundle_read_unsigned_number(m[2], &ret->place) < 0))
        return MI_EINVAL;
    /* The unescaped fields are never longer than the JSON, so `text` is not reallocated again. */
    if (!buf_reserve(text, v.text.n))
        return MI_ENOMEM;
    int st = bundle_read_fields(m[1], text, ret);
    if (st < 0)
        return st;
    return (ret->kind == BUNDLE_END) == last ? 0 : MI_EINVAL;
}
