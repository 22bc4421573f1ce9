#include "cli/wrap/remote.h"

#include "base/text.h"
#include "cli/wrap/mcpfile/string.h"

static size_t find_end_of_member_value(const struct mcpfile_member *m)
{
    return m->value.at + m->value.n;
}

/* ---- wrapping ---- */

/* Whether mcp-remote connects to this http:// URL without --allow-http. Without this option,
 * mcp-remote connects only to local hosts. */
static bool url_is_local(const char *url)
{
    static const char *const hosts[] = {"http://localhost", "http://127.0.0.1"};
    for (size_t i = 0; i < MI_COUNT(hosts); i++) {
        size_t n = strlen(hosts[i]);
        if (strncmp(url, hosts[i], n) == 0 && strchr(":/?#", url[n]) != NULL)
            return true;
    }
    return false;
}

/* Whether the bytes of the member are valid UTF-8, so that --original can contain them. */
static bool member_is_utf8(const struct mcpfile *f, const struct mcpfile_member *m)
{
    const char *p = f->text.p + m->key.at;
    const char *end = f->text.p + find_end_of_member_value(m);
    while (m->key.n > 0 && p < end) {
        size_t n = text_utf8_len(p, (size_t)(end - p));
        if (n == 0)
            return false;
        p += n;
    }
    return true;
}

int remote_check_wrappable(const struct mcpfile *f, const struct mcpfile_server *s,
                           const char **why)
{
    struct buf url = {0};
    *why = s->odd != NULL ? s->odd : s->remote_odd;
    if (*why != NULL)
        return 0;
    if (!member_is_utf8(f, &s->url) || !member_is_utf8(f, &s->headers) ||
        !member_is_utf8(f, &s->type)) {
        *why = "the URL, headers or type are not valid UTF-8";
        return 0;
    }
    mcpfile_append_string(f, s->url.value, &url);
    struct slice text = buf_slice(&url);
    if (!slice_begins(text, "http://") && !slice_begins(text, "https://"))
        *why = "the URL does not begin with http:// or https://";
    int st = url.failed ? MI_ENOMEM : 0;
    buf_close(&url);
    return st;
}

static void remote_add_string(struct edits *e, const char *text)
{
    buf_adds(&e->text, ", ");
    text_append_json(&e->text, slice_of(text));
}

static void append_original_argument(struct edits *e, const struct mcpfile *f,
                                     const struct mcpfile_member *m)
{
    if (m->key.n == 0)
        return;
    buf_adds(&e->text, "\"--original\", ");
    text_append_json(
        &e->text, (struct slice){f->text.p + m->key.at, find_end_of_member_value(m) - m->key.at});
    buf_adds(&e->text, ", ");
}

static void add_headers(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s)
{
    for (size_t i = 0; i < s->headers_n; i++) {
        const struct mcpfile_header *h = &f->header[s->first_header + i];
        struct buf b = {0};
        mcpfile_append_string(f, h->name, &b);
        buf_adds(&b, ": ");
        mcpfile_append_string(f, h->value, &b);
        remote_add_string(e, "--header");
        remote_add_string(e, buf_str(&b));
        e->text.failed |= b.failed;
        buf_close(&b);
    }
}

/* Whether a string of the file has this text. */
static bool string_token_equals(struct edits *e, const struct mcpfile *f, struct span token,
                                const char *text)
{
    struct buf b = {0};
    if (token.n > 0)
        mcpfile_append_string(f, token, &b);
    bool is = slice_is(buf_slice(&b), text);
    e->text.failed |= b.failed;
    buf_close(&b);
    return is;
}

/* Appends the args, beginning with "proxy", without brackets. */
static void add_args(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                     const struct wrap_with *with)
{
    struct buf url = {0};
    mcpfile_append_string(f, s->url.value, &url);
    member_add_args(e, with, (const char *const[]){NULL}, slice_of(", "));
    append_original_argument(e, f, &s->url);
    append_original_argument(e, f, &s->headers);
    append_original_argument(e, f, &s->type);
    buf_adds(&e->text, "\"--\", \"npx\", \"-y\", \"" REMOTE_PACKAGE "\"");
    remote_add_string(e, buf_str(&url));
    if (string_token_equals(e, f, s->type.value, "sse")) {
        remote_add_string(e, "--transport");
        remote_add_string(e, "sse-first");
    }
    if (slice_begins(buf_slice(&url), "http://") && !url_is_local(buf_str(&url)))
        remote_add_string(e, "--allow-http");
    add_headers(e, f, s);
    e->text.failed |= url.failed;
    buf_close(&url);
}

static void add_args_member(struct edits *e, const struct mcpfile *f,
                            const struct mcpfile_server *s, const struct wrap_with *with)
{
    member_add_key(e, f, &s->url, "args");
    buf_addc(&e->text, '[');
    add_args(e, f, s, with);
    buf_addc(&e->text, ']');
}

/* Begins an edit that replaces a whole member, key and value. */
static bool begin_member_edit(struct edits *e, const struct mcpfile_member *m)
{
    return edits_begin_replacement(e, m->key.at, find_end_of_member_value(m) - m->key.at);
}

static bool set_type_member_if_present(struct edits *e, const struct mcpfile_server *s,
                                       const char *value)
{
    return s->type.key.n == 0 || member_set_string(e, &s->type, value);
}

/* Wraps a server of opencode, whose `command` is one array. */
static bool wrap_with_command_array(struct edits *e, const struct mcpfile *f,
                                    const struct mcpfile_server *s, const struct wrap_with *with)
{
    if (!begin_member_edit(e, &s->url))
        return false;
    member_add_key(e, f, &s->url, "command");
    buf_addc(&e->text, '[');
    text_append_json(&e->text, slice_of(with->command[0]));
    buf_adds(&e->text, ", ");
    add_args(e, f, s, with);
    buf_addc(&e->text, ']');
    edits_end_replacement(e);
    if (s->headers.key.n > 0) {
        if (!begin_member_edit(e, &s->headers))
            return false;
        member_add_key(e, f, &s->headers, "environment");
        buf_adds(&e->text, "{}");
        edits_end_replacement(e);
    }
    return set_type_member_if_present(e, s, "local");
}

bool remote_add_wrap_edits(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                           const struct wrap_with *with)
{
    /* In opencode, the type becomes "local", and the command is an array. */
    if (string_token_equals(e, f, s->type.value, "remote"))
        return wrap_with_command_array(e, f, s, with);
    if (!begin_member_edit(e, &s->url))
        return false;
    bool goose = f->format == MCPFILE_YAML && string_token_equals(e, f, s->url.key, "uri");
    member_add_key(e, f, &s->url, goose ? "cmd" : "command");
    text_append_json(&e->text, slice_of(with->command[0]));
    if (s->headers.key.n == 0) {
        member_add_separator(e, f, &s->url);
        add_args_member(e, f, s, with);
    }
    edits_end_replacement(e);
    if (s->headers.key.n > 0) {
        if (!begin_member_edit(e, &s->headers))
            return false;
        add_args_member(e, f, s, with);
        edits_end_replacement(e);
    }
    return set_type_member_if_present(e, s, "stdio");
}

/* ---- unwrapping ---- */

static bool restore_original_text(struct edits *e, size_t at, size_t end,
                                  const struct buf *original)
{
    if (!edits_begin_replacement(e, at, end - at))
        return false;
    buf_slice_add(&e->text, buf_slice(original));
    edits_end_replacement(e);
    return true;
}

/* Returns the text of the --original whose key begins with `key`; the key may be quoted. NULL:
 * there is no such --original. */
static const struct buf *find_original_option(const struct wrap_view *v, const char *key)
{
    for (size_t i = 1; i < v->originals; i++) {
        struct slice text = buf_slice(&v->original[i]);
        size_t quote = text.n > 0 && (text.p[0] == '"' || text.p[0] == '\'');
        text = (struct slice){text.p + quote, text.n - quote};
        if (slice_begins(text, key))
            return &v->original[i];
    }
    return NULL;
}

/* Deletes a member and the comma before or after it. If the member is alone on its line, deletes
 * the line. */
static bool delete_member(struct edits *e, const struct mcpfile *f, const struct mcpfile_member *m)
{
    const char *p = f->text.p;
    size_t from = m->key.at, to = find_end_of_member_value(m);
    if (m->on_line) {
        from = member_find_line_start(f, from);
        to = m->end;
        to += to < f->text.n && p[to] == '\r';
        to += to < f->text.n && p[to] == '\n';
        return edits_begin_replacement(e, from, to - from);
    }
    size_t before = from;
    while (before > 0 && strchr(" \t\r\n", p[before - 1]) != NULL)
        before--;
    if (before > 0 && p[before - 1] == ',')
        return edits_begin_replacement(e, before - 1, to - before + 1);
    while (to < f->text.n && strchr(" \t\r\n", p[to]) != NULL)
        to++;
    to += to < f->text.n && p[to] == ',';
    return edits_begin_replacement(e, from, to - from);
}

bool remote_add_unwrap_edits(struct edits *e, const struct mcpfile *f,
                             const struct mcpfile_server *s, const struct wrap_view *v)
{
    const struct buf *headers = find_original_option(v, "headers");
    /* --original has the original `type`, `transport` or `transportType` */
    const struct buf *type = find_original_option(v, "t");
    /* the member that replaced the headers, if the server had headers before it was wrapped */
    const struct mcpfile_member *in_place = s->one_array ? &s->env : &s->args;
    size_t end = s->one_array ? s->command.end : find_end_of_member_value(&s->command);
    bool follows =
        !s->one_array && headers == NULL && members_are_adjacent(f, &s->command, &s->args);
    bool room = restore_original_text(
        e, s->command.key.at, follows ? find_end_of_member_value(&s->args) : end, &v->original[0]);
    if (headers != NULL && in_place->key.n > 0)
        room = room && restore_original_text(e, in_place->key.at,
                                             find_end_of_member_value(in_place), headers);
    else if (!follows && !s->one_array)
        room = room && delete_member(e, f, &s->args);
    if (type != NULL && s->type.key.n > 0)
        room = room &&
               restore_original_text(e, s->type.key.at, find_end_of_member_value(&s->type), type);
    return room;
}
