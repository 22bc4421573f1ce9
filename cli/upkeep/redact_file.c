#include "cli/upkeep/redact_file.h"

#include "base/log.h"
#include "cli/frame/save.h"
#include "cli/settings/command.h"
#include "redact/sanitizer.h"
#include "vault/cassette/cassette_file.h"

enum { TEXT_NAME, TEXT_CLIENT, TEXT_CLIENT_VERSION, TEXT_SERVER, TEXT_SERVER_VERSION, TEXTS };

struct work {
    struct redact *rules;      /* the present rules */
    struct cassette_writer *w; /* writes the redacted file; NULL: the file is only searched */
    scrub_fn fn;               /* called for each hit of a search */
    void *ctx;
    /* lines[0] is for noise, lines[1] for stderr */
    struct redact_lines lines[2];
    struct buf body, second, method, target, header, names, error; /* owned */
    size_t found;
    int status; /* MI_ENOMEM, or MI_EIO of the writer */
};

static void redact_file_report(struct work *k, const char *where, int64_t seq, struct slice before,
                               struct slice after, size_t n)
{
    k->found += n;
    if (k->w != NULL)
        return;
    buf_clear(&k->names);
    scrub_write_rules(&k->names, before, after);
    struct scrub_hit hit = {.where = where, .seq = seq, .rules = buf_slice(&k->names), .n = n};
    if (k->names.failed)
        k->status = MI_ENOMEM;
    else
        k->fn(k->ctx, &hit);
}

/* Returns the text; or, if something was replaced, the new text in `place`. */
static struct slice sanitize_text(struct work *k, const char *where, int64_t seq, struct slice text,
                                  struct buf *place)
{
    size_t n = 0;
    if (k->status < 0 || text.p == NULL)
        return text;
    k->status = redact_text(k->rules, text, place, &n);
    if (k->status < 0 || n == 0)
        return text;
    redact_file_report(k, where, seq, text, buf_slice(place), n);
    return buf_slice(place);
}

static struct slice sanitize_body(struct work *k, const struct query_message *m, size_t *ret_n)
{
    bool err = m->kind == KIND_STDERR, noise = m->kind == KIND_NOISE;
    struct slice text = m->body;
    size_t n = 0, more = 0;
    int st = 0;
    *ret_n = 0;
    if (k->status < 0 || text.p == NULL)
        return text;
    if (!err && (!noise || (text.n > 0 && text.p[0] == '{')))
        st = redact_message(k->rules, text, REDACT_SECRETS, &k->body, &n);
    if (n > 0)
        text = buf_slice(&k->body);
    if (st == 0 && (err || noise))
        st = redact_line(k->rules, &k->lines[err], text, &k->second, &more);
    if (more > 0)
        text = buf_slice(&k->second);
    *ret_n = n + more;
    k->status = st;
    if (st == 0 && n + more > 0)
        redact_file_report(k,
                           err     ? "stderr"
                           : noise ? "noise"
                                   : "body",
                           m->seq, m->body, text, n + more);
    return text;
}

static bool redact_file_on_message(void *ctx, const struct query_message *m)
{
    struct work *k = ctx;
    struct query_message now = *m;
    size_t n;
    now.body = sanitize_body(k, m, &n);
    now.redactions += (int64_t)n;
    now.method = sanitize_text(k, "method", m->seq, m->method, &k->method);
    now.target = sanitize_text(k, "target", m->seq, m->target, &k->target);
    if (k->status == 0 && k->w != NULL)
        k->status = cassette_write_message(k->w, &now);
    return k->status == 0;
}

/* Joins the rules that are recorded in the file and the present rules, because the new file was
 * sanitized with both. */
static int join_rules(struct work *k, struct slice recorded, struct buf *out)
{
    struct redact *both = NULL;
    struct buf mine = {0};
    redact_write_rules(k->rules, &mine);
    int st = mine.failed ? MI_ENOMEM
                         : redact_open_rules(&both, recorded.p != NULL ? recorded : slice_of("{}"),
                                             &k->error);
    if (st == 0)
        st = redact_add_rules(both, buf_slice(&mine), &k->error);
    if (st == 0)
        redact_write_rules(both, out);
    redact_close(both);
    buf_close(&mine);
    return st == 0 && out->failed ? MI_ENOMEM : st;
}

static bool redact_file_on_session(void *ctx, const struct query_session *s)
{
    struct work *k = ctx;
    struct query_session now = *s;
    struct slice *const texts[TEXTS] = {&now.name, &now.client_name, &now.client_version,
                                        &now.server_name, &now.server_version};
    struct buf place[TEXTS] = {{0}};
    for (size_t i = 0; i < TEXTS; i++)
        *texts[i] = sanitize_text(k, "session", 0, *texts[i], &place[i]);
    if (k->status == 0 && k->w != NULL) {
        buf_clear(&k->header);
        k->status = join_rules(k, s->redact_rules, &k->header);
        now.redact_rules = buf_slice(&k->header);
        if (k->status == 0)
            k->status = cassette_write_session(k->w, &now);
    }
    for (size_t i = 0; i < TEXTS; i++)
        buf_close(&place[i]);
    return k->status == 0;
}

static bool redact_file_on_lines(void *ctx, struct slice lines)
{
    return save_write(ctx, lines);
}

/* Reads the file. Searches it, or writes the new one. Returns 0, or an error that was logged. */
static int process_file(struct work *k, const char *path)
{
    k->found = 0;
    k->status = 0;
    memset(k->lines, 0, sizeof k->lines);
    buf_clear(&k->error);
    int st = cassette_read(path, redact_file_on_session, redact_file_on_message, k, &k->error);
    if (st == 0)
        st = k->status;
    if (st == 0 && k->w != NULL)
        st = cassette_write_end(k->w);
    if (st == MI_ENOMEM)
        log_error("out of memory");
    else if (st < 0 && k->error.n > 0)
        log_error("%s", buf_str(&k->error));
    return st;
}

static int redact_file_rewrite(struct work *k, const char *path)
{
    struct save file;
    save_open(&file, path, SAVE_PRIVATE);
    int st = cassette_write_open(&k->w, redact_file_on_lines, &file);
    if (st < 0)
        log_error("out of memory");
    else
        st = process_file(k, path);
    cassette_write_close(k->w);
    int status = save_close(&file, st == 0);
    return st < 0 ? EXIT_TROUBLE : status;
}

int redact_file(const char *path, bool apply, scrub_fn fn, void *ctx)
{
    struct work k = {.rules = redact_current(), .fn = fn, .ctx = ctx};
    int status = EXIT_TROUBLE;
    if (k.rules == NULL)
        log_error("out of memory");
    else if (process_file(&k, path) == 0)
        status = apply && k.found > 0 ? redact_file_rewrite(&k, path) : EXIT_FINE;
    struct buf *const all[] = {&k.body,   &k.second, &k.method, &k.target,
                               &k.header, &k.names,  &k.error};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        buf_close(all[i]);
    return status;
}
