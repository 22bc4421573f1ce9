/* redact.c - `mcp-interposer redact`: finds or removes secrets in recordings, with the rules of the
 * current configuration. */
#include "cli/upkeep/commands.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/frame/recording.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"
#include "redact/sanitizer.h"
#include "vault/cassette/cassette_file.h"
#include "vault/upkeep/scrub/scrub_run.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "scan", NULL, NULL, "report what the rules find; change nothing"},
    {0, "apply", NULL, NULL, "replace what the rules find, and overwrite the old bytes"},
    {'a', "all", NULL, NULL, "process every session of the vault, and all its files"},
    {0, "json", NULL, NULL, "print one JSON object per line for each place where a rule matches"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    COMMAND_SESSION_HELP
    "FILE is a cassette; its name contains a `/` or a `.`. The rules are the built-in\n"
    "ones and those of [redact] in the configuration. A session includes its large\n"
    "bodies, its lines in the log directory and its escalations. The output names the\n"
    "places of secrets and the rules that match, never the secrets.\n"
    "--apply skips running sessions, and today's log file while a session is running.\n"
    "Exit status: 0 nothing was found, or nothing is left; 1 otherwise.\n";
/* clang-format on */

struct job {
    struct out out;
    bool json, apply;
    size_t places, n; /* places: number of places with secrets; n: number of secrets */
    bool left;        /* something was skipped because a session may be running */
};

/* A session of the vault. */
struct target {
    int64_t id;
    char uid[32];
    bool runs; /* the session is running, or may be running elsewhere */
};

struct targets {
    struct query *q;
    struct target *list; /* owned */
    size_t n, cap;
    bool failed, any_runs;
};

/* ---- output ---- */

static void print_hit_location(struct job *j, const struct scrub_hit *h)
{
    if (h->file != NULL) {
        out_add_text(&j->out, slice_of(h->file));
        out_printf(&j->out, ":%zu", h->line);
        return;
    }
    if (h->session_id != 0)
        out_printf(&j->out, "session %lld%s", (long long)h->session_id, h->seq != 0 ? ", " : "");
    if (h->seq != 0)
        out_printf(&j->out, "message %lld", (long long)h->seq);
    out_printf(&j->out, "%s%s", h->session_id != 0 || h->seq != 0 ? ", " : "", h->where);
}

static void redact_command_print_json(struct job *j, const struct scrub_hit *h)
{
    struct buf b = {0};
    struct json_out json = json_out_to(&b);
    json_out_object(&json, NULL);
    json_out_str(&json, "type", "secret");
    if (h->session_id != 0)
        json_out_int(&json, "session_id", h->session_id);
    if (h->seq != 0)
        json_out_int(&json, "seq", h->seq);
    if (h->file != NULL) {
        json_out_str(&json, "file", h->file);
        json_out_uint(&json, "line", h->line);
    }
    json_out_str(&json, "where", h->where);
    json_out_text(&json, "rules", h->rules);
    json_out_uint(&json, "count", h->n);
    json_out_end(&json);
    out_add_raw(&j->out, b.failed ? "" : buf_str(&b));
    buf_close(&b);
}

static void redact_command_on_hit(void *ctx, const struct scrub_hit *h)
{
    struct job *j = ctx;
    j->places++;
    j->n += h->n;
    if (j->json) {
        redact_command_print_json(j, h);
    } else {
        print_hit_location(j, h);
        out_add_raw(&j->out, ": ");
        out_add_text(&j->out, h->rules);
    }
    out_end_line(&j->out);
}

static void print_summary(struct job *j)
{
    if (j->json)
        return;
    if (j->n == 0)
        out_add_raw(&j->out, "nothing found");
    else
        out_printf(&j->out, "%zu %s in %zu %s", j->n, j->apply ? "replaced" : "found", j->places,
                   j->places == 1 ? "place" : "places");
    out_end_line(&j->out);
}

/* ---- sessions ---- */

static bool redact_command_on_session(void *ctx, const struct query_session *s)
{
    struct targets *t = ctx;
    if (!GROW(t->list, t->n, t->cap)) {
        t->failed = true;
        return false;
    }
    struct target *new = &t->list[t->n++];
    enum session_state state = session_determine_state(t->q, s);
    *new = (struct target){.id = s->id};
    new->runs = state == SESSION_LIVE || state == SESSION_ELSEWHERE;
    memcpy(new->uid, s->uid.p, size_min(s->uid.n, sizeof new->uid - 1));
    t->any_runs |= new->runs;
    return true;
}

static int redact_command_fail(const char *why)
{
    log_error("%s", why);
    return EXIT_TROUBLE;
}

static int scrub_target_session(struct job *j, struct scrub *s, const struct target *t)
{
    if (j->apply && t->runs) {
        log_warn("session %lld may still be running and is not changed; run redact again when the "
                 "session has ended",
                 (long long)t->id);
        j->left = true;
        return EXIT_FINE;
    }
    return scrub_session(s, t->id, t->uid) < 0 ? redact_command_fail(scrub_get_error_text(s))
                                               : EXIT_FINE;
}

/* Scrubs the session `only`; if `only` is NULL, all sessions and all files. */
static int scrub_sessions_and_files(struct job *j, struct scrub *s, const struct targets *t,
                                    const struct target *only)
{
    bool today = !j->apply || !t->any_runs;
    int status = EXIT_FINE;
    if (only != NULL)
        status = scrub_target_session(j, s, only);
    for (size_t i = t->n; only == NULL && status == EXIT_FINE && i-- > 0;) /* oldest first */
        status = scrub_target_session(j, s, &t->list[i]);
    if (status == EXIT_FINE && scrub_files(s, only != NULL ? only->uid : NULL, today) < 0)
        status = redact_command_fail(scrub_get_error_text(s));
    if (status == EXIT_FINE && !today) {
        log_warn("today's log file is not changed: a session may still be writing to it");
        j->left = true;
    }
    if (scrub_finish(s, status == EXIT_FINE && today && (only == NULL || j->n > 0)) < 0)
        status = redact_command_fail(scrub_get_error_text(s));
    return status;
}

static int redact_vault(struct job *j, struct query *q, const char *ref)
{
    struct targets t = {.q = q};
    struct target only = {0};
    struct scrub *s = NULL;
    struct buf error = {0};
    int status = EXIT_FINE;
    int st = query_sessions(q, 0, redact_command_on_session, &t);
    if (st == 0 && ref != NULL) {
        struct query_session one;
        st = query_session(q, ref, &one);
        for (size_t i = 0; st == 0 && i < t.n; i++)
            if (t.list[i].id == one.id)
                only = t.list[i];
    }
    if (st < 0 || t.failed)
        status =
            redact_command_fail(t.failed || st == MI_ENOMEM ? "out of memory" : query_error(q));
    else if (scrub_open(&s, q, j->apply, redact_command_on_hit, j, &error) < 0)
        status = redact_command_fail(error.n > 0 ? buf_str(&error) : "out of memory");
    else
        status = scrub_sessions_and_files(j, s, &t, only.id != 0 ? &only : NULL);
    scrub_close(s);
    buf_close(&error);
    free(t.list);
    return status;
}

/* ---- a cassette ---- */

enum { TEXT_NAME, TEXT_CLIENT, TEXT_CLIENT_VERSION, TEXT_SERVER, TEXT_SERVER_VERSION, TEXTS };

struct work {
    struct redact *rules;      /* borrowed; the rules of the current configuration */
    struct cassette_writer *w; /* writes the redacted file; NULL: the file is only searched */
    scrub_fn fn;               /* called for each place in which the search finds secrets */
    void *ctx;
    /* States of the search for secrets that span several lines. lines[0]: in lines that are not
     * messages (KIND_NOISE); lines[1]: in lines of stderr. */
    struct redact_lines lines[2];
    struct buf body, second, method, target, header, names, error; /* owned */
    size_t found; /* number of secrets found so far */
    int status;   /* error of the work: MI_ENOMEM, or MI_EIO from the writer; 0: no error */
};

static void report_redaction_in_file(struct work *k, const char *where, int64_t seq,
                                     struct slice before, struct slice after, size_t n)
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

/* Sanitizes a text. Returns the text itself or, if a secret was replaced, the new text in `out`. */
static struct slice sanitize_text(struct work *k, const char *where, int64_t seq, struct slice text,
                                  struct buf *out)
{
    size_t n = 0;
    if (k->status < 0 || text.p == NULL)
        return text;
    k->status = redact_text(k->rules, text, out, &n);
    if (k->status < 0 || n == 0)
        return text;
    report_redaction_in_file(k, where, seq, text, buf_slice(out), n);
    return buf_slice(out);
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
        report_redaction_in_file(k,
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

/* Joins the redaction rules that are recorded in the file with the rules of this command, because
 * the new file is sanitized by both. */
static int join_redaction_rules(struct work *k, struct slice recorded, struct buf *out)
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
    struct buf redacted[TEXTS] = {{0}};
    for (size_t i = 0; i < TEXTS; i++)
        *texts[i] = sanitize_text(k, "session", 0, *texts[i], &redacted[i]);
    if (k->status == 0 && k->w != NULL) {
        buf_clear(&k->header);
        k->status = join_redaction_rules(k, s->redact_rules, &k->header);
        now.redact_rules = buf_slice(&k->header);
        if (k->status == 0)
            k->status = cassette_write_session(k->w, &now);
    }
    for (size_t i = 0; i < TEXTS; i++)
        buf_close(&redacted[i]);
    return k->status == 0;
}

static bool redact_file_on_lines(void *ctx, struct slice lines)
{
    return save_write_bytes(ctx, lines);
}

/* Reads the file and, if k->w is not NULL, writes the new file. Returns 0, or an error that was
 * logged. */
static int read_and_rewrite_file(struct work *k, const char *path)
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

static int rewrite_redacted_file(struct work *k, const char *path)
{
    struct save file;
    save_open(&file, path, SAVE_PRIVATE);
    int st = cassette_write_open(&k->w, redact_file_on_lines, &file);
    if (st < 0)
        log_error("out of memory");
    else
        st = read_and_rewrite_file(k, path);
    cassette_write_close(k->w);
    int status = save_close(&file, st == 0);
    return st < 0 ? EXIT_TROUBLE : status;
}

/* Finds the secrets in a cassette; if `apply` is true, removes them. `seq` of a hit is the number
 * of the message in the file. If nothing is found, or after an error, the file stays unchanged.
 * Returns EXIT_FINE or, after a message on stderr, EXIT_TROUBLE. */
static int redact_file(const char *path, bool apply, scrub_fn fn, void *ctx)
{
    struct work k = {.rules = redact_get_current_sanitizer(), .fn = fn, .ctx = ctx};
    int status = EXIT_TROUBLE;
    if (k.rules == NULL)
        log_error("out of memory");
    else if (read_and_rewrite_file(&k, path) == 0)
        status = apply && k.found > 0 ? rewrite_redacted_file(&k, path) : EXIT_FINE;
    struct buf *const all[] = {&k.body,   &k.second, &k.method, &k.target,
                               &k.header, &k.names,  &k.error};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        buf_close(all[i]);
    return status;
}

/* ---- the command ---- */

static int redact_file_or_vault(const struct settings *s, struct job *j, const char *operand)
{
    struct query *q = NULL;
    if (recording_is_file(operand)) {
        int status = redact_file(operand, j->apply, redact_command_on_hit, j);
        if (status == EXIT_FINE)
            print_summary(j);
        return status;
    }
    int status = session_vault_open(s, &q);
    bool none = status == EXIT_FINE && !query_is_stored(q) && operand == NULL;
    if (none && !j->json)
        session_warn_empty_list(q, "no session");
    if (status == EXIT_FINE && !none)
        status = redact_vault(j, q, operand);
    if (status == EXIT_FINE && !none)
        print_summary(j);
    query_close(q);
    return status;
}

static int redact_command_run(const struct settings *s)
{
    const char *operand = s->operands_n > 0 ? s->operands[0] : NULL;
    struct job j = {.json = settings_is_on(s, "json"), .apply = settings_is_on(s, "apply")};
    if (settings_is_on(s, "scan") == j.apply)
        return settings_fail_usage(s, "use --scan or --apply");
    if (settings_is_on(s, "all") == (operand != NULL))
        return settings_fail_usage(s, "use a SESSION, a FILE or --all");
    out_open(&j.out);
    int status = redact_file_or_vault(s, &j, operand);
    int printed = out_close(&j.out);
    if (status == EXIT_FINE && (j.left || (!j.apply && j.n > 0)))
        status = EXIT_FOUND;
    return printed != EXIT_FINE ? printed : status;
}

const struct command command_redact = {
    .name = "redact",
    .summary = "find secrets in existing recordings, or remove them",
    .usage = "--scan | --apply [OPTIONS] SESSION | FILE | --all",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = redact_command_run,
};
