/* journal_fake.h - a journal in memory, with a clock that only the test moves.
 *
 * Like a real one it borrows a row's slices until the end of the loop turn: fake_journal_commit() copies them,
 * and what it copies is what the vault would store: names without escapes, text as valid UTF-8. Invocations are
 * formatted by the log directory, and never written. Their status must be the one that model/status gives the call by the
 * message that ends it. */
#ifndef MI_TESTS_JOURNAL_FAKE_H
#define MI_TESTS_JOURNAL_FAKE_H

#include "tests/support/unit.h"

#include "base/text.h"
#include "journal/journal.h"
#include "model/status.h"
#include "record/process/log_directory.h"
#include "wire/json/text.h"
#include "wire/mcp/rule.h"

#define FAKE_UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define FAKE_ID_MAX 4096 /* longer ids are not stored */

struct fake_journal {
    struct journal journal;
    int64_t now_us;
    uint64_t seq;
    struct row *row; /* owned, and so is the text of the first `committed` */
    size_t n, cap, committed;
    struct log_directory log;
    char client_name[64], client_version[64], server_name[64], server_version[64],
        protocol_version[64]; /* "": unknown */
    unsigned tools_wanted;
};

static inline int64_t fake_now_us(void *owner)
{
    struct fake_journal *j = owner;
    return j->now_us;
}

static inline struct row *fake_place(struct fake_journal *j)
{
    if (j->n == j->cap) {
        j->cap = j->cap == 0 ? 64 : j->cap * 2;
        j->row = realloc(j->row, j->cap * sizeof *j->row);
        assert_non_null(j->row);
    }
    return &j->row[j->n++];
}

static inline struct slice fake_copy(struct buf *b)
{
    struct slice copy = {unit_copy(b->p, b->n), b->n};
    assert_false(b->failed);
    buf_close(b);
    return copy;
}

static inline struct slice fake_copy_name(struct slice raw)
{
    struct buf b = {0};
    if (raw.p == NULL)
        return raw;
    json_unescape(&b, raw);
    return fake_copy(&b);
}

static inline struct slice fake_copy_text(struct slice text, bool not_json)
{
    struct buf b = {0};
    if (text.p == NULL)
        return text;
    if (not_json)
        text_append_valid_utf8(&b, text);
    else
        buf_slice_add(&b, text);
    return fake_copy(&b);
}

static inline uint64_t fake_append(void *owner, const struct row *row)
{
    struct fake_journal *j = owner;
    struct row *place = fake_place(j);
    *place = *row;
    place->seq = ++j->seq;
    place->t_us = place->t_us != 0 ? place->t_us : j->now_us;
    place->rpc_id =
        row->rpc_id.n > FAKE_ID_MAX ? (struct slice){0} : fake_copy_text(row->rpc_id, false);
    place->method = fake_copy_name(row->method);
    place->target = fake_copy_name(row->target);
    place->body = fake_copy_text(row->body, row->not_json);
    return place->seq;
}

static inline void fake_event(void *owner, const char *kind, const char *detail)
{
    struct fake_journal *j = owner;
    struct row *place = fake_place(j);
    *place = (struct row){.event = kind, .t_us = j->now_us};
    if (detail != NULL)
        place->body = fake_copy_text(slice_of(detail), false);
}

static inline void fake_add_rules(void *owner, uint64_t seq, breaches rules)
{
    struct fake_journal *j = owner;
    for (size_t i = 0; i < j->n; i++)
        if (j->row[i].event == NULL && j->row[i].seq == seq)
            j->row[i].rules |= rules;
}

static inline void fake_learn(char to[64], struct slice text)
{
    if (text.p != NULL)
        snprintf(to, 64, "%.*s", (int)text.n, text.p);
}

static inline void fake_update(void *owner, const struct session_update *u)
{
    struct fake_journal *j = owner;
    fake_learn(j->client_name, u->client_name);
    fake_learn(j->client_version, u->client_version);
    fake_learn(j->server_name, u->server_name);
    fake_learn(j->server_version, u->server_version);
    fake_learn(j->protocol_version, u->protocol_version);
}

static inline bool fake_ends(const struct row *r, const struct invocation *x)
{
    bool answers = r->direction == ROW_S2C && (r->kind == KIND_RESULT || r->kind == KIND_ERROR);
    bool cancels = r->direction == ROW_C2S && r->kind == KIND_NOTIFICATION;
    return r->event == NULL && r->request_seq == x->seq && r->action == ROW_FORWARDED &&
           (answers || cancels);
}

static inline void fake_check_status(const struct fake_journal *j, const struct invocation *x)
{
    struct buf names = {0};
    size_t after = j->n; /* the row after the request: the search begins with the newest row */
    while (after > 0 && (j->row[after - 1].event != NULL || j->row[after - 1].seq != x->seq))
        after--;
    size_t end = after;
    while (end < j->n && !fake_ends(&j->row[end], x))
        end++;
    if (after == 0 || end == j->n) /* a cancellation is logged before its message */
        return;
    const struct row *e = &j->row[end];
    for (int i = 0; i < FIND_COUNT; i++)
        if ((e->findings & FINDING(i)) != 0)
            buf_printf(&names, "%s,", finding_name((enum finding)i));
    enum call_status by_row =
        call_status_after_message(j->row[after - 1].action, e->kind, e->origin, buf_slice(&names));
    if (x->status != by_row)
        fail_msg("the log has '%s', its row means '%s'", call_status_name(x->status),
                 call_status_name(by_row));
    buf_close(&names);
}

static inline void fake_log(void *owner, const struct invocation *x)
{
    struct fake_journal *j = owner;
    fake_check_status(j, x);
    log_directory_add_call(&j->log, x);
}

static inline uint64_t fake_answer(void *owner, const struct row *row, const struct invocation *x)
{
    uint64_t seq = fake_append(owner, row);
    fake_log(owner, x);
    return seq;
}

static inline void fake_want_previous_tools(void *owner)
{
    struct fake_journal *j = owner;
    j->tools_wanted++;
}

static inline void fake_journal_open(struct fake_journal *j)
{
    *j = (struct fake_journal){.journal = {.owner = j,
                                           .uid = FAKE_UID,
                                           .now_us = fake_now_us,
                                           .append = fake_append,
                                           .answer = fake_answer,
                                           .event = fake_event,
                                           .add_rules = fake_add_rules,
                                           .update = fake_update,
                                           .log = fake_log,
                                           .want_previous_tools = fake_want_previous_tools},
                               .now_us = 1};
    log_directory_open(&j->log, FAKE_UID, "srv");
}

/* The end of a loop turn. */
static inline void fake_journal_commit(struct fake_journal *j)
{
    j->committed = j->n;
}

static inline void fake_journal_close(struct fake_journal *j)
{
    fake_journal_commit(j);
    for (size_t i = 0; i < j->n; i++) {
        free((void *)(uintptr_t)j->row[i].rpc_id.p);
        free((void *)(uintptr_t)j->row[i].method.p);
        free((void *)(uintptr_t)j->row[i].target.p);
        free((void *)(uintptr_t)j->row[i].body.p);
    }
    free(j->row);
    log_directory_close(&j->log);
}

/* ---- reading -------------------------------------------------------------------------------- */

static inline void fake_add_text(struct buf *b, struct slice text)
{
    if (text.p != NULL)
        buf_slice_add(b, text);
    else
        buf_addc(b, '-');
}

static inline void fake_add_number(struct buf *b, int64_t v, bool has)
{
    if (has)
        buf_int(b, v);
    else
        buf_addc(b, '-');
}

/* A column of `messages`, `-` for NULL. Sequence numbers count from `base`. */
static inline void fake_add_column(struct buf *b, const struct row *r, const char *name,
                                   uint64_t base)
{
    struct buf found = {0};
    if (strcmp(name, "seq") == 0)
        buf_int(b, (int64_t)(r->seq - base));
    else if (strcmp(name, "direction") == 0)
        buf_adds(b, row_direction_name(r->direction));
    else if (strcmp(name, "origin") == 0)
        buf_adds(b, row_origin_name(r->origin));
    else if (strcmp(name, "kind") == 0)
        buf_adds(b, row_kind_name(r->kind));
    else if (strcmp(name, "action") == 0)
        buf_adds(b, row_action_name(r->action));
    else if (strcmp(name, "rpc_id") == 0)
        fake_add_text(b, r->rpc_id);
    else if (strcmp(name, "method") == 0)
        fake_add_text(b, r->method);
    else if (strcmp(name, "target") == 0)
        fake_add_text(b, r->target);
    else if (strcmp(name, "request_seq") == 0)
        fake_add_number(b, (int64_t)(r->request_seq - base), r->request_seq != 0);
    else if (strcmp(name, "error_code") == 0)
        fake_add_number(b, r->error_code, r->has_error_code);
    else if (strcmp(name, "batch_seq") == 0)
        fake_add_number(b, (int64_t)(r->batch_seq - base), r->batch_seq != 0);
    else if (strcmp(name, "size") == 0)
        buf_int(b, (int64_t)r->size);
    else if (strcmp(name, "body") == 0)
        fake_add_text(b, r->body);
    else if (strcmp(name, "length") == 0)
        buf_int(b, (int64_t)r->body.n);
    else if (strcmp(name, "finding") == 0)
        finding_append_names(&found, r->findings, r->rules);
    else
        fail_msg("no column %s", name);
    if (strcmp(name, "finding") == 0)
        fake_add_text(b, found.n > 0 ? buf_slice(&found) : (struct slice){0});
    buf_close(&found);
}

typedef bool (*fake_where_fn)(const struct row *r);

/* The committed messages after seq `base` that `where` (NULL: all) selects, as sql_rows() of vault_unit.h shows a SELECT of
 * these columns, which are separated by blanks. Good until the next call. */
static inline MI_UNUSED const char *fake_select(const struct fake_journal *j, const char *columns,
                                                fake_where_fn where, uint64_t base)
{
    static struct buf b;
    buf_close(&b);
    for (size_t i = 0; i < j->committed; i++) {
        const struct row *r = &j->row[i];
        char names[200];
        if (r->event != NULL || r->seq <= base || (where != NULL && !where(r)))
            continue;
        if (b.n > 0)
            buf_addc(&b, ';');
        assert_true(strlen(columns) < sizeof names);
        strcpy(names, columns);
        for (char *save, *name = strtok_r(names, " ", &save); name != NULL;
             name = strtok_r(NULL, " ", &save)) {
            if (name != names)
                buf_addc(&b, '|');
            fake_add_column(&b, r, name, base);
        }
    }
    return buf_str(&b);
}

/* The details of the events of this kind, the same way. */
static inline MI_UNUSED const char *fake_events(const struct fake_journal *j, const char *kind)
{
    static struct buf b;
    buf_close(&b);
    for (size_t i = 0; i < j->committed; i++) {
        if (j->row[i].event == NULL || strcmp(j->row[i].event, kind) != 0)
            continue;
        if (b.n > 0)
            buf_addc(&b, ';');
        fake_add_text(&b, j->row[i].body);
    }
    return buf_str(&b);
}

static inline bool fake_closes(const struct row *c, const struct row *q)
{
    return c->event == NULL && c->request_seq == q->seq && c->action == ROW_FORWARDED &&
           ((c->direction == ROW_S2C && (c->kind == KIND_RESULT || c->kind == KIND_ERROR)) ||
            (c->direction == ROW_C2S && c->kind == KIND_NOTIFICATION));
}

static inline enum call_status fake_status(const struct row *q, const struct row *c)
{
    bool ours = c->origin == ROW_INTERPOSER;
    return q->action == ROW_REFUSED                          ? CALL_REFUSED
           : c->kind == KIND_NOTIFICATION                    ? CALL_CANCELLED
           : ours && c->findings & FINDING(FIND_SERVER_GONE) ? CALL_SERVER_GONE
           : ours && c->findings & FINDING(FIND_INTERRUPTED) ? CALL_INTERRUPTED
           : ours && c->findings & FINDING(FIND_TIMEOUT)     ? CALL_TIMEOUT
           : c->kind == KIND_ERROR                           ? CALL_ERROR
           : c->findings & FINDING(FIND_TOOL_ERROR)          ? CALL_TOOL_ERROR
                                                             : CALL_OK;
}

/* "request_seq|status;…" of each request of the client, as in the view `invocations`. */
static inline MI_UNUSED const char *fake_invocations(const struct fake_journal *j)
{
    static struct buf b;
    buf_close(&b);
    for (size_t i = 0; i < j->committed; i++) {
        const struct row *q = &j->row[i], *c = NULL;
        if (q->event != NULL || q->kind != KIND_REQUEST || q->direction != ROW_C2S ||
            q->origin != ROW_PEER)
            continue;
        for (size_t k = i + 1; k < j->committed && c == NULL; k++)
            if (fake_closes(&j->row[k], q))
                c = &j->row[k];
        enum call_status status = c != NULL ? fake_status(q, c) : CALL_OPEN;
        buf_printf(&b, "%s%llu|%s", b.n > 0 ? ";" : "", (unsigned long long)q->seq,
                   call_status_name(status));
    }
    return buf_str(&b);
}

/* "client_name|client_version|server_name_choose|server_version|protocol_version" */
static inline MI_UNUSED const char *fake_session(const struct fake_journal *j)
{
    static char text[400];
    const char *columns[] = {j->client_name, j->client_version, j->server_name, j->server_version,
                             j->protocol_version};
    size_t n = 0;
    for (size_t i = 0; i < MI_COUNT(columns); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? "|" : "",
                              columns[i][0] != '\0' ? columns[i] : "-");
    return text;
}

#endif
