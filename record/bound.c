/* bound.c - limits the total size of the user's waiting journals while the vault cannot be
 * written. */
#include "record/state.h"

#include "base/clock.h"
#include "base/log.h"

/* The other journals are measured again after LOOK_US, or after LOOK_BYTES of entries. */
#define LOOK_US 1000000
#define LOOK_BYTES ((uint64_t)256 << 10)
#define NOTE_ROOM ((uint64_t)64 << 10) /* bytes by which reports of losses may exceed the limit */

void bound_update_limit(struct recorder *r)
{
    int64_t now = clock_mono_us();
    if (recorder_get_trouble(r) != RING_FAILING) {
        r->ring.limit = r->limit;
        r->bound_due_us = 0;
        return;
    }
    bool due = now >= r->bound_due_us || r->ring.end - r->bound_from >= LOOK_BYTES;
    if (!due || !r->file.has_name || r->cfg.max_waiting == 0)
        return;
    r->bound_due_us = now + LOOK_US;
    r->bound_from = r->ring.end;
    uint64_t others = journal_file_sum_sizes(r->uid);
    uint64_t room = others < r->cfg.max_waiting ? r->cfg.max_waiting - others : 0;
    r->ring.limit = room < r->limit ? room : r->limit;
}

bool bound_has_lowered_ring_limit(const struct recorder *r)
{
    return r->ring.limit < r->limit;
}

bool bound_append_entry_beyond_limit(struct recorder *r, const struct entry *e)
{
    uint64_t limit = r->ring.limit;
    size_t n = form_size_of_entry(e);
    r->ring.limit = ring_count_unread_bytes(&r->ring) + NOTE_ROOM + limit;
    char *place = n <= NOTE_ROOM ? ring_reserve_record(&r->ring, n) : NULL;
    r->ring.limit = limit;
    if (place == NULL)
        return false;
    form_write_entry(e, place);
    ring_add_record_head(&r->ring, e->kind, n);
    return true;
}

void bound_escalate_lost_messages(struct recorder *r)
{
    struct entry e = {
        .kind = ENTRY_ESCALATION,
        .t_us = recorder_elapsed_us(r),
        .escalation = {
            .cause = ESCALATION_RECORD_ERROR,
            .at_us = clock_wall_us(),
            .seq = r->seq,
            .action = "messages lost",
            .happened = slice_of("The vault cannot be written, and the messages that wait in "
                                 "memory, of all sessions together, have reached --max-waiting."),
            .done = slice_of("Messages are forwarded without being recorded."),
            .look = slice_of(
                "`mcp-interposer doctor` names the journals whose messages are not stored yet."),
        }};
    if (!bound_append_entry_beyond_limit(r, &e))
        log_debug("out of memory: no escalation is written");
}
