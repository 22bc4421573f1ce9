/* journal.h - the interface through which a session records its messages.
 *
 * proxy/session records through these functions only, without files, databases or processes. It
 * calls them during a loop turn; at the end of the turn the journal's owner decides whether the
 * turn's bytes may be sent.
 *
 * Owns      nothing: `owner` belongs to the code that made the journal.
 * Lifetime  slices must be valid during the call.
 * Errors    none: the owner handles lost entries at the end of the turn.
 * Blocks    never. */
#ifndef MI_JOURNAL_JOURNAL_H
#define MI_JOURNAL_JOURNAL_H

#include "journal/entry.h"

#define JOURNAL_UID_SIZE 32 /* length of a session's uid in bytes, including its NUL */

struct journal {
    void *owner;
    const char *uid; /* uid of the session; it is included in errors that the interposer sends */

    /* Returns the time since the session's start, in microseconds. */
    int64_t (*now_us)(void *owner);
    /* Records a message; if its t_us is 0, its time is the current time. Returns the seq of the
     * message: 1, 2, … in the order of the calls. */
    uint64_t (*append)(void *owner, const struct row *row);
    /* Appends the answer `row`, and logs the invocation `x` that the answer ends. Texts of `x` that
     * lie in row->body are not copied. */
    uint64_t (*answer)(void *owner, const struct row *row, const struct invocation *x);
    /* Records an event. kind: static. detail: JSON or NULL; copied. */
    void (*event)(void *owner, const char *kind, const char *detail);
    /* Records that the message `seq`, which was recorded earlier, also violates these rules. */
    void (*add_rules)(void *owner, uint64_t seq, breaches rules);
    /* Adds session metadata, and copies its texts. */
    void (*update)(void *owner, const struct session_update *u);
    /* Logs a finished invocation, and copies its texts. */
    void (*log)(void *owner, const struct invocation *x);
    /* Requests the tools that this server had in its previous session. If there was a previous
     * session, its tools are passed to tool_changes_take_previous_tools() later. */
    void (*want_previous_tools)(void *owner);
};

static inline int64_t journal_now_us(const struct journal *j)
{
    return j->now_us(j->owner);
}

static inline uint64_t journal_append(const struct journal *j, const struct row *row)
{
    return j->append(j->owner, row);
}

static inline uint64_t journal_append_answer(const struct journal *j, const struct row *row,
                                             const struct invocation *x)
{
    return j->answer(j->owner, row, x);
}

static inline void journal_append_event(const struct journal *j, const char *kind,
                                        const char *detail)
{
    j->event(j->owner, kind, detail);
}

static inline void journal_add_breached_rules(const struct journal *j, uint64_t seq, breaches rules)
{
    j->add_rules(j->owner, seq, rules);
}

static inline void journal_append_session_update(const struct journal *j,
                                                 const struct session_update *u)
{
    j->update(j->owner, u);
}

static inline void journal_append_invocation(const struct journal *j, const struct invocation *x)
{
    j->log(j->owner, x);
}

static inline void journal_request_previous_tools(const struct journal *j)
{
    j->want_previous_tools(j->owner);
}

#endif
