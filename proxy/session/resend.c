#include "proxy/session/resend.h"

#include "wire/mcp/method.h"

static bool request_was_added_to_outbox(const struct pending *p)
{
    return p->written_at != PENDING_NOT_STAGED;
}

enum resend_result resend_decide_for_request(struct pending *p, uint64_t read, enum resend_end end,
                                             bool may_repeat)
{
    /* the ended process has read the request */
    bool read_now = request_was_added_to_outbox(p) && p->written_at <= read;
    p->was_read |= read_now;
    if (p->lsp_cancelled)
        return RESEND_NOT;
    if (!p->was_read)
        return p->text.p != NULL ? RESEND_AGAIN : RESEND_NOT;
    if (p->flags & METHOD_LISTENS)
        return may_repeat ? RESEND_AGAIN : RESEND_NOT;
    if (p->resend == RESEND_WAITS && !request_was_added_to_outbox(p))
        return RESEND_AGAIN; /* the ended process did not get the request */
    if (end == RESEND_END_HUNG || !may_repeat)
        return RESEND_NOT;
    if (p->resend == RESEND_TRIED && read_now && end != RESEND_END_CANCELLED)
        return RESEND_ENDED_TWO;
    p->resend = RESEND_WAITS;
    return RESEND_AGAIN;
}

bool resend_reset_cancelled_requests(const struct pending_list *cancelled, uint64_t read)
{
    bool found = false;
    for (struct pending *p = cancelled->oldest; p != NULL; p = p->next) {
        found |= p->resend == RESEND_TRIED && p->written_at <= read;
        p->resend = RESEND_NONE;
    }
    return found;
}

bool resend_should_send_now(const struct pending *p, const struct pending *next)
{
    return p->resend != RESEND_WAITS || p == next;
}

struct pending *resend_find_next(const struct pending_list *open)
{
    struct pending *next = NULL;
    for (struct pending *p = open->oldest; p != NULL; p = p->next) {
        if (p->resend == RESEND_TRIED)
            return NULL;
        if (next == NULL && p->resend == RESEND_WAITS)
            next = p;
    }
    return next;
}

bool resend_has_pending_read_request(const struct pending_list *open, uint64_t read)
{
    for (const struct pending *p = open->oldest; p != NULL; p = p->next)
        if (p->resend == RESEND_TRIED && p->written_at <= read)
            return true;
    return false;
}
