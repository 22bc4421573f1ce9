/* entries.c - stores one entry of a journal as rows, log lines and files. */
#include "record/process/store_state.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "model/context.h"

/* ---- events --------------------------------------------------------------------------------- */

static int add_event(struct store *s, int64_t t_us, const char *kind, struct slice detail)
{
    struct row row = {.event = kind, .t_us = t_us, .body = detail};
    return writer_add_row(s->w, s->session_id, s->uid, &row);
}

/* Adds an event whose detail was written to s->text. */
static int add_text_event(struct store *s, int64_t t_us, const char *kind)
{
    return s->text.failed ? MI_ENOMEM : add_event(s, t_us, kind, buf_slice(&s->text));
}

static struct json_out begin_detail_object(struct store *s)
{
    buf_clear(&s->text);
    struct json_out j = json_out_to(&s->text);
    json_out_object(&j, NULL);
    return j;
}

int entries_add_gap_event(struct store *s, int64_t t_us, const char *reason)
{
    struct json_out j = begin_detail_object(s);
    json_out_str(&j, "reason", reason);
    json_out_end(&j);
    return add_text_event(s, t_us, "gap");
}

static int add_lost_event(struct store *s, const struct lost_messages *lost)
{
    static const char *const reasons[] = {
        [RING_FINE] = "full", [RING_BUSY] = "locked", [RING_FAILING] = "error"};
    struct json_out j = begin_detail_object(s);
    json_out_str(&j, "reason", reasons[s->lost_trouble]);
    json_out_uint(&j, "lost", lost->n);
    if (lost->n > 0) {
        json_out_uint(&j, "first_seq", lost->first_seq);
        json_out_uint(&j, "last_seq", lost->last_seq);
    }
    json_out_end(&j);
    s->lost_trouble = RING_FINE;
    return add_text_event(s, lost->t_us, "gap");
}

/* ---- an entry that kills its process -------------------------------------------------------- */

static unsigned count_kills_caused_by_entry(const struct ring_shared *k, uint64_t at)
{
    return atomic_load(&k->killed_by) == at ? atomic_load(&k->kills) : 0;
}

static int add_unrecordable_entry(struct store *s, uint32_t kind, struct slice bytes,
                                  unsigned kills)
{
    struct entry e;
    uint64_t seq = 0;
    int64_t t_us = 0;
    int st = 0;
    if (kind == ENTRY_MESSAGE && kills < 2 * STORE_KILLS_MAX &&
        form_read_entry(kind, bytes, &e) == 0) {
        seq = e.row.seq;
        t_us = e.row.t_us;
        e.row.body = (struct slice){0};
        st = writer_add_row(s->w, s->session_id, s->uid, &e.row);
    }
    log_warn("an entry of the journal is stored without its content: the recorder process died "
             "while storing the content: seq=%llu kills=%u",
             (unsigned long long)seq, kills);
    struct json_out j = begin_detail_object(s);
    if (seq != 0)
        json_out_uint(&j, "seq", seq);
    json_out_uint(&j, "kills", kills);
    json_out_end(&j);
    return st < 0 ? st : add_text_event(s, t_us, "unrecordable");
}

/* ---- escalations ---------------------------------------------------------------------------- */

/* Writes the file of the escalation at this position, or counts another occurrence. w is NULL if
 * the database cannot be used. *ret_path stays empty unless a new file was made. A new file is
 * reported once. */
static void write_escalation_file(struct store *s, struct escalations *m, struct writer *w,
                                  struct entry *x, uint64_t at, struct buf *ret_path)
{
    struct escalation *e = &x->escalation;
    bool is_new = false;
    e->server = s->name;
    e->session = s->uid;
    e->command = s->command;
    buf_clear(ret_path);
    if (escalation_write(m, s->dir.fd, w, e, ret_path, &is_new) < 0)
        log_warn("cannot write an escalation file: server=%s cause=%s", s->name,
                 escalation_cause_name(e->cause));
    else if (is_new && at >= s->reported_to) {
        struct buf full = {0};
        s->reported_to = at + 1;
        buf_printf(&full, "%s/%s", s->dir.path, buf_str(ret_path));
        if (s->calls.escalated != NULL && !full.failed)
            s->calls.escalated(s->ctx, e->cause, buf_str(&full));
        buf_close(&full);
    }
    if (!is_new)
        buf_clear(ret_path);
}

void entries_write_escalation(struct store *s, struct ring_shared *k, struct slice bytes,
                              uint64_t at)
{
    struct entry e;
    struct buf path = {0};
    if (s->escalated_at == at || count_kills_caused_by_entry(k, at) >= STORE_KILLS_MAX)
        return;
    atomic_store(&k->trying, at);
    store_call_test_hook("escalation");
    buf_clear(&s->escalated);
    if (form_read_entry(ENTRY_ESCALATION, bytes, &e) == 0)
        write_escalation_file(s, &s->escalations, s->w, &e, at, &path);
    if (path.n > 0) {
        struct json_out j = json_out_to(&s->escalated);
        json_out_object(&j, NULL);
        json_out_str(&j, "cause", escalation_cause_name(e.escalation.cause));
        json_out_str(&j, "path", buf_str(&path));
        json_out_end(&j);
    }
    s->escalated_at = at;
    atomic_store(&k->trying, RING_NONE);
    store_call_test_hook("escalated");
    buf_close(&path);
}

void store_write_escalations_early(struct store *s, struct ring *r)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    struct buf path = {0};
    struct entry e;
    if (s->dir.fd < 0)
        return;
    ring_rewind(r);
    while (ring_read_next_record(r, &kind, &bytes, &at) == 0) {
        if (kind != ENTRY_ESCALATION || at < s->early_to)
            continue;
        s->early_to = at + 1;
        if (s->early_n >= MI_COUNT(s->early.slot) ||
            count_kills_caused_by_entry(r->shared, at) >= STORE_KILLS_MAX ||
            form_read_entry(kind, bytes, &e) < 0)
            continue;
        write_escalation_file(s, &s->early, NULL, &e, at, &path);
        s->early_n += path.n > 0;
    }
    ring_rewind(r);
    buf_close(&path);
}

static void escalate_no_progress(struct store *s, struct no_progress_found f)
{
    struct buf happened = {0}, path = {0}, tool = {0};
    bool is_new = false;
    buf_adds(&happened, "The same call of a tool, with equal arguments, ");
    buf_adds(&happened, f.failed ? "" : "got ");
    no_progress_append_reason(&happened, f.times, f.failed);
    buf_addc(&happened, '.');
    writer_append_message_target(s->w, s->session_id, (uint64_t)f.request, &tool);
    struct escalation e = {
        .cause = ESCALATION_NO_PROGRESS,
        .at_us = clock_wall_us(),
        .server = s->name,
        .session = s->uid,
        .command = s->command,
        .seq = (uint64_t)f.request,
        .method = slice_of("tools/call"),
        .tool = tool.n > 0 ? buf_slice(&tool) : (struct slice){0},
        .action = "observed",
        .happened = buf_slice(&happened),
        .done = slice_of("The interposer did nothing: it handled the calls like all other calls."),
    };
    if (happened.failed || tool.failed ||
        escalation_write(&s->escalations, s->dir.fd, s->w, &e, &path, &is_new) < 0)
        log_warn("cannot write an escalation file: server=%s cause=no-progress", s->name);
    else if (is_new) {
        struct json_out j = begin_detail_object(s);
        json_out_str(&j, "cause", escalation_cause_name(e.cause));
        json_out_str(&j, "path", buf_str(&path));
        json_out_end(&j);
        if (add_text_event(s, f.t_us, "escalation") < 0)
            log_warn("cannot record an escalation: server=%s cause=no-progress", s->name);
        buf_clear(&happened);
        buf_printf(&happened, "%s/%s", s->dir.path, buf_str(&path));
        if (s->calls.escalated != NULL && !happened.failed)
            s->calls.escalated(s->ctx, e.cause, buf_str(&happened));
    }
    buf_close(&happened);
    buf_close(&path);
    buf_close(&tool);
}

void entries_escalate_no_progress(struct store *s)
{
    for (size_t i = 0; i < s->stuck_n; i++)
        escalate_no_progress(s, s->stuck[i]);
    s->stuck_n = 0;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Stores session metadata. Its texts come from a peer and may be invalid UTF-8. */
static int store_session_update(struct store *s, const struct session_update *u)
{
    struct session_update clean = *u;
    struct buf copy[FIELDS_OF_UPDATE] = {{0}};
    int st = 0;
    for (size_t i = 0; i < FIELDS_OF_UPDATE; i++) {
        struct cell c = field_get(&fields_of_update.list[i], u);
        if (c.type != CELL_TEXT)
            continue;
        text_append_valid_utf8(&copy[i], redact_shorten_name(c.text, STORED_NAME_MAX));
        c.text = buf_slice(&copy[i]);
        field_set(&fields_of_update.list[i], &clean, c);
        st = copy[i].failed ? MI_ENOMEM : st;
    }
    if (st == 0)
        st = writer_update_session(s->w, s->session_id, &clean);
    if (st == 0 && u->ended_at_us != 0)
        st = writer_store_running_row(s->w, s->session_id, NULL);
    for (size_t i = 0; i < FIELDS_OF_UPDATE; i++)
        buf_close(&copy[i]);
    return st;
}

bool entries_row_is_answer(const struct row *r)
{
    return r->kind == KIND_RESULT || r->kind == KIND_ERROR;
}

/* Notes a tool call or its answer (model/no_progress.h). If the calls make no progress, sets
 * RULE_NO_PROGRESS in the row; an escalation waits in s->stuck until the transaction is over. */
static void detect_no_progress(struct store *s, struct row *r, struct rpc *read)
{
    struct no_progress_message m = {
        .seq = (int64_t)r->seq,
        .request_seq = (int64_t)r->request_seq,
        .direction = r->direction,
        .kind = r->kind,
        .action = r->action,
        .method = r->method,
    };
    if (!no_progress_needs_body(&s->progress, &m) || r->not_json || r->body.p == NULL ||
        rpc_read(r->body, read) < 0)
        return;
    r->read = read;
    struct no_progress_found found = no_progress_add_message(&s->progress, &m, read);
    if (found.times == 0)
        return;
    r->rules |= RULE(RULE_NO_PROGRESS);
    found.t_us = r->t_us;
    if (found.times == NO_PROGRESS_ESCALATED && s->stuck_n < STORE_STUCK_MAX)
        s->stuck[s->stuck_n++] = found;
}

/* Counts the tokens of an answer, unless it is too short to have more than CONTEXT_LARGE_RESULT
 * tokens: a text has fewer than two tokens per byte. */
static void detect_large_result(struct entry *e, struct rpc *read, struct context_result *result)
{
    struct row *r = &e->row;
    if (!r->ends_invocation || r->not_json || 2 * r->body.n <= CONTEXT_LARGE_RESULT ||
        !context_counts_method_results(e->invocation.method))
        return;
    if (r->read == NULL && rpc_read(r->body, read) < 0)
        return;
    r->read = read;
    *result = context_result(read);
    r->result = result;
    if (result->tokens > CONTEXT_LARGE_RESULT)
        r->rules |= RULE(RULE_LARGE_RESULT);
}

static int add_message(struct store *s, struct entry *e)
{
    struct rpc read;
    struct context_result result;
    detect_no_progress(s, &e->row, &read);
    detect_large_result(e, &read, &result);
    int st = writer_add_row(s->w, s->session_id, s->uid, &e->row);
    if (st == 0 && e->row.kind == KIND_REQUEST && e->row.direction == ROW_C2S) {
        /* Keep the sanitized arguments, which the log line of the call needs. */
        struct slice body = writer_get_last_body(s->w);
        findings twice = FINDING(FIND_DUPLICATE_KEY) | FINDING(FIND_DUPLICATE_ENVELOPE_KEY);
        if (body.p != NULL && !e->row.not_json && (e->row.findings & twice) == 0)
            log_directory_keep_arguments(&s->log, e->row.seq, body,
                                         writer_last_body_is_unchanged(s->w));
    }
    if (st < 0 || !e->row.ends_invocation)
        return st;
    char commitment[WRITER_COMMITMENT];
    e->invocation.result_clean = writer_last_body_is_unchanged(s->w);
    if (entries_row_is_answer(&e->row) && writer_get_last_commitment(s->w, commitment))
        e->invocation.commitment = slice_of(commitment);
    log_directory_add_call(&s->log, &e->invocation);
    return 0;
}

static int entries_add_by_kind(struct store *s, struct entry *e, uint64_t at)
{
    switch (e->kind) {
    case ENTRY_MESSAGE:
        return add_message(s, e);
    case ENTRY_EVENT:
        return writer_add_row(s->w, s->session_id, s->uid, &e->row);
    case ENTRY_UPDATE:
        return store_session_update(s, &e->update);
    case ENTRY_RUNNING:
        return writer_store_running_row(s->w, s->session_id, &e->running);
    case ENTRY_INVOCATION:
        log_directory_add_call(&s->log, &e->invocation);
        return 0;
    /* entries_write_escalation() has written the file, and the event's detail to s->escalated */
    case ENTRY_ESCALATION:
        if (s->escalated_at != at || s->escalated.n == 0)
            return 0;
        return s->escalated.failed ? MI_ENOMEM
                                   : add_event(s, e->t_us, "escalation", buf_slice(&s->escalated));
    case ENTRY_TOOLS_WANTED:
        if (s->calls.tools_wanted != NULL)
            s->calls.tools_wanted(s->ctx);
        return 0;
    case ENTRY_LOST:
        return add_lost_event(s, &e->lost);
    case ENTRY_RULES:
        return writer_add_rules_to_message(s->w, s->session_id, e->added.seq, e->added.rules);
    }
    return 0;
}

int entries_add(struct store *s, struct ring_shared *k, uint32_t kind, struct slice bytes,
                uint64_t at)
{
    struct entry e;
    unsigned kills = count_kills_caused_by_entry(k, at);
    int st;
    atomic_store(&k->trying, at);
    store_call_test_hook("entry");
    if (kills >= STORE_KILLS_MAX)
        st = add_unrecordable_entry(s, kind, bytes, kills);
    else if (form_read_entry(kind, bytes, &e) < 0)
        st = entries_add_gap_event(s, 0, "damaged");
    else
        st = entries_add_by_kind(s, &e, at);
    return st;
}
