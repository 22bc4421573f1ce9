#include "cli/recordings/update.h"

#include "base/grow.h"
#include "base/log.h"
#include "cli/frame/save.h"
#include "cli/settings/command.h"
#include "redact/sanitizer.h"
#include "vault/cassette/cassette_file.h"
#include "wire/rpc.h"

#include <stdlib.h>

struct answer {
    int64_t seq;
    size_t at, n; /* offset and length in `text` */
};

struct update {
    struct answer *answers; /* owned; sorted by seq, ascending */
    size_t n, cap;
    size_t next;     /* the first answer that is not written yet */
    struct buf text; /* owned */
    struct cassette_writer *w;
    int status; /* the error of a callback; 0: none */
};

int update_open(struct update **ret)
{
    struct update *u = calloc(1, sizeof *u);
    if (u == NULL)
        return MI_ENOMEM;
    *ret = u;
    return 0;
}

void update_close(struct update *u)
{
    if (u == NULL)
        return;
    free(u->answers);
    buf_close(&u->text);
    free(u);
}

/* Sanitizes an answer for the cassette, as for the vault. */
static int verify_update_sanitize(struct slice message, struct buf *out)
{
    size_t n;
    struct redact *rules = redact_current();
    int st = rules != NULL ? redact_message(rules, message, REDACT_SECRETS, out, &n) : MI_ENOMEM;
    if (st == 0 && n == 0)
        buf_slice_add(out, message);
    return st == 0 && out->failed ? MI_ENOMEM : st;
}

int update_keep_answer(struct update *u, int64_t seq, struct slice message)
{
    struct buf sanitized = {0};
    if (!GROW(u->answers, u->n, u->cap))
        return MI_ENOMEM;
    int st = verify_update_sanitize(message, &sanitized);
    size_t at = u->n;
    while (at > 0 &&
           u->answers[at - 1].seq > seq) { /* a later request may have been answered first */
        u->answers[at] = u->answers[at - 1];
        at--;
    }
    u->answers[at] = (struct answer){.seq = seq, .at = u->text.n, .n = sanitized.n};
    u->n++;
    buf_slice_add(&u->text, buf_slice(&sanitized));
    buf_close(&sanitized);
    return u->text.failed ? MI_ENOMEM : st;
}

/* ---- writing ---- */

static bool verify_update_on_session(void *ctx, const struct query_session *s)
{
    struct update *u = ctx;
    u->status = cassette_write_session(u->w, s);
    return u->status == 0;
}

/* Replaces the body, and the columns that are derived from the body. */
static void verify_update_replace(struct query_message *m, struct slice message)
{
    struct rpc r;
    m->body = message;
    m->size = -1;
    m->redactions = 0;
    m->has_error_code = false;
    m->finding = (struct slice){0};
    if (rpc_read(message, &r) < 0)
        return;
    m->kind = row_kind_of_rpc(r.kind);
    if (r.kind == RPC_RESULT && r.is_error.type == JSON_TRUE)
        m->finding = slice_of("tool-error");
}

static bool verify_update_on_message(void *ctx, const struct query_message *m)
{
    struct update *u = ctx;
    struct query_message changed = *m;
    if (u->next < u->n && u->answers[u->next].seq == m->seq) {
        const struct answer *a = &u->answers[u->next++];
        verify_update_replace(&changed, (struct slice){u->text.p + a->at, a->n});
    }
    u->status = cassette_write_message(u->w, &changed);
    return u->status == 0;
}

static bool verify_update_on_lines(void *ctx, struct slice lines)
{
    return save_write(ctx, lines);
}

int update_write(struct update *u, const char *path)
{
    struct save file;
    struct buf error = {0};
    if (u->n == 0)
        return EXIT_FINE;
    save_open(&file, path, SAVE_PRIVATE);
    int st = cassette_write_open(&u->w, verify_update_on_lines, &file);
    if (st == 0)
        st = cassette_read(path, verify_update_on_session, verify_update_on_message, u, &error);
    if (st == 0)
        st = u->status;
    if (st == 0)
        st = cassette_write_end(u->w);
    cassette_write_close(u->w);
    if (st < 0 && file.error == 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    int status = save_close(&file, st == 0);
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : status;
}
