/* row_cache.h - the messages that the list shows. Each message is read when it is first needed.
 *
 * Owns      copies of the last rows, at most ROW_CACHE_MAX. A copy has no body, but a preview of
 *           the body (cli/frame/preview.h). row_cache_close() frees the copies.
 * Lifetime  a row is valid until a message whose seq has the same remainder modulo ROW_CACHE_MAX
 *           is read, another session is set, or the cache is closed.
 * Errors    those of vault/query/reader.h. MI_ENOENT: there is no such message.
 * Blocks    on the vault, if the row was not read before. */
#ifndef MI_CLI_UI_MODEL_ROW_CACHE_H
#define MI_CLI_UI_MODEL_ROW_CACHE_H

#include "vault/query/reader.h"

#define ROW_CACHE_MAX 1024
#define ROW_CACHE_PREVIEW 300 /* bytes */

struct row_copy {
    struct query_message m; /* the message without its body; its texts are in `text` */
    struct slice preview;   /* preview of the message, not escaped for display */
    struct buf text;        /* owned */
};

struct row_cache {
    int64_t session_id;
    /* owned; ROW_CACHE_MAX rows, or NULL; the row of message `seq` has the index seq %
     * ROW_CACHE_MAX */
    struct row_copy *row;
};

/* Selects a session, and drops the rows of any other session. Returns 0 or MI_ENOMEM. */
MI_MUST int row_cache_set_session(struct row_cache *r, int64_t session_id);
void row_cache_close(struct row_cache *r);
MI_MUST int row_cache_get_row(struct row_cache *r, struct query *q, int64_t seq,
                              const struct row_copy **ret);

#endif
