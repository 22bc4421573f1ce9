/* rules.c - the rules of the user: read from the configuration, and stored with a session. */
#include "redact/walk.h"

#include "base/text.h"
#include "wire/json/text.h"

#include <stdlib.h>

/* ---- reading ------------------------------------------------------------------------------ */

static bool char_separates_words(char c, bool comma)
{
    return c == ' ' || c == '\t' || (comma && c == ',');
}

/* Reads the next word of a list. Returns false if there are no more. */
static bool read_next_rule_word(const char **p, bool comma, struct slice *ret)
{
    while (char_separates_words(**p, comma))
        (*p)++;
    const char *from = *p;
    while (**p != '\0' && !char_separates_words(**p, comma))
        (*p)++;
    *ret = (struct slice){from, (size_t)(*p - from)};
    return ret->n > 0;
}

static int add_user_key_names(struct redact *r, enum key_list list, const char *value,
                              struct buf *error)
{
    struct slice word;
    int st = 0;
    while (st == 0 && read_next_rule_word(&value, true, &word)) {
        st = keys_add_user_rule(&r->keys, list, word);
        if (st == MI_EINVAL)
            buf_printf(
                error,
                "invalid name '%.*s': use at least one letter or digit, and at most %d characters",
                (int)word.n, word.p, KEY_MAX);
        else if (st == MI_EFULL)
            buf_printf(error, "too many names: the limit is %d", KEYS_USER_MAX);
    }
    return st == MI_EFULL ? MI_EINVAL : st;
}

static int add_redaction_pointers(struct redact *r, const char *value, struct buf *error)
{
    struct slice word;
    int st = 0;
    while (st == 0 && read_next_rule_word(&value, false, &word)) {
        /* Pointers that begin with these names are relative to the message; others are relative to
         * params. */
        bool of_message = slice_begins(word, "/params") || slice_begins(word, "/result") ||
                          slice_begins(word, "/error");
        st = pointers_add(&r->pointers, of_message ? "" : "/params", word, error);
        st = st == MI_EFULL ? MI_EINVAL : st;
    }
    return st;
}

static int add_rule_by_name(struct redact *r, const char *name, const char *value,
                            struct buf *error)
{
    static const char pattern[] = "pattern.";
    if (strcmp(name, "keys") == 0)
        return add_user_key_names(r, KEYS_SECRET, value, error);
    if (strcmp(name, "keep") == 0)
        return add_user_key_names(r, KEYS_KEEP, value, error);
    if (strcmp(name, "content") == 0)
        return add_user_key_names(r, KEYS_CONTENT, value, error);
    if (strcmp(name, "pointer") == 0)
        return add_redaction_pointers(r, value, error);
    if (strncmp(name, pattern, sizeof pattern - 1) == 0)
        return shapes_add_pattern(r->shapes, name + sizeof pattern - 1, value, error);
    buf_printf(error, "unknown rule '%s': use keys, keep, content, pointer or pattern.NAME", name);
    return MI_ENOENT;
}

int redact_add_rule(struct redact *r, const char *name, const char *value, struct buf *error)
{
    buf_clear(error);
    int st = add_rule_by_name(r, name, value, error);
    if (st < 0)
        return st;
    buf_add(&r->user, name, strlen(name) + 1);
    buf_add(&r->user, value, strlen(value) + 1);
    return r->user.failed ? MI_ENOMEM : 0;
}

/* ---- stored with a session ------------------------------------------------------------------- */

void redact_write_rules(struct redact *r, struct buf *out)
{
    struct buf plain = {0}, clean = {0};
    const char *p = r->user.p;
    buf_printf(&plain, "{\"version\":\"%d.%d\"", REDACT_VERSION, SHAPES_VERSION);
    for (bool first = true; p != NULL && p < r->user.p + r->user.n; first = false) {
        buf_adds(&plain, first ? ",\"rules\":[[" : ",[");
        text_append_json(&plain, slice_of(p));
        p += strlen(p) + 1;
        buf_addc(&plain, ',');
        text_append_json(&plain, slice_of(p));
        p += strlen(p) + 1;
        buf_addc(&plain, ']');
    }
    buf_adds(&plain, r->user.n > 0 ? "]}" : "}");
    size_t n = 0;
    /* Without rules of the user, the text has only the version, and no secret. */
    int st = r->user.n > 0 ? redact_value(r, buf_slice(&plain), &clean, &n) : 0;
    if (plain.failed || st < 0)
        out->failed = true;
    else
        buf_slice_add(out, buf_slice(n > 0 ? &clean : &plain));
    buf_close(&plain);
    buf_close(&clean);
}

/* Whether the sanitizer already has this rule. */
static bool redact_has_rule(const struct redact *r, const char *name, const char *value)
{
    for (const char *p = r->user.p; p < r->user.p + r->user.n;) {
        const char *v = p + strlen(p) + 1;
        if (strcmp(p, name) == 0 && strcmp(v, value) == 0)
            return true;
        p = v + strlen(v) + 1;
    }
    return false;
}

/* Adds one rule that was stored as `["name","value"]`. Skips a pattern in which a secret was
 * redacted. */
static int add_recorded_rule(struct redact *r, struct json_value pair, struct buf *error)
{
    struct json_walk w = json_walk_begin(pair);
    struct json_value name = {0}, value = {0};
    struct slice key;
    struct buf n = {0}, v = {0};
    int st = MI_EINVAL;
    if (json_walk_next(&w, &key, &name) && json_walk_next(&w, &key, &value) &&
        name.type == JSON_STRING && value.type == JSON_STRING) {
        json_unescape(&n, json_string_raw(name));
        json_unescape(&v, json_string_raw(value));
        st = n.failed || v.failed ? MI_ENOMEM : 0;
    }
    if (st == 0 && strstr(buf_str(&v), "[redacted:") == NULL &&
        !redact_has_rule(r, buf_str(&n), buf_str(&v)))
        st = redact_add_rule(r, buf_str(&n), buf_str(&v), error);
    buf_close(&n);
    buf_close(&v);
    return st == MI_ENOENT ? MI_EINVAL : st;
}

int redact_add_rules(struct redact *r, struct slice rules, struct buf *error)
{
    struct json_scan scan;
    int st = 0;
    if (json_scan(rules, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        st = MI_EINVAL;
    struct json_value all = {scan.type, scan.root}, pair;
    struct json_walk w = {0};
    struct slice key;
    if (st == 0)
        w = json_walk_begin(json_get(all, "rules"));
    while (st == 0 && json_walk_next(&w, &key, &pair))
        st = add_recorded_rule(r, pair, error);
    if (st == MI_EINVAL && error->n == 0)
        buf_adds(error, "the recorded rules are damaged");
    return st;
}

int redact_open_rules(struct redact **ret, struct slice rules, struct buf *error)
{
    struct redact *r;
    int st = redact_open(&r, error);
    if (st < 0)
        return st;
    st = redact_add_rules(r, rules, error);
    if (st < 0)
        redact_close(r);
    else
        *ret = r;
    return st;
}

int redact_open_copy_of_rules(struct redact **ret, const struct redact *of, struct buf *error)
{
    struct redact *r;
    int st = redact_open(&r, error);
    if (st < 0)
        return st;
    for (const char *p = of->user.p; st == 0 && p < of->user.p + of->user.n;) {
        const char *value = p + strlen(p) + 1;
        st = redact_add_rule(r, p, value, error);
        p = value + strlen(value) + 1;
    }
    if (st < 0) {
        redact_close(r);
        return st == MI_ENOENT ? MI_EINVAL : st;
    }
    *ret = r;
    return 0;
}
