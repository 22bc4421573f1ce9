#include "replay/source/recording.h"

#include "redact/sanitizer.h"
#include "replay/source/session.h"
#include "replay/source/source_rows.h"
#include "vault/cassette/cassette_file.h"

#include <stdlib.h>

const struct source_info *source_info(const struct source *s)
{
    return &s->info;
}

const char *source_error(struct source *s)
{
    return buf_str(&s->error);
}

int source_sanitize_message(struct source *s, struct slice message, struct slice *ret)
{
    size_t n = 0;
    *ret = message;
    if (s->redact == NULL)
        return 0;
    int st = redact_message(s->redact, message, s->redact_content ? REDACT_CONTENT : REDACT_SECRETS,
                            &s->form, &n);
    if (st == 0 && n > 0)
        *ret = buf_slice(&s->form);
    return st;
}

bool source_sanitizer_is_old(const struct source *s)
{
    return s->redact_old;
}

/* ---- reading ---- */

int source_read_next_message(struct source *s, struct source_message *ret)
{
    while (s->next == s->rows_n) {
        int st = s->q != NULL ? source_read_next_page(s) : MI_ENOENT;
        if (st < 0)
            return st;
    }
    const struct source_row *r = &s->rows[s->next++];
    *ret = r->m;
    if (r->has_id)
        ret->id = (struct slice){s->text.p + r->id_at, r->id_n};
    if (r->has_body)
        ret->body = (struct slice){s->text.p + r->body_at, r->body_n};
    return 0;
}

int source_read_body(struct source *s, uint64_t place, struct buf *b)
{
    if (s->q != NULL)
        return source_read_session_body(s, place, b);
    const struct source_row *r = source_find_row_at(s, place);
    if (r == NULL || !r->has_body) {
        buf_clear(&s->error);
        buf_adds(&s->error, "the recording does not contain this message");
        return MI_ENOENT;
    }
    buf_add(b, s->text.p + r->body_at, r->body_n);
    return b->failed ? MI_ENOMEM : 0;
}

/* ---- cassettes ---- */

struct taking {
    struct source *s;
    struct buf *error;
    int status;
};

static bool source_recording_on_session(void *ctx, const struct query_session *session)
{
    struct taking *t = ctx;
    t->status = source_copy_session_info(t->s, session, t->error);
    return t->status == 0;
}

static bool source_recording_on_message(void *ctx, const struct query_message *m)
{
    struct taking *t = ctx;
    if (!source_add_row(t->s, m, PLACE_MAIN))
        t->status = MI_ENOMEM;
    return t->status == 0;
}

int source_open_cassette(struct source **ret, const char *path, struct buf *error)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    struct taking t = {.s = s, .error = error};
    int st =
        cassette_read(path, source_recording_on_session, source_recording_on_message, &t, error);
    if (st == 0)
        st = t.status;
    if (st < 0) {
        source_close(s);
        return st;
    }
    *ret = s;
    return 0;
}

int source_open_without_messages(struct source **ret, const struct query_session *session,
                                 struct buf *error)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    int st = source_copy_session_info(s, session, error);
    if (st < 0) {
        source_close(s);
        return st;
    }
    *ret = s;
    return 0;
}
