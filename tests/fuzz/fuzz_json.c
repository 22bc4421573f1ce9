/* Any bytes: json_scan() agrees with the slow reference, and the functions of wire/json/text.h read valid
 * text only within its bounds. */
#include "wire/json/text.h"

#include "base/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/json_reference.h"

static void read_string(struct json_value v)
{
    struct slice raw = json_string_raw(v);
    MUST(raw.p == v.text.p + 1 && raw.n + 2 == v.text.n);
    struct ref_text want = ref_unescape(raw);
    struct slice plain = {(char *)want.p, want.n};
    struct buf got = {0};
    json_unescape(&got, raw);
    MUST(!got.failed && slice_eq(buf_slice(&got), plain));
    MUST(got.n <= raw.n);
    if (memchr(want.p, '\0', want.n) == NULL) {
        want.p[want.n] = '\0';
        MUST(json_key_is(raw, (char *)want.p));
    }
    for (size_t max = 0; max <= raw.n && max < 12; max++) {
        struct slice head = json_string_first_bytes(v.text.p, max);
        MUST(head.p == raw.p && head.n <= max && head.n <= raw.n);
    }
    MUST(slice_eq(json_string_first_bytes(v.text.p, SIZE_MAX), raw));
    buf_close(&got);
    free(want.p);
}

static void read_number(struct json_value v)
{
    int64_t i;
    if (json_int(v, &i)) {
        MUST(json_is_integer(v));
        /* strtod() agrees, within its precision */
        char text[64];
        if (v.text.n < sizeof text) {
            memcpy(text, v.text.p, v.text.n);
            text[v.text.n] = '\0';
            MUST(strtod(text, NULL) == (double)i);
        }
    }
}

static void read_value(struct slice text, struct json_value v)
{
    struct json_walk w = json_walk_begin(v);
    struct slice key;
    struct json_value member;
    const char *at;
    MUST(inside(text, v.text) && v.type == ref_type(v.text.p[0]));
    if (v.type == JSON_STRING)
        read_string(v);
    else if (v.type == JSON_NUMBER)
        read_number(v);
    while (json_walk_peek(&w, &key, &at)) {
        MUST(json_walk_next(&w, &key, &member));
        MUST(member.text.p == at);
        MUST((key.p != NULL) == (v.type == JSON_OBJECT) && inside(v.text, key));
        MUST(inside(v.text, member.text) && member.text.n > 0);
        if (key.p != NULL)
            read_string((struct json_value){JSON_STRING, {key.p - 1, key.n + 2}});
        read_value(v.text, member); /* as deep as the text, which is at most JSON_MAX_DEPTH */
    }
    (void)json_get(v, "name");
}

/* The forms for terminals and files have the same value, and no control characters. */
static void write_again(struct slice text)
{
    struct buf again = {0}, visible = {0};
    struct json_scan s;
    text_append_visible_json(&again, text);
    text_append_visible(&visible, buf_slice(&again));
    MUST(slice_eq(buf_slice(&again), buf_slice(&visible)));
    MUST(json_scan(buf_slice(&again), NULL, NULL, &s) == 0);
    buf_close(&again);
    buf_close(&visible);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = {(const char *)data, size};
    struct ref_json r;
    ref_open(&r, text.p, text.n);
    const char *differs = ref_compare(&r, json_scan);
    if (differs != NULL)
        fprintf(stderr, "differs from the reference: %s\n", differs);
    MUST(differs == NULL);
    for (size_t i = 0; i < r.members_n; i++)
        MUST(inside(text, r.members[i].value.text) && inside(text, r.members[i].key));
    if (r.fault == JSON_OK) {
        read_value(text, (struct json_value){ref_type(r.root.p[0]), r.root});
        write_again(text);
    }
    ref_close(&r);

    /* Visible text is safe for any bytes. */
    struct buf b = {0};
    struct json_scan s;
    text_append_json(&b, text);
    MUST(json_scan(buf_slice(&b), NULL, NULL, &s) == 0 && s.type == JSON_STRING);
    buf_close(&b);
    return 0;
}
