#include "replay/source/sanitize.h"

#include "base/text.h"
#include "redact/sanitizer.h"
#include "wire/json/text.h"

/* Appends the value as `{"key":value}`, because rules may depend on the key. */
static void append_value_as_member(struct buf *b, struct slice pointer, struct slice value)
{
    const char *slash = slice_find_last(pointer, '/');
    struct slice key = pointer;
    if (slash != NULL)
        key = (struct slice){slash + 1, pointer.n - (size_t)(slash + 1 - pointer.p)};
    buf_addc(b, '{');
    text_append_json(b, key);
    buf_addc(b, ':');
    buf_slice_add(b, value);
    buf_addc(b, '}');
}

int sanitize_value(struct buf *b, struct slice pointer, struct slice value)
{
    struct redact *rules = redact_get_current_sanitizer();
    struct buf whole = {0}, cleaned = {0};
    struct json_scan scan;
    struct json_value v = {0};
    struct slice key;
    size_t n = 0;
    append_value_as_member(&whole, pointer, value);
    int st = rules == NULL || whole.failed ? MI_ENOMEM
                                           : redact_value(rules, buf_slice(&whole), &cleaned, &n);
    if (st == 0 && n > 0 && json_scan(buf_slice(&cleaned), NULL, NULL, &scan) == 0) {
        struct json_walk w = json_walk_begin((struct json_value){scan.type, scan.root});
        (void)json_walk_next(&w, &key, &v);
    }
    if (st == 0)
        buf_slice_add(b, v.text.p != NULL ? v.text : value);
    buf_close(&whole);
    buf_close(&cleaned);
    return st < 0 || b->failed ? MI_ENOMEM : 0;
}
