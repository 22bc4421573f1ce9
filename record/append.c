/* append.c - appends entries to the ring; lets them wait while there is no room, or counts them as
 * lost. */
#include "record/state.h"

#include "base/clock.h"
#include "base/log.h"
#include "vault/store/sanitize.h"

/* While messages are lost, changes of the session's metadata are kept, up to this many bytes. */
#define KEPT_MAX ((size_t)64 << 10)
#define WAITING_KEEP ((size_t)64 << 10) /* maximum bytes of a buffer that are kept for reuse */

/* ---- losing --------------------------------------------------------------------------------- */

static void count_lost_message(struct recorder *r, uint64_t seq)
{
    if (r->lost.n++ == 0) {
        r->lost.first_seq = seq;
        r->lost.t_us = recorder_elapsed_us(r);
    }
    r->lost.last_seq = seq;
}

static bool kind_is_metadata(uint32_t kind)
{
    return kind == ENTRY_UPDATE || kind == ENTRY_RUNNING;
}

static struct ring_head read_waiting_entry_header(const struct recorder *r, size_t at)
{
    struct ring_head h;
    memcpy(&h, r->waiting.p + at, sizeof h);
    return h;
}

/* Drops the waiting messages and counts them as lost. Messages that follow a waiting message wait
 * as well, so the waiting messages are the latest messages of the session. */
void append_drop_waiting_messages(struct recorder *r)
{
    struct buf kept = {0};
    uint64_t messages = 0;
    struct ring_head h;
    for (size_t at = r->moved_n; at < r->waiting.n; at += sizeof h + h.n) {
        h = read_waiting_entry_header(r, at);
        messages += h.kind == ENTRY_MESSAGE;
        if (kind_is_metadata(h.kind) && kept.n + sizeof h + h.n <= KEPT_MAX)
            buf_add(&kept, r->waiting.p + at, sizeof h + h.n);
    }
    if (!r->losing)
        log_warn("messages are not recorded: %s",
                 bound_has_lowered_ring_limit(r)
                     ? "the vault cannot be written, and the messages that wait in "
                       "memory have reached --max-waiting"
                 : ring_count_unread_bytes(&r->ring) > 0
                     ? "the recorder process is behind, and the journal in "
                       "memory is full"
                     : "the system has no memory for the journal");
    if (!r->losing && bound_has_lowered_ring_limit(r))
        bound_escalate_lost_messages(r);
    if (!r->losing)
        r->full_at = ring_count_unread_bytes(&r->ring);
    r->losing = true;
    for (; messages > 0; messages--)
        count_lost_message(r, r->seq - messages + 1);
    buf_close(&r->waiting);
    r->moved_n = 0;
    r->waiting = kept;
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Adds an entry to r->waiting. Returns false if there is no room for it: the entry is lost. */
static bool append_waiting_entry(struct recorder *r, const struct entry *e, size_t n)
{
    struct ring_head h = {(uint32_t)n, e->kind};
    if (n > UINT32_MAX ||
        (r->losing && (!kind_is_metadata(e->kind) || r->waiting.n + sizeof h + n > KEPT_MAX)))
        return false;
    if (!buf_reserve(&r->waiting, sizeof h + n)) {
        r->waiting.failed = false; /* the entries that are in the buffer already are not lost */
        return false;
    }
    buf_add(&r->waiting, &h, sizeof h);
    form_write_entry(e, r->waiting.p + r->waiting.n);
    r->waiting.n += n;
    return true;
}

static bool put_entry_into_ring(struct recorder *r, const struct entry *e, size_t n)
{
    char *place = n <= UINT32_MAX ? ring_reserve_record(&r->ring, n) : NULL;
    if (place == NULL)
        return false;
    form_write_entry(e, place);
    ring_add_record_head(&r->ring, e->kind, n);
    return true;
}

static bool put_entry_without_body(struct recorder *r, struct slice bytes)
{
    struct entry e;
    if (r->cfg.stop_on_error && !r->worker.ending) {
        /* Setting body_lost ends the session. A session that is ending already records the message
         * without its body instead. */
        r->body_lost = true;
        return false;
    }
    if (form_read_entry(ENTRY_MESSAGE, bytes, &e) < 0 || e.row.body.p == NULL)
        return false;
    e.row.body = e.invocation.error_message = e.invocation.result = (struct slice){0};
    e.row.findings |= FINDING(FIND_BODY_LOST);
    if (!put_entry_into_ring(r, &e, form_size_of_entry(&e)))
        return false;
    if (!r->body_lost)
        log_warn("the body of a message was not recorded, because the system has no memory for it: "
                 "bytes=%zu",
                 e.row.size);
    r->body_lost = true;
    return true;
}

/* Puts a waiting entry into the ring. Returns false if it must wait. An entry that does not fit
 * into an empty ring (it is too long, or the file system is full) is dropped; a message is recorded
 * without its body. With stop_on_error such a message ends the session. */
static bool put_waiting_entry_into_ring(struct recorder *r, struct ring_head h, const char *bytes)
{
    char *place = ring_reserve_record(&r->ring, h.n);
    if (place != NULL) {
        memcpy(place, bytes, h.n);
        ring_add_record_head(&r->ring, h.kind, h.n);
        return true;
    }
    if (h.n <= ring_max_record_size(&r->ring) && !ring_has_stored_everything(&r->ring))
        return false;
    return h.kind == ENTRY_MESSAGE ? put_entry_without_body(r, (struct slice){bytes, h.n})
                                   : !kind_is_metadata(h.kind);
}

/* Reports lost messages in the journal, and resumes recording. Returns false until there is room
 * for many messages; otherwise there would be a gap after every few messages. */
static bool report_lost_messages(struct recorder *r)
{
    if (r->losing && ring_count_unread_bytes(&r->ring) > r->full_at / 2)
        return false;
    struct entry e = {.kind = ENTRY_LOST, .lost = r->lost};
    if (r->lost.n > 0) {
        if (!put_entry_into_ring(r, &e, form_size_of_entry(&e)))
            return false;
        log_warn("recording again: lost=%llu", (unsigned long long)r->lost.n);
    }
    r->lost = (struct lost_messages){0};
    r->losing = false;
    return true;
}

void append_final_lost_report(struct recorder *r)
{
    struct entry e = {.kind = ENTRY_LOST, .lost = r->lost};
    if (r->lost.n > 0 && bound_append_entry_beyond_limit(r, &e)) {
        log_error("some messages were not recorded: lost=%llu", (unsigned long long)r->lost.n);
        r->lost = (struct lost_messages){0};
    }
}

bool append_waiting_entries(struct recorder *r)
{
    if ((r->losing || r->lost.n > 0) && !report_lost_messages(r))
        return false;
    while (r->moved_n < r->waiting.n) {
        struct ring_head h = read_waiting_entry_header(r, r->moved_n);
        if (!put_waiting_entry_into_ring(r, h, r->waiting.p + r->moved_n + sizeof h))
            return false;
        r->moved_n += sizeof h + h.n;
    }
    if (r->waiting.n == 0)
        return true;
    if (r->waiting.cap > WAITING_KEEP)
        buf_close(&r->waiting);
    else
        buf_clear(&r->waiting);
    r->moved_n = 0;
    return true;
}

void append_entry(struct recorder *r, const struct entry *e)
{
    size_t n = form_size_of_entry(e);
    if (r->losing)
        (void)append_waiting_entries(r); /* resumes recording if the ring has room again */
    bool in_order = r->has_ring && r->waiting.n == 0 && r->lost.n == 0 && !r->losing;
    if (in_order && put_entry_into_ring(r, e, n))
        return;
    if (r->has_ring && append_waiting_entry(r, e, n))
        return;
    if (e->kind == ENTRY_MESSAGE)
        count_lost_message(r, e->row.seq);
    else if (e->kind == ENTRY_EVENT)
        log_debug("event not recorded: kind=%s", e->row.event);
}

/* ---- the journal's calls -------------------------------------------------------------------- */

static int64_t append_get_elapsed_us(void *owner)
{
    return recorder_elapsed_us(owner);
}

/* Appends e->row, and e->invocation if e->row.ends_invocation is true. */
static uint64_t append_message_row(struct recorder *r, struct entry *e)
{
    e->kind = ENTRY_MESSAGE;
    e->row.seq = ++r->seq;
    if (e->row.t_us == 0)
        e->row.t_us = recorder_elapsed_us(r);
    r->took |= e->row.direction == ROW_C2S;
    append_entry(r, e);
    return r->seq;
}

static uint64_t append_message(void *owner, const struct row *row)
{
    struct recorder *r = owner;
    struct entry e;
    e.row = *row;
    r->asked |= row->kind == KIND_REQUEST && row->direction == ROW_C2S;
    return append_message_row(r, &e);
}

static uint64_t append_answer(void *owner, const struct row *row, const struct invocation *x)
{
    struct entry e;
    e.row = *row;
    e.row.ends_invocation = true;
    e.invocation = *x;
    return append_message_row(owner, &e);
}

static void append_event(void *owner, const char *kind, const char *detail)
{
    struct entry e = {.kind = ENTRY_EVENT,
                      .row = {.event = kind, .t_us = append_get_elapsed_us(owner)}};
    if (detail != NULL)
        e.row.body = slice_of(detail);
    append_entry(owner, &e);
}

static void append_breached_rules(void *owner, uint64_t seq, breaches rules)
{
    append_entry(owner, &(struct entry){.kind = ENTRY_RULES, .added = {seq, rules}});
}

/* Limits a name: peers can choose names of any size. */
static struct slice shorten_stored_name(struct slice text)
{
    return text.p != NULL ? redact_shorten_name(text, STORED_NAME_MAX) : text;
}

static void append_update(void *owner, const struct session_update *u)
{
    struct recorder *r = owner;
    struct entry e = {.kind = ENTRY_UPDATE, .update = *u};
    e.update.client_name = shorten_stored_name(u->client_name);
    e.update.client_version = shorten_stored_name(u->client_version);
    e.update.server_name = shorten_stored_name(u->server_name);
    e.update.server_version = shorten_stored_name(u->server_version);
    e.update.protocol_version = shorten_stored_name(u->protocol_version);
    session_facts_add_update(&r->facts, &e.update);
    append_entry(r, &e);
}

void recorder_escalate(struct recorder *r, const struct escalation *e)
{
    struct entry x = {.kind = ENTRY_ESCALATION, .escalation = *e, .t_us = recorder_elapsed_us(r)};
    append_entry(r, &x);
}

static void append_invocation(void *owner, const struct invocation *x)
{
    struct entry e;
    e.kind = ENTRY_INVOCATION;
    e.invocation = *x;
    append_entry(owner, &e);
}

static void request_previous_tools(void *owner)
{
    struct recorder *r = owner;
    r->tools_wanted = true;
    append_entry(r, &(struct entry){.kind = ENTRY_TOOLS_WANTED});
}

void append_metadata_for_new_recorder(struct recorder *r)
{
    if (r->facts.has_running)
        append_entry(r, &(struct entry){.kind = ENTRY_RUNNING, .running = r->facts.running});
    if (r->facts.has_update)
        append_entry(r, &(struct entry){.kind = ENTRY_UPDATE, .update = r->facts.update});
}

void append_open_journal(struct recorder *r)
{
    r->journal = (struct journal){
        .owner = r,
        .uid = r->uid,
        .now_us = append_get_elapsed_us,
        .append = append_message,
        .answer = append_answer,
        .event = append_event,
        .add_rules = append_breached_rules,
        .update = append_update,
        .log = append_invocation,
        .want_previous_tools = request_previous_tools,
    };
}
