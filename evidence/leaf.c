#include "evidence/leaf.h"

#include "base/json_out.h"
#include "wire/json/text.h"

static const char *const type_names[] = {
    [LEAF_BEGIN] = "begin", [LEAF_OPEN] = "open",     [LEAF_SEAL] = "seal",
    [LEAF_PRUNE] = "prune", [LEAF_REDACT] = "redact", [LEAF_KEY] = "key",
};

static void leaf_add_digest(struct json_out *j, const char *name, const struct digest *d)
{
    char text[DIGEST_HEX + 1];
    digest_hex(d, text);
    json_out_str(j, name, text);
}

static void leaf_add_quoted(struct json_out *j, const char *name, struct slice raw)
{
    if (raw.p != NULL)
        json_out_quoted(j, name, raw);
    else
        json_out_null(j, name);
}

void leaf_write(struct buf *b, const struct leaf *l)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", type_names[l->type]);
    if (l->type == LEAF_BEGIN) {
        json_out_int(&j, "version", LEAF_VERSION);
        json_out_text(&j, "vault", l->uid);
    } else if (l->type != LEAF_KEY) {
        json_out_text(&j, "session", l->uid);
    }
    if (l->type != LEAF_OPEN)
        json_out_int(&j, "at_us", l->at_us);
    switch (l->type) {
    case LEAF_BEGIN:
        json_out_int(&j, "after", l->id);
        break;
    case LEAF_OPEN:
        json_out_int(&j, "id", l->id);
        leaf_add_digest(&j, "commitment", &l->digest);
        break;
    case LEAF_SEAL:
        leaf_add_quoted(&j, "end", l->end);
        leaf_add_digest(&j, "commitment", &l->digest);
        json_out_int(&j, "records", l->records);
        leaf_add_digest(&j, "root", &l->root);
        break;
    case LEAF_PRUNE:
        break;
    case LEAF_REDACT:
        json_out_int(&j, "records", l->records);
        leaf_add_digest(&j, "digest", &l->digest);
        break;
    case LEAF_KEY:
        leaf_add_quoted(&j, "key", l->key);
        leaf_add_quoted(&j, "previous", l->previous);
        leaf_add_quoted(&j, "signature", l->signature);
        leaf_add_quoted(&j, "previous_signature", l->previous_signature);
        break;
    }
    json_out_end(&j);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Returns enum leaf_type, or -1. */
static int leaf_type_by_name(struct json_value v)
{
    struct slice name = json_string_raw(v);
    for (size_t i = 0; i < MI_COUNT(type_names); i++)
        if (name.p != NULL && slice_is(name, type_names[i]))
            return (int)i;
    return -1;
}

static int64_t leaf_get_number(struct json_value root, const char *name)
{
    int64_t v = 0;
    return json_int(json_get(root, name), &v) ? v : 0;
}

static struct digest leaf_get_digest(struct json_value root, const char *name)
{
    struct digest d = {{0}};
    struct slice hex = json_string_raw(json_get(root, name));
    if (hex.p == NULL || !digest_read_hex(hex, &d))
        memset(&d, 0, sizeof d);
    return d;
}

static struct slice leaf_get_text(struct json_value root, const char *name)
{
    return json_string_raw(json_get(root, name));
}

/* Reads the leaf and writes it again. If the text differs, the line is not a leaf as this version
 * writes it. */
int leaf_read(struct slice line, struct leaf *ret)
{
    struct json_scan scan;
    if (json_scan(line, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return MI_EINVAL;
    struct json_value root = {scan.type, scan.root};
    int type = leaf_type_by_name(json_get(root, "type"));
    if (type < 0)
        return MI_EINVAL;
    static const char *const hashes[] = {
        [LEAF_OPEN] = "commitment", [LEAF_SEAL] = "commitment", [LEAF_REDACT] = "digest"};
    struct leaf l = {
        .type = (enum leaf_type)type,
        .uid = leaf_get_text(root, type == LEAF_BEGIN ? "vault" : "session"),
        .at_us = leaf_get_number(root, "at_us"),
        .id = leaf_get_number(root, type == LEAF_BEGIN ? "after" : "id"),
        .records = leaf_get_number(root, "records"),
        .end = leaf_get_text(root, "end"),
        .key = leaf_get_text(root, "key"),
        .previous = leaf_get_text(root, "previous"),
        .signature = leaf_get_text(root, "signature"),
        .previous_signature = leaf_get_text(root, "previous_signature"),
    };
    if (type == LEAF_KEY ? l.key.p == NULL || l.signature.p == NULL : l.uid.p == NULL)
        return MI_EINVAL;
    if (type == LEAF_OPEN || type == LEAF_SEAL || type == LEAF_REDACT)
        l.digest = leaf_get_digest(root, hashes[type]);
    if (type == LEAF_SEAL)
        l.root = leaf_get_digest(root, "root");
    struct buf again = {0};
    leaf_write(&again, &l);
    int st = again.failed ? MI_ENOMEM : slice_eq(buf_slice(&again), line) ? 0 : MI_EINVAL;
    buf_close(&again);
    if (st == 0)
        *ret = l;
    return st;
}
