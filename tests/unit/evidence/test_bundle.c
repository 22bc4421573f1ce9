/* bundle: what is not exactly what was sealed and signed is refused. */
#include "evidence/bundle.h"
#include "evidence/key_leaf.h"
#include "evidence/session_tree.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define VAULT "01M7YSNFPE4WHD7A4MYSYTND3Q"
#define UID "01M7YSNFPE4WHD7A4MYSYTND3R"
#define ORIGIN CHECKPOINT_ORIGIN VAULT

/* A vault with one session of n records. All but the first and every seventh are messages. */
struct made {
    size_t n;
    struct salt *salt;
    struct digest *commitment, *group;
    size_t groups;
    size_t redacted; /* this place was redacted twice; 0: none */
    struct digest second;
    struct digest end;
    struct secret_key key, old;
    struct buf leaf[8], lines[2];
    struct digest hash[16];
    size_t leaves;
    size_t seal;
    bool rotated;
    bool twice; /* write the last record twice */
};

static bool is_event(size_t place)
{
    return place % 7 == 0;
}

static bool backwards; /* messages have their numbers in the reverse order */

static size_t seq_of(size_t place)
{
    return backwards ? 1000 - place : place - place / 7;
}

static const char *number(char text[24], size_t v)
{
    snprintf(text, 24, "%zu", v);
    return text;
}

/* The fields of a record; *ret_n: how many. */
static void fields_of(size_t place, struct slice f[BUNDLE_FIELDS + 1], size_t *ret_n, char text[24])
{
    size_t n = 0;
    if (place == 0) {
        static const char *const session[] = {
            "session", UID,  "files", "[\"cat\"]", "1795256140000000",
            "7",       "vm", "full",  "0.1.0",     NULL};
        for (; n < MI_COUNT(session); n++)
            f[n] = session[n] != NULL ? slice_of(session[n]) : (struct slice){0};
    } else if (is_event(place)) {
        f[n++] = slice_of("event");
        f[n++] = slice_of(number(text, place));
        f[n++] = slice_of("spawn");
        f[n++] = slice_of("{\"pid\":1}");
    } else {
        for (n = 0; n <= BUNDLE_MESSAGE_body + 1; n++)
            f[n] = (struct slice){0};
        f[0] = slice_of("message");
        f[1 + BUNDLE_MESSAGE_seq] = slice_of(number(text, seq_of(place)));
        f[1 + BUNDLE_MESSAGE_t_us] = slice_of("-5");
        f[1 + BUNDLE_MESSAGE_kind] = slice_of("request");
        f[1 + BUNDLE_MESSAGE_rpc_id] = slice_of("");
        f[1 + BUNDLE_MESSAGE_body] = slice_of("{\"x\":\"\xC3\xA9\\n\"}");
    }
    *ret_n = n;
}

static const char *const end_fields[] = {
    "end", "client", "1", NULL, NULL, NULL, "1795256141000000", "client-closed", "0"};

static struct digest commit(const struct salt *salt, const struct slice *f, size_t n)
{
    struct record r;
    struct digest d;
    record_begin_digest(&r, salt, "");
    r.n -= 1; /* without the kind, which is among the fields */
    for (size_t i = 0; i < n; i++)
        record_add_text(&r, f[i]);
    record_finish_digest(&r, &d);
    return d;
}

static struct digest commit_place(size_t place, const struct salt *salt)
{
    struct slice f[BUNDLE_FIELDS + 1];
    char text[24];
    size_t n;
    fields_of(place, f, &n, text);
    return commit(salt, f, n);
}

static void end_slices(struct slice f[MI_COUNT(end_fields)])
{
    for (size_t i = 0; i < MI_COUNT(end_fields); i++)
        f[i] = end_fields[i] != NULL ? slice_of(end_fields[i]) : (struct slice){0};
}

static void add_leaf(struct made *m, const struct leaf *l)
{
    leaf_write(&m->leaf[m->leaves], l);
    m->leaves++;
}

static void add_key(struct made *m, const struct secret_key *k, const struct secret_key *previous)
{
    assert_int_equal(key_leaf_write(&m->leaf[m->leaves], slice_of(ORIGIN), 5, k, previous), 0);
    m->leaves++;
}

/* A leaf `redact` of one record, and its line. */
static void add_redact(struct made *m, size_t i, const struct digest *old, const struct digest *now)
{
    char a[DIGEST_HEX + 1], b[DIGEST_HEX + 1];
    struct leaf l = {
        .type = LEAF_REDACT, .uid = slice_of(UID), .at_us = 100 + (int64_t)i, .records = 1};
    digest_hex(old, a);
    digest_hex(now, b);
    buf_printf(&m->lines[i], "message %zu %s %s", seq_of(m->redacted), a, b);
    buf_addc(&m->lines[i], '\n');
    l.digest = digest_of_text(buf_slice(&m->lines[i]));
    m->lines[i].n--;
    add_leaf(m, &l);
}

static void make(struct made *m, size_t n, size_t redacted, bool rotated)
{
    struct slice f[MI_COUNT(end_fields)];
    struct session_tree p = {0};
    *m = (struct made){.n = n, .redacted = redacted, .rotated = rotated};
    m->salt = calloc(n, sizeof *m->salt);
    m->commitment = calloc(n, sizeof *m->commitment);
    m->groups = (n + SESSION_TREE_GROUP - 1) / SESSION_TREE_GROUP;
    m->group = calloc(tree_count_nodes(m->groups), sizeof *m->group);
    for (size_t i = 0; i < n; i++) {
        memcpy(m->salt[i].b, &i, sizeof i);
        m->commitment[i] =
            i == redacted && i > 0 ? digest_of_text(slice_of("old")) : commit_place(i, &m->salt[i]);
        session_tree_add_record(&p, &m->commitment[i]);
    }
    for (size_t g = 0; g < m->groups; g++)
        m->group[g] = session_tree_digest_group(m->commitment + g * SESSION_TREE_GROUP,
                                                     size_min(SESSION_TREE_GROUP, n - g * SESSION_TREE_GROUP));
    tree_compute_inner_nodes(m->group, m->groups);
    end_slices(f);
    m->end = commit(&m->salt[0], f, MI_COUNT(end_fields));
    assert_int_equal(key_make(slice_of("k"), &m->key), 0);
    assert_int_equal(key_make(slice_of("old"), &m->old), 0);
    add_leaf(m, &(struct leaf){.type = LEAF_BEGIN, .uid = slice_of(VAULT), .at_us = 1});
    if (rotated)
        add_key(m, &m->old, NULL);
    add_key(m, &m->key, rotated ? &m->old : NULL);
    add_leaf(m, &(struct leaf){
                    .type = LEAF_OPEN, .uid = slice_of(UID), .id = 1, .digest = m->commitment[0]});
    m->seal = m->leaves;
    add_leaf(m, &(struct leaf){.type = LEAF_SEAL,
                               .uid = slice_of(UID),
                               .at_us = 9,
                               .end = slice_of("client-closed"),
                               .digest = m->end,
                               .records = (int64_t)n,
                               .root = session_tree_compute_root(&p)});
    if (redacted > 0) {
        struct digest now = commit_place(redacted, &m->salt[redacted]);
        m->second = digest_of_text(slice_of("middle"));
        add_redact(m, 0, &m->commitment[redacted], &m->second);
        add_redact(m, 1, &m->second, &now);
    }
}

static void release(struct made *m)
{
    for (size_t i = 0; i < MI_COUNT(m->leaf); i++)
        buf_close(&m->leaf[i]);
    buf_close(&m->lines[0]);
    buf_close(&m->lines[1]);
    free(m->salt);
    free(m->commitment);
    free(m->group);
}

static void write_note(struct made *m, const struct secret_key *k, struct buf *note)
{
    struct buf text = {0};
    struct tree t = {0};
    for (size_t i = 0; i < m->leaves; i++) {
        m->hash[i] = tree_leaf_digest(buf_slice(&m->leaf[i]));
        tree_add_leaf(&t, &m->hash[i]);
    }
    tree_compute_inner_nodes(m->hash, m->leaves);
    struct checkpoint c = {slice_of(ORIGIN), m->leaves, tree_root_digest(&t)};
    checkpoint_write(&text, &c);
    assert_int_equal(note_append_signed(note, buf_slice(&text), k), 0);
    buf_close(&text);
}

static void write_record(struct made *m, struct bundle_out *o, size_t place)
{
    struct slice f[BUNDLE_FIELDS + 1];
    char text[24];
    size_t n;
    fields_of(place, f, &n, text);
    bundle_begin_record(o, place, &m->salt[place]);
    for (size_t i = 0; i < n; i++)
        bundle_write_field(o, f[i]);
    bundle_end_record(o);
}

/* A bundle of the records 0 and from…to-1. */
static void bundle(struct made *m, const struct secret_key *k, size_t from, size_t to,
                   struct buf *b)
{
    struct bundle_out o;
    struct buf note = {0};
    struct slice end[MI_COUNT(end_fields)];
    write_note(m, k, &note);
    bundle_write(&o, b, buf_slice(&note));
    bundle_begin_section(&o, BUNDLE_LEAVES);
    for (size_t i = 1; i < m->leaves; i++)
        bundle_write_leaf(&o, i, buf_slice(&m->leaf[i]), m->hash, m->leaves);
    bundle_begin_section(&o, BUNDLE_REDACTIONS);
    for (size_t i = 0; m->redacted > 0 && i < 2; i++) {
        bundle_begin_redaction(&o, m->seal + 1 + i);
        bundle_write_line(&o, buf_slice(&m->lines[i]));
        bundle_end_redaction(&o);
    }
    bundle_begin_section(&o, BUNDLE_GROUPS);
    for (size_t g = 0; g < m->groups; g++)
        if (g == 0 || (g * SESSION_TREE_GROUP < to && (g + 1) * SESSION_TREE_GROUP > from))
            bundle_write_commitment_group(&o, g, m->commitment + g * SESSION_TREE_GROUP,
                               size_min(SESSION_TREE_GROUP, m->n - g * SESSION_TREE_GROUP), m->group,
                               m->groups);
    bundle_begin_section(&o, BUNDLE_RECORDS);
    write_record(m, &o, 0);
    for (size_t i = from > 0 ? from : 1; i < to; i++)
        write_record(m, &o, i);
    if (m->twice)
        write_record(m, &o, to - 1);
    end_slices(end);
    bundle_begin_session_end_record(&o, &m->salt[0]);
    for (size_t i = 0; i < MI_COUNT(end_fields); i++)
        bundle_write_field(&o, end[i]);
    bundle_end_record(&o);
    bundle_finish(&o);
    assert_false(b->failed);
    buf_close(&note);
}

static int opens(struct slice text, const struct public_key *key, struct buf *why)
{
    struct bundle b;
    buf_clear(why);
    int st = bundle_open(&b, text, key, why);
    bundle_close(&b);
    return st;
}

#define REFUSED(text, key, says)                                                                   \
    do {                                                                                           \
        assert_int_equal(opens(text, key, &why), MI_EINVAL);                                       \
        if (strstr(buf_str(&why), says) == NULL)                                                   \
            fail_msg("'%s' does not say '%s'", buf_str(&why), says);                               \
    } while (0)

static void test_bundle_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 63, 64, 65, 128, 129, 4097};
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        struct made m;
        struct buf b = {0}, why = {0};
        size_t n = sizes[i];
        make(&m, n, 0, false);
        bundle(&m, &m.key, 0, n, &b);
        assert_int_equal(opens(buf_slice(&b), &m.key.public, &why), 0);
        struct bundle whole;
        assert_int_equal(bundle_open(&whole, buf_slice(&b), &m.key.public, &why), 0);
        assert_true(bundle_has_all_records(&whole));
        struct bundle_walk w = bundle_begin_walk(&whole);
        struct bundle_record r;
        for (size_t k = 0; k < n; k++) {
            assert_true(bundle_next_record(&whole, &w, &r));
            assert_int_equal(r.place, k);
            if (r.kind == BUNDLE_MESSAGE) {
                assert_int_equal(bundle_parse_number(r.field[BUNDLE_MESSAGE_seq]), seq_of(k));
                assert_int_equal(bundle_parse_number(r.field[BUNDLE_MESSAGE_t_us]), -5);
                assert_null(r.field[BUNDLE_MESSAGE_method].p);
                assert_true(slice_is(r.field[BUNDLE_MESSAGE_rpc_id], ""));
            }
        }
        assert_false(bundle_next_record(&whole, &w, &r));
        assert_true(bundle_read_end_record(&whole, &w, &r));
        assert_true(slice_is(r.field[BUNDLE_END_end_reason], "client-closed"));
        bundle_walk_close(&w);
        bundle_close(&whole);
        for (size_t at = 1; at < n; at += n / 40 + 1) { /* single records */
            buf_clear(&b);
            bundle(&m, &m.key, at, at + 1, &b);
            assert_int_equal(opens(buf_slice(&b), &m.key.public, &why), 0);
        }
        buf_close(&b);
        buf_close(&why);
        release(&m);
    }
}

/* Also in the numbers, the names and the punctuation. */
static void test_bundle_any_other_byte_is_refused(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0};
    make(&m, 66, 65, true);
    bundle(&m, &m.key, 65, 66, &b);
    assert_int_equal(opens(buf_slice(&b), &m.key.public, &why), 0);
    for (size_t i = 0; i < b.n; i += unit_sample(3)) {
        if (b.p[i] == '\n')
            continue; /* white space */
        char c = b.p[i];
        b.p[i] ^= (char)(1 << i % 5);
        if (opens(buf_slice(&b), &m.key.public, &why) != MI_EINVAL)
            fail_msg("byte %zu may be '%c' instead of '%c': %.60s", i, b.p[i], c, b.p + i);
        b.p[i] = c;
    }
    for (size_t n = 0; n + 1 < b.n; n += unit_sample(3)) /* the last byte is a newline */
        assert_int_equal(opens((struct slice){b.p, n}, &m.key.public, &why), MI_EINVAL);
    buf_close(&b);
    buf_close(&why);
    release(&m);
}

static void test_bundle_redacted_record(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0};
    struct bundle read;
    struct bundle_record r;
    make(&m, 5, 3, false);
    bundle(&m, &m.key, 2, 4, &b);
    assert_int_equal(bundle_open(&read, buf_slice(&b), &m.key.public, &why), 0);
    struct bundle_walk w = bundle_begin_walk(&read);
    static const int64_t at[] = {0, 0, 101};
    for (size_t i = 0; i < MI_COUNT(at); i++) {
        assert_true(bundle_next_record(&read, &w, &r));
        assert_int_equal(r.redacted_at_us, at[i]);
    }
    bundle_walk_close(&w);
    bundle_close(&read);
    /* without the redaction it is another record */
    buf_clear(&b);
    m.redacted = 0;
    bundle(&m, &m.key, 2, 4, &b);
    REFUSED(buf_slice(&b), &m.key.public, "the record `message 3` is not the one that was sealed");
    buf_close(&b);
    buf_close(&why);
    release(&m);
}

static void test_bundle_keys(void **state)
{
    (void)state;
    struct made m, other;
    struct buf b = {0}, why = {0};
    make(&m, 3, 0, true);
    make(&other, 3, 0, false);
    bundle(&m, &m.key, 0, 3, &b);
    assert_int_equal(opens(buf_slice(&b), NULL, &why), 0);
    assert_int_equal(opens(buf_slice(&b), &m.old.public, &why), 0); /* has signed the new one */
    REFUSED(buf_slice(&b), &other.key.public, "the key is not one of the keys of this log");
    buf_clear(&b);
    bundle(&m, &m.old, 0, 3, &b); /* signed with the key that was given up */
    REFUSED(buf_slice(&b), &m.key.public,
            "the bundle's checkpoint is not signed with the key of its log");
    buf_clear(&b);
    bundle(&m, &other.key, 0, 3, &b);
    REFUSED(buf_slice(&b), &other.key.public, "is not signed with the key of its log");
    buf_close(&b);
    buf_close(&why);
    release(&m);
    release(&other);
}

/* Everything is signed, and the parts do not agree. */
static void test_bundle_parts_agree(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0};
    make(&m, 70, 0, false);
    size_t k = m.seal;
    struct leaf l;
    struct buf saved = m.leaf[k];
    assert_int_equal(leaf_read(buf_slice(&saved), &l), 0);
    static const char *const says[] = {"several sessions", "state different reasons",
                                       "groups do not have the form", "`end` is not the one",
                                       "do not belong to its session"};
    for (size_t i = 0; i < MI_COUNT(says); i++) {
        struct leaf wrong = l;
        if (i == 0)
            wrong.uid = slice_of(VAULT);
        else if (i == 1)
            wrong.end = slice_of("killed");
        else if (i == 2)
            wrong.records = 71;
        else if (i == 3)
            wrong.digest = m.commitment[0];
        else
            wrong.type = LEAF_PRUNE;
        m.leaf[k] = (struct buf){0};
        leaf_write(&m.leaf[k], &wrong);
        buf_clear(&b);
        bundle(&m, &m.key, 0, 70, &b);
        buf_close(&m.leaf[k]);
        REFUSED(buf_slice(&b), &m.key.public, says[i]);
    }
    m.leaf[k] = saved;
    struct salt salt = m.salt[66];
    m.salt[66] = m.salt[67];
    buf_clear(&b);
    bundle(&m, &m.key, 60, 70, &b);
    REFUSED(buf_slice(&b), &m.key.public, "`message 57` is not the one that was sealed");
    m.salt[66] = salt;
    buf_close(&b);
    buf_close(&why);
    release(&m);
}

/* Replaces a leaf; the log is signed with it. */
static void set_leaf(struct made *m, size_t i, const struct leaf *l)
{
    buf_clear(&m->leaf[i]);
    leaf_write(&m->leaf[i], l);
}

static void test_bundle_messages_are_in_order(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0};
    backwards = true;
    make(&m, 3, 0, false);
    bundle(&m, &m.key, 0, 3, &b);
    backwards = false;
    REFUSED(buf_slice(&b), &m.key.public, "not in the order of their numbers");
    buf_close(&b);
    buf_close(&why);
    release(&m);
}

static void test_bundle_leaves_of_the_session(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0}, open_text = {0}, seal_text = {0};
    struct leaf open, seal, wrong;
    make(&m, 3, 0, false);
    buf_slice_add(&open_text, buf_slice(&m.leaf[m.seal - 1]));
    buf_slice_add(&seal_text, buf_slice(&m.leaf[m.seal]));
    assert_int_equal(leaf_read(buf_slice(&open_text), &open), 0);
    assert_int_equal(leaf_read(buf_slice(&seal_text), &seal), 0);
    wrong = open;
    wrong.digest = m.commitment[1];
    set_leaf(&m, m.seal - 1, &wrong);
    bundle(&m, &m.key, 0, 3, &b);
    REFUSED(buf_slice(&b), &m.key.public, "is not the one that was stored when the session began");
    wrong = open;
    wrong.uid = slice_of(VAULT);
    set_leaf(&m, m.seal - 1, &wrong);
    wrong = seal;
    wrong.uid = slice_of(VAULT);
    set_leaf(&m, m.seal, &wrong);
    buf_clear(&b);
    bundle(&m, &m.key, 0, 3, &b);
    REFUSED(buf_slice(&b), &m.key.public, "the bundle's leaves are of another session");
    set_leaf(&m, m.seal - 1, &open);
    set_leaf(&m, m.seal, &seal);
    add_leaf(&m, &seal);
    buf_clear(&b);
    bundle(&m, &m.key, 0, 3, &b);
    REFUSED(buf_slice(&b), &m.key.public, "more than one seal");
    buf_close(&m.leaf[--m.leaves]);
    m.twice = true; /* it must not pass for a whole session */
    buf_clear(&b);
    bundle(&m, &m.key, 0, 2, &b);
    REFUSED(buf_slice(&b), &m.key.public, "not in the order of `place`");
    buf_close(&b);
    buf_close(&why);
    buf_close(&open_text);
    buf_close(&seal_text);
    release(&m);
}

static void test_bundle_redactions_are_those_of_the_log(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, why = {0};
    char hex[DIGEST_HEX + 1];
    make(&m, 5, 3, false);
    /* another record, and a line that states it */
    m.salt[3] = m.salt[2];
    struct digest other = commit_place(3, &m.salt[3]);
    digest_hex(&other, hex);
    memcpy(m.lines[1].p + m.lines[1].n - DIGEST_HEX, hex, DIGEST_HEX);
    bundle(&m, &m.key, 2, 4, &b);
    REFUSED(buf_slice(&b), &m.key.public, "the list of redacted records is not that of leaf");
    release(&m);
    /* a leaf that states another record as the old one */
    make(&m, 5, 3, false);
    struct digest now = commit_place(3, &m.salt[3]);
    m.leaves = m.seal + 1;
    for (size_t i = 0; i < 2; i++) {
        buf_close(&m.lines[i]);
        buf_close(&m.leaf[m.seal + 1 + i]);
    }
    add_redact(&m, 0, &m.commitment[2], &m.second);
    add_redact(&m, 1, &m.second, &now);
    buf_clear(&b);
    bundle(&m, &m.key, 2, 4, &b);
    REFUSED(buf_slice(&b), &m.key.public, "`message 3` was changed between its seal and its redaction");
    buf_close(&b);
    buf_close(&why);
    release(&m);
}

static void test_bundle_has_all_members_and_no_others(void **state)
{
    (void)state;
    struct made m;
    struct buf b = {0}, text = {0}, why = {0};
    make(&m, 2, 0, false);
    bundle(&m, &m.key, 0, 2, &b);
    static const char *const change[][2] = {{"\"redactions\":[],", ""},
                                            {"\"version\":1,", ""},
                                            {"\"place\":1,", ""},
                                            {"\"n\":0,", ""},
                                            {"\"version\":1,", "\"version\":2,"},
                                            {"\"version\":1,", "\"version\":1,\"more\":1,"},
                                            {"\"version\":1,", "\"version\":1,\"version\":1,"},
                                            {"\"place\":1,", "\"place\":1,\"more\":null,"},
                                            {"\"place\":1,", "\"place\":-1,"}};
    for (size_t i = 0; i < MI_COUNT(change); i++) {
        const char *at = strstr(buf_str(&b), change[i][0]);
        assert_non_null(at);
        buf_clear(&text);
        buf_add(&text, b.p, (size_t)(at - b.p));
        buf_adds(&text, change[i][1]);
        buf_adds(&text, at + strlen(change[i][0]));
        if (opens(buf_slice(&text), &m.key.public, &why) != MI_EINVAL)
            fail_msg("'%s' instead of '%s' is accepted", change[i][1], change[i][0]);
    }
    buf_close(&b);
    buf_close(&text);
    buf_close(&why);
    release(&m);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundle_sizes),
        cmocka_unit_test(test_bundle_any_other_byte_is_refused),
        cmocka_unit_test(test_bundle_redacted_record),
        cmocka_unit_test(test_bundle_keys),
        cmocka_unit_test(test_bundle_parts_agree),
        cmocka_unit_test(test_bundle_messages_are_in_order),
        cmocka_unit_test(test_bundle_leaves_of_the_session),
        cmocka_unit_test(test_bundle_redactions_are_those_of_the_log),
        cmocka_unit_test(test_bundle_has_all_members_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
