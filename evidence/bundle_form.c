#include "evidence/bundle_form.h"

#include <stdio.h>

#define NUMBER(at, type) FIELD_IF(FIELD_NUMBER_##type)(| 1u << (at))
#define IN_SESSION(name, type, n, s, cover, ...)                                                   \
    FIELD_IF(FIELD_OPEN_##cover)(NUMBER(BUNDLE_SESSION_##name, type))
#define IN_MESSAGE(name, type, n, s, cover, ...)                                                   \
    FIELD_IF(FIELD_OPEN_##cover)(NUMBER(BUNDLE_MESSAGE_##name, type))
#define IN_EVENT(name, type, n, s, cover, ...)                                                     \
    FIELD_IF(FIELD_OPEN_##cover)(NUMBER(BUNDLE_EVENT_##name, type))
#define IN_END(name, type, n, s, cover, ...)                                                       \
    FIELD_IF(FIELD_END_##cover)(NUMBER(BUNDLE_END_##name, type))
#define COUNT_TAIL(name, type, n, s, cover, ...) FIELD_IF(FIELD_TAIL_##cover)(+1)
#define SESSION_TAIL (0 SESSION_FIELDS(COUNT_TAIL))
#define MESSAGE_TAIL (0 MESSAGE_FIELDS(COUNT_TAIL))

const struct bundle_shape bundle_shape[BUNDLE_KINDS] = {
    [BUNDLE_SESSION] = {"session", BUNDLE_SESSION_ALL - SESSION_TAIL, SESSION_TAIL,
                        0 SESSION_FIELDS(IN_SESSION)},
    [BUNDLE_MESSAGE] = {"message", BUNDLE_MESSAGE_ALL - MESSAGE_TAIL, MESSAGE_TAIL,
                        0 MESSAGE_FIELDS(IN_MESSAGE)},
    [BUNDLE_EVENT] = {"event", BUNDLE_EVENT_ALL, 0, 0 EVENT_FIELDS(IN_EVENT)},
    [BUNDLE_END] = {"end", BUNDLE_END_ALL, 0, 0 SESSION_FIELDS(IN_END)},
};

static void bundle_add_hashes(struct json_out *j, const char *name, const struct digest *d,
                              size_t n)
{
    char hex[DIGEST_HEX + 1];
    json_out_array(j, name);
    for (size_t i = 0; i < n; i++) {
        digest_hex(&d[i], hex);
        json_out_str(j, NULL, hex);
    }
    json_out_end(j);
}

static void bundle_add_salt(struct json_out *j, const struct salt *salt)
{
    char hex[2 * SALT_N + 1];
    for (size_t i = 0; i < SALT_N; i++)
        snprintf(hex + 2 * i, 3, "%02x", salt->b[i]);
    json_out_str(j, "salt", hex);
}

/* Begins an element of a section on a new line. */
static void bundle_begin_element(struct bundle_out *o)
{
    json_out_add_whitespace(&o->j, "\n");
    json_out_object(&o->j, NULL);
}

void bundle_write(struct bundle_out *o, struct buf *b, struct slice note)
{
    *o = (struct bundle_out){.j = json_out_to(b)};
    json_out_object(&o->j, NULL);
    json_out_str(&o->j, "format", BUNDLE_FORMAT);
    json_out_int(&o->j, "version", BUNDLE_VERSION);
    json_out_text(&o->j, "checkpoint", note);
}

static void bundle_end_section(struct bundle_out *o)
{
    if (o->in_section)
        json_out_end(&o->j);
    o->in_section = false;
}

void bundle_begin_section(struct bundle_out *o, enum bundle_section s)
{
    static const char *const names[] = {[BUNDLE_LEAVES] = "leaves",
                                        [BUNDLE_REDACTIONS] = "redactions",
                                        [BUNDLE_GROUPS] = "groups",
                                        [BUNDLE_RECORDS] = "records"};
    bundle_end_section(o);
    json_out_array(&o->j, names[s]);
    o->in_section = true;
}

void bundle_write_leaf(struct bundle_out *o, uint64_t n, struct slice leaf,
                       const struct digest *node, uint64_t size)
{
    struct digest proof[TREE_DEPTH];
    bundle_begin_element(o);
    json_out_uint(&o->j, "n", n);
    json_out_text(&o->j, "leaf", leaf);
    bundle_add_hashes(&o->j, "proof", proof, tree_make_proof(node, size, n, proof));
    json_out_end(&o->j);
}

void bundle_begin_redaction(struct bundle_out *o, uint64_t n)
{
    bundle_begin_element(o);
    json_out_uint(&o->j, "n", n);
    json_out_array(&o->j, "lines");
}

void bundle_write_line(struct bundle_out *o, struct slice line)
{
    json_out_add_whitespace(&o->j, "\n");
    json_out_text(&o->j, NULL, line);
}

void bundle_end_redaction(struct bundle_out *o)
{
    json_out_end(&o->j);
    json_out_end(&o->j);
}

void bundle_write_commitment_group(struct bundle_out *o, uint64_t g,
                                   const struct digest *commitment, size_t k,
                                   const struct digest *node, uint64_t groups)
{
    struct digest proof[TREE_DEPTH];
    bundle_begin_element(o);
    json_out_uint(&o->j, "n", g);
    bundle_add_hashes(&o->j, "commitments", commitment, k);
    bundle_add_hashes(&o->j, "proof", proof, tree_make_proof(node, groups, g, proof));
    json_out_end(&o->j);
}

void bundle_begin_record(struct bundle_out *o, uint64_t place, const struct salt *salt)
{
    bundle_begin_element(o);
    json_out_uint(&o->j, "place", place);
    bundle_add_salt(&o->j, salt);
    json_out_array(&o->j, "fields");
}

void bundle_write_field(struct bundle_out *o, struct slice text)
{
    json_out_text(&o->j, NULL, text);
}

void bundle_write_number(struct bundle_out *o, int64_t v)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)v);
    json_out_str(&o->j, NULL, text);
}

void bundle_end_record(struct bundle_out *o)
{
    json_out_end(&o->j);
    json_out_end(&o->j);
}

void bundle_begin_session_end_record(struct bundle_out *o, const struct salt *salt)
{
    bundle_end_section(o);
    json_out_add_whitespace(&o->j, "\n");
    json_out_object(&o->j, "end");
    bundle_add_salt(&o->j, salt);
    json_out_array(&o->j, "fields");
}

void bundle_finish(struct bundle_out *o)
{
    bundle_end_section(o);
    json_out_end(&o->j);
    buf_addc(o->j.b, '\n');
}
