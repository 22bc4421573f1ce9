/* call_fill.h - adds rows of `calls` for sessions that an older version recorded, newest session
 * first.
 *
 * Each step reads some messages and writes their calls in one transaction. So a step never writes
 * text back that another process has redacted. The last step of a session sets `calls` of the
 * session to 1; until then, nobody reads the rows. A step continues after the last row of the
 * session. So nothing is lost if a process is killed, and several processes may work on one
 * session.
 *
 * Sessions that have not ended are skipped: their recorder may be of the older version.
 *
 * Owns      nothing. It uses a transaction of the writer, which must not have one open.
 * Errors    MI_ESTORE, with writer_error() and writer_is_busy(), or MI_ENOMEM: try again later.
 * Blocks    on the disk, some milliseconds for CALL_FILL_MESSAGES messages; up to wait_us for the
 *           lock. */
#ifndef MI_VAULT_STORE_CALL_FILL_H
#define MI_VAULT_STORE_CALL_FILL_H

#include "vault/store/writer.h"

#define CALL_FILL_MESSAGES 1000 /* maximum number of messages that one step reads */

struct call_fill {
    /* id of the session that is filled in; 0: the next step chooses a session */
    int64_t session_id;
    int64_t after;    /* seq of the last message that was read */
    int64_t may_link; /* result of CALL_MAY_LINK for the session; -1: it was not read yet */
};

/* Adds the calls of a limited number of messages. *ret_more: false if no session is left. */
MI_MUST int call_fill_add_next_rows(struct call_fill *f, struct writer *w, int64_t wait_us,
                                    bool *ret_more);

#endif
