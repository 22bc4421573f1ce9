#include "wire/mcp/tool_rule.h"

#include "base/grow.h"
#include "base/text.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

/* ---- the rule ------------------------------------------------------------------------------- */

static bool is_blank_of_rule(char c)
{
    return c == ' ' || c == '\t';
}

static struct slice trim_rule_word(struct slice s)
{
    while (s.n > 0 && is_blank_of_rule(s.p[0]))
        s = (struct slice){s.p + 1, s.n - 1};
    while (s.n > 0 && is_blank_of_rule(s.p[s.n - 1]))
        s.n--;
    return s;
}

static int report_invalid_tool_pattern(struct buf *why, struct slice pattern, const char *problem)
{
    buf_addc(why, '\'');
    text_append_visible(why, text_prefix(pattern, 100));
    buf_printf(why, "' %s", problem);
    return MI_EINVAL;
}

static int check_pattern(struct slice p, struct buf *why)
{
    size_t len;
    if (p.n == 0) {
        buf_adds(why, "a name is missing: expected names or globs separated by commas, such as "
                      "list_*, get_issue");
        return MI_EINVAL;
    }
    for (size_t i = 0; i < p.n; i += len) {
        len = text_utf8_len(p.p + i, p.n - i);
        if (len == 0)
            return report_invalid_tool_pattern(why, p, "is not UTF-8");
        if (is_blank_of_rule(p.p[i]))
            return report_invalid_tool_pattern(
                why, p, "contains a blank: separate names by commas, or use ? for the blank");
        if (p.p[i] == ';')
            return report_invalid_tool_pattern(why, p, "contains a semicolon: use ? in its place");
        if (p.p[i] == '[' || p.p[i] == ']')
            return report_invalid_tool_pattern(why, p,
                                               "contains a bracket: globs have only * and ?");
        if ((unsigned char)p.p[i] < 0x20 || p.p[i] == 0x7F)
            return report_invalid_tool_pattern(why, p,
                                               "contains a control character: use ? in its place");
    }
    return 0;
}

static int add_pattern(struct tool_rule *r, bool hides, struct slice p, struct buf *why)
{
    int st = check_pattern(p, why);
    if (st < 0)
        return st;
    if (r->n == TOOL_RULE_PATTERNS_MAX || r->text.n + p.n + 2 > TOOL_RULE_TEXT_MAX) {
        buf_printf(why, "the rule is longer than %d names or %zu bytes: use globs",
                   TOOL_RULE_PATTERNS_MAX, TOOL_RULE_TEXT_MAX);
        return MI_EINVAL;
    }
    if (!GROW(r->list, r->n, r->cap))
        return MI_ENOMEM;
    bool glob = memchr(p.p, '*', p.n) != NULL || memchr(p.p, '?', p.n) != NULL;
    if (glob && p.n > TOOL_RULE_GLOB_MAX)
        return report_invalid_tool_pattern(
            why, p, "is longer than 256 bytes: replace a part of the name by *");
    r->globs += glob;
    if (r->globs > TOOL_RULE_GLOBS_MAX) {
        buf_printf(why, "the rule has more than %d globs: use names, or fewer globs",
                   TOOL_RULE_GLOBS_MAX);
        return MI_EINVAL;
    }
    r->list[r->n++] =
        (struct tool_pattern){.at = r->text.n, .n = p.n, .hides = hides, .glob = glob};
    buf_slice_add(&r->text, p);
    return r->text.failed ? MI_ENOMEM : 0;
}

static int add_patterns_to_rule(struct tool_rule *r, bool hides, struct slice list, struct buf *why)
{
    buf_adds(&r->text, r->text.n > 0 ? "; " : "");
    buf_adds(&r->text, hides ? "hide-tools = " : "tools = ");
    r->keeps |= !hides;
    for (bool first = true, more = true; more; first = false) {
        const char *comma = list.n > 0 ? memchr(list.p, ',', list.n) : NULL;
        size_t n = comma != NULL ? (size_t)(comma - list.p) : list.n;
        buf_adds(&r->text, first ? "" : ", ");
        int st = add_pattern(r, hides, trim_rule_word((struct slice){list.p, n}), why);
        if (st < 0)
            return st;
        more = comma != NULL;
        list = more ? (struct slice){list.p + n + 1, list.n - n - 1} : list;
    }
    return 0;
}

static int set_rule_read_only(struct tool_rule *r)
{
    buf_adds(&r->text, r->text.n > 0 ? "; read-only" : "read-only");
    r->read_only = true;
    return r->text.failed ? MI_ENOMEM : 0;
}

int tool_rule_check_patterns(const char *list, struct buf *why)
{
    struct tool_rule r = {0};
    int st = add_patterns_to_rule(&r, false, slice_of(list), why);
    tool_rule_close(&r);
    return st;
}

int tool_rule_open(struct tool_rule *r, const char *tools, const char *hide, bool read_only,
                   struct buf *why)
{
    *r = (struct tool_rule){0};
    int st = tools != NULL ? add_patterns_to_rule(r, false, slice_of(tools), why) : 0;
    if (st == 0 && hide != NULL)
        st = add_patterns_to_rule(r, true, slice_of(hide), why);
    return st == 0 && read_only ? set_rule_read_only(r) : st;
}

static bool strip_option_key(struct slice *part, const char *key)
{
    struct slice rest = *part;
    if (!slice_begins(rest, key))
        return false;
    rest = (struct slice){rest.p + strlen(key), rest.n - strlen(key)};
    rest = trim_rule_word(rest);
    if (rest.n == 0 || rest.p[0] != '=')
        return false;
    *part = trim_rule_word((struct slice){rest.p + 1, rest.n - 1});
    return true;
}

int tool_rule_read(struct tool_rule *r, struct slice text, struct buf *why)
{
    *r = (struct tool_rule){0};
    while (text.n > 0) {
        const char *end = memchr(text.p, ';', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        struct slice part = trim_rule_word((struct slice){text.p, n});
        int st = MI_EINVAL;
        if (strip_option_key(&part, "tools"))
            st = add_patterns_to_rule(r, false, part, why);
        else if (strip_option_key(&part, "hide-tools"))
            st = add_patterns_to_rule(r, true, part, why);
        else if (slice_is(part, "read-only"))
            st = set_rule_read_only(r);
        else
            report_invalid_tool_pattern(why, part,
                                        "is not `tools = …`, `hide-tools = …` or `read-only`");
        if (st < 0)
            return st;
        n += end != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
    return 0;
}

void tool_rule_close(struct tool_rule *r)
{
    buf_close(&r->text);
    free(r->list);
    *r = (struct tool_rule){0};
}

/* ---- names ---------------------------------------------------------------------------------- */

static size_t get_char_len_at_offset(struct slice s, size_t at)
{
    size_t len = text_utf8_len(s.p + at, s.n - at);
    return len > 0 ? len : 1;
}

/* Matches a name. The pattern after a `*` is tried at each later offset; only the last `*` needs
 * retries. */
static bool glob_matches(struct slice pattern, struct slice name)
{
    size_t p = 0, i = 0, star = SIZE_MAX, retry = 0;
    while (i < name.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = ++p;
            retry = i;
        } else if (p < pattern.n && pattern.p[p] == '?') {
            p++;
            i += get_char_len_at_offset(name, i);
        } else if (p < pattern.n && pattern.p[p] == name.p[i]) {
            p++;
            i++;
        } else if (star != SIZE_MAX) {
            p = star;
            i = retry += get_char_len_at_offset(name, retry);
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}

static struct slice tool_pattern_text(const struct tool_rule *r, const struct tool_pattern *p)
{
    return (struct slice){r->text.p + p->at, p->n};
}

static bool pattern_matches_name(const struct tool_rule *r, const struct tool_pattern *p,
                                 struct slice name)
{
    struct slice text = tool_pattern_text(r, p);
    return p->glob ? glob_matches(text, name) : slice_eq(text, name);
}

bool tool_rule_allows_name(const struct tool_rule *r, struct slice name)
{
    bool kept = !r->keeps;
    if (name.n > TOOL_RULE_NAME_MAX)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        const struct tool_pattern *p = &r->list[i];
        if ((p->hides || !kept) && pattern_matches_name(r, p, name)) {
            if (p->hides)
                return false;
            kept = true;
        }
    }
    return kept;
}

static void tool_rule_mark_matching_patterns(struct tool_rule *r, struct slice name)
{
    if (r->judged || name.n > TOOL_RULE_NAME_MAX)
        return;
    for (size_t i = 0; i < r->n; i++)
        if (!r->list[i].matched)
            r->list[i].matched = pattern_matches_name(r, &r->list[i], name);
}

bool tool_rule_next_unmatched_pattern(const struct tool_rule *r, size_t *at, struct slice *ret)
{
    while (*at < r->n) {
        const struct tool_pattern *p = &r->list[(*at)++];
        if (p->matched)
            continue;
        *ret = tool_pattern_text(r, p);
        return true;
    }
    return false;
}

/* ---- keys that readers may interpret differently --------------------------------------------- */

/* Returns the ASCII character that equals this character if case is ignored as in Go. If it is a
 * letter, it is in lower case. Returns 0 if there is none. Two characters outside ASCII equal an
 * ASCII letter. */
static char fold_letter_case(const char *p, size_t len)
{
    uint32_t c = text_utf8_code(p, len);
    if (c == 0x17F) /* LATIN SMALL LETTER LONG S */
        return 's';
    if (c == 0x212A) /* KELVIN SIGN */
        return 'k';
    if (c >= 'A' && c <= 'Z')
        return (char)(c + ('a' - 'A'));
    return c < 0x80 ? (char)c : 0;
}

/* Whether an unescaped key equals this lower-case name if case is ignored. */
static bool key_equals_ignoring_case(struct slice key, const char *name)
{
    size_t n = strlen(name), k = 0;
    for (size_t i = 0, len; i < key.n; i += len, k++) {
        len = get_char_len_at_offset(key, i);
        if (k == n || fold_letter_case(key.p + i, len) != name[k])
            return false;
    }
    return k == n;
}

/* Cuts the raw key at its first NUL, where some programs end a string. In JSON, a NUL is always
 * escaped. */
static struct slice cut_at_nul_escape(struct slice raw)
{
    for (size_t i = 0; i < raw.n; i += raw.p[i] == '\\' ? 2 : 1)
        if (raw.n - i >= 6 && memcmp(raw.p + i, "\\u0000", 6) == 0)
            return (struct slice){raw.p, i};
    return raw;
}

#define KEY_BYTES_MAX 96 /* longest raw key that is examined, in bytes */

bool tool_rule_key_matches(struct slice raw, const char *name, bool *ret_exact)
{
    char plain[KEY_BYTES_MAX];
    size_t n;
    struct slice head = cut_at_nul_escape(raw);
    *ret_exact = false;
    if (head.n < strlen(name) || head.n > sizeof plain ||
        json_unescape_to(head, plain, sizeof plain, &n) < 0)
        return false;
    struct slice key = {plain, n};
    *ret_exact = head.n == raw.n && slice_is(key, name);
    return *ret_exact || key_equals_ignoring_case(key, name);
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* Whether readOnlyHint is true in every reading of the annotations. */
static bool read_only_hint_is_set(struct json_value annotations)
{
    struct slice key;
    struct json_value v;
    bool exact, any = false;
    if (annotations.type != JSON_OBJECT)
        return false;
    for (struct json_walk w = json_walk_begin(annotations); json_walk_next(&w, &key, &v);) {
        if (!tool_rule_key_matches(key, "readonlyhint", &exact) &&
            !json_key_is(key, "readOnlyHint"))
            continue;
        if (v.type != JSON_TRUE)
            return false;
        any = true;
    }
    return any;
}

struct definition {
    bool named;     /* true: the definition has a name */
    bool read_only; /* true: the tool is read-only in every reading of the definition */
    bool kept;      /* true: the rule keeps the tool in every reading of the definition */
};

/* Reads the definition of a tool. Sets `name` to its last member `name`. */
static int read_tool_definition(struct tool_rule *r, struct json_value tool, struct buf *name,
                                struct definition *ret)
{
    struct slice key;
    struct json_value v;
    bool exact, kept = true, hints = false, read_only = true;
    *ret = (struct definition){0};
    buf_clear(name);
    if (tool.type != JSON_OBJECT) {
        ret->kept = !r->keeps && !r->read_only;
        return 0;
    }
    for (struct json_walk w = json_walk_begin(tool); json_walk_next(&w, &key, &v);) {
        if (tool_rule_key_matches(key, "annotations", &exact)) {
            hints = true;
            read_only = read_only && read_only_hint_is_set(v);
        } else if (tool_rule_key_matches(key, "name", &exact)) {
            ret->named = true;
            if (v.type != JSON_STRING) {
                kept = kept && !r->keeps;
                continue;
            }
            buf_clear(name);
            json_unescape(name, json_string_raw(v));
            if (name->failed)
                return MI_ENOMEM;
            tool_rule_mark_matching_patterns(r, buf_slice(name));
            kept = kept && tool_rule_allows_name(r, buf_slice(name));
        }
    }
    ret->read_only = hints && read_only;
    ret->kept = kept && (ret->named || !r->keeps) && (ret->read_only || !r->read_only);
    return 0;
}

/* Cuts a definition and one comma out of the list: the comma before the definition, or the comma
 * after it if no earlier definition remains. */
static int cut_tool_definition(struct changes *c, struct slice tool, const char *before,
                               const char *behind)
{
    struct slice nothing = {"", 0};
    const char *from = tool.p, *end = tool.p + tool.n;
    if (before != NULL && before + 1 == from)
        from = before;
    else if (before != NULL && changes_add(c, (struct slice){before, 1}, nothing) < 0)
        return MI_ENOMEM;
    if (behind != NULL && behind == end)
        end++;
    else if (behind != NULL && changes_add(c, (struct slice){behind, 1}, nothing) < 0)
        return MI_ENOMEM;
    return changes_add(c, (struct slice){from, (size_t)(end - from)}, nothing);
}

/* Returns the comma after an element of a valid array; NULL if it is the last element. */
static const char *find_comma_after(struct slice value)
{
    const char *p = value.p + value.n;
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
        p++;
    return *p == ',' ? p : NULL;
}

struct cutting {
    struct tool_rule *r;
    struct changes *c;
    struct tool_cut *cut;
    tool_rule_named_fn named;
    void *ctx;
};

static int remove_hidden_tools_from_array(const struct cutting *k, struct json_value tools,
                                          struct buf *name)
{
    struct slice key;
    struct json_value tool;
    const char *comma = NULL; /* the comma before the definition of the tool */
    bool any_kept = false;
    int st = 0;
    for (struct json_walk w = json_walk_begin(tools); st == 0 && json_walk_next(&w, &key, &tool);) {
        struct definition d;
        const char *behind = find_comma_after(tool.text);
        st = read_tool_definition(k->r, tool, name, &d);
        if (st < 0)
            break;
        k->cut->listed++;
        k->cut->hidden += !d.kept;
        if (k->named != NULL)
            k->named(k->ctx, buf_slice(name), d.read_only, d.kept ? TOOL_KEPT : TOOL_HIDDEN);
        if (!d.kept)
            st = any_kept ? cut_tool_definition(k->c, tool.text, comma, NULL)
                          : cut_tool_definition(k->c, tool.text, NULL, behind);
        any_kept |= d.kept;
        comma = behind;
    }
    return st;
}

int tool_rule_remove_tools(struct tool_rule *r, struct json_value result, struct changes *c,
                           struct tool_cut *ret, tool_rule_named_fn named, void *ctx)
{
    struct cutting k = {r, c, ret, named, ctx};
    struct slice key;
    struct json_value v;
    struct buf name = {0};
    bool exact;
    int st = 0;
    *ret = (struct tool_cut){0};
    if (result.type != JSON_OBJECT)
        return 0;
    for (struct json_walk w = json_walk_begin(result); st == 0 && json_walk_next(&w, &key, &v);)
        if (v.type == JSON_ARRAY && tool_rule_key_matches(key, "tools", &exact))
            st = remove_hidden_tools_from_array(&k, v, &name);
    buf_close(&name);
    return st;
}

/* Whether the object has a member whose key some programs, but not all, take for this name. */
static bool object_has_ambiguous_member(struct json_value object, const char *name)
{
    struct slice key;
    struct json_value v;
    bool exact;
    for (struct json_walk w = json_walk_begin(object); json_walk_next(&w, &key, &v);)
        if (tool_rule_key_matches(key, name, &exact) && !exact)
            return true;
    return false;
}

const char *tool_rule_find_list_fault(const struct rpc *m)
{
    struct slice key;
    struct json_value v;
    bool exact;
    if (object_has_ambiguous_member((struct json_value){JSON_OBJECT, m->text}, "result"))
        return "a member differs from `result` only in case or by a NUL";
    if (m->kind != RPC_RESULT)
        return NULL;
    if (m->result.type != JSON_OBJECT)
        return "the result is not an object";
    if (object_has_ambiguous_member(m->result, "tools"))
        return "a member of the result differs from `tools` only in case or by a NUL";
    for (struct json_walk w = json_walk_begin(m->result); json_walk_next(&w, &key, &v);)
        if (v.type != JSON_ARRAY && tool_rule_key_matches(key, "tools", &exact))
            return "`tools` is not an array";
    return NULL;
}

uint64_t tool_rule_hash_next_cursor(struct json_value next_cursor)
{
    bool more = next_cursor.type == JSON_STRING && json_string_raw(next_cursor).n > 0;
    return more ? rpc_id_hash_json(next_cursor) : 0;
}
