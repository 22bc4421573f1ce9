/* check_write.c - findings in the format that was asked for; for people as text, for programs as one JSON object. */
#include "base/text.h"
#include "cli/check_inner.h"

/* ---- text ----------------------------------------------------------------------------------- */

static void add_count(struct buf *b, size_t n, const char *what, const char *behind)
{
    buf_printf(b, "%zu %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

static void text_source(const struct check_report *r, const struct check_source *x, struct buf *b)
{
    struct buf subject = {0};
    text_visible(b, check_name(r, x));
    if (x->server_n > 0) {
        buf_adds(b, " (");
        text_visible(b, (struct slice){r->text.p + x->server_at, x->server_n});
        buf_addc(b, ')');
    }
    buf_adds(b, ": ");
    add_count(b, (size_t)x->messages, "message", ", ");
    add_count(b, x->count[SEVERITY_ERROR], "error", ", ");
    add_count(b, x->count[SEVERITY_WARNING], "warning", ", ");
    add_count(b, x->count[SEVERITY_NOTE], "note", "\n");
    for (size_t i = 0; i < x->n; i++) {
        const struct check_found *f = &x->found[i];
        buf_printf(b, "%7lld  %s  %-8s  %-26s  ", (long long)f->seq,
                   f->from_client ? "client" : "server", severity_name(f->severity), f->name);
        struct slice s = check_subject(r, f, &subject);
        buf_slice_add(b, s);
        buf_adds(b, s.n > 0 ? ": " : "");
        check_sentence(r, f, b);
        buf_addc(b, '\n');
    }
    if (x->more > 0)
        buf_printf(b, "         … and %zu more\n", x->more);
    buf_close(&subject);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_found(const struct check_report *r, const struct check_found *f, struct buf *b)
{
    buf_printf(b,
               "{\"seq\":%lld,\"from\":\"%s\",\"finding\":\"%s\",\"severity\":\"%s\",\"meaning\":",
               (long long)f->seq, f->from_client ? "client" : "server", f->name,
               severity_name(f->severity));
    text_json(b, slice_of(f->meaning));
    if (f->method_n > 0) {
        buf_adds(b, ",\"method\":");
        text_json(b, (struct slice){r->text.p + f->method_at, f->method_n});
    }
    if (f->target_n > 0) {
        buf_adds(b, ",\"target\":");
        text_json(b, (struct slice){r->text.p + f->target_at, f->target_n});
    }
    if (f->why_n > 0) {
        buf_adds(b, ",\"why\":");
        text_json(b, (struct slice){r->text.p + f->why_at, f->why_n});
    }
    buf_printf(b, ",\"fails\":%s}", f->fails ? "true" : "false");
}

static void write_json(const struct check_report *r, struct buf *b)
{
    buf_adds(b, "{\"recordings\":[");
    for (size_t i = 0; i < r->n; i++) {
        const struct check_source *x = &r->source[i];
        buf_printf(b, "%s\n{\"%s\":", i > 0 ? "," : "", x->is_file ? "file" : "session");
        text_json(b, check_name(r, x));
        buf_adds(b, ",\"server\":");
        text_json(b, (struct slice){r->text.p + x->server_at, x->server_n});
        buf_printf(b,
                   ",\"messages\":%lld,\"errors\":%zu,\"warnings\":%zu,\"notes\":%zu,"
                   "\"failing\":%zu,\"not_listed\":%zu,\"findings\":[",
                   (long long)x->messages, x->count[SEVERITY_ERROR], x->count[SEVERITY_WARNING],
                   x->count[SEVERITY_NOTE], x->failing, x->more);
        for (size_t k = 0; k < x->n; k++) {
            buf_adds(b, k > 0 ? ",\n " : "\n ");
            json_found(r, &x->found[k], b);
        }
        buf_adds(b, "]}");
    }
    buf_printf(b, "],\n\"failing\":%zu}\n", r->failing);
}

void check_write(const struct check_report *r, const char *format, struct buf *b)
{
    if (r->failed || r->text.failed)
        b->failed = true;
    else if (strcmp(format, "json") == 0)
        write_json(r, b);
    else if (strcmp(format, "junit") == 0)
        check_junit(r, b);
    else if (strcmp(format, "sarif") == 0)
        check_sarif(r, b);
    else
        for (size_t i = 0; i < r->n; i++)
            text_source(r, &r->source[i], b);
}
