/* toollist.h - the tools that a server had in a recorded session, and what has changed since.
 *
 * The list of a session is its first whole tools/list, looked for among its first TOOLLIST_MESSAGES messages.
 * It is as it was recorded: secrets are replaced.
 *
 * Owns      the list and what is known of its session; toollist_close() frees them.
 * Errors    MI_ENOENT: no session of that server has a whole list; those of vault/query.h.
 * Blocks    on the vault, as vault/query.h does. */
#ifndef MI_VAULT_TOOLLIST_H
#define MI_VAULT_TOOLLIST_H

#include "vault/query.h"
#include "wire/tools.h"

#define TOOLLIST_MESSAGES 500
#define TOOLLIST_SESSIONS 100 /* of this server, that are looked through */

struct toollist {
    struct tools tools;
    char uid[32];
    int64_t session_id, started_at_us;
};

/* The newest session of the server with this name that has a list, but for the one with this uid (NULL: any)
 * and those from session `before` on (0: any). 0, MI_ENOENT, MI_ESTORE or MI_ENOMEM. */
MI_MUST int toollist_read(struct query *q, const char *server, const char *but_uid, int64_t before,
                          struct toollist *ret);
void toollist_close(struct toollist *l); /* safe to call twice */

enum toollist_change { TOOLLIST_NEW, TOOLLIST_CHANGED, TOOLLIST_GONE };
const char *toollist_change_name(enum toollist_change c); /* "new", "changed", "gone" */

/* Each difference between two lists, by name. before: NULL for a new tool; now: NULL for one that is gone. */
typedef void (*toollist_fn)(void *ctx, enum toollist_change change, struct slice name,
                            const struct tool *before, const struct tool *now);
/* live: `now` has not passed the sanitizer, which it then does before it is compared. The number of them;
 * fn may be NULL. */
size_t toollist_compare(const struct tools *before, const struct tools *now, bool live,
                        toollist_fn fn, void *ctx);

#endif
