/* find.h - finds the messages that match a question, newest first: in the index, or by reading them.
 *
 * Errors    MI_ENOMEM, and those of vault/query/reader.h. An index that cannot be used is not an error: the messages
 *           are read instead.
 * Blocks    on the vault and its index. Building the index shows its progress on a terminal's stderr. */
#ifndef MI_CLI_LOOK_SEARCH_FIND_H
#define MI_CLI_LOOK_SEARCH_FIND_H

#include "cli/look/search/question.h"

/* A message that matches. All borrowed for the call. */
struct found {
    const struct query_message *message;
    int64_t session_id, session_number, started_at_us; /* struct query_session */
    bool several; /* vaults: several sessions may have this number */
    const char *uid, *server;
    size_t uid_shown;  /* characters of the uid that name the session */
    struct slice text; /* of the message, as it was searched */
    struct slice at;   /* the match: a part of the text */
};

/* Returns false to end the search. */
typedef bool (*find_fn)(void *ctx, const struct found *f);
/* At most `limit` messages; 0: all. */
MI_MUST int find_messages(struct query *q, struct question *question, int64_t limit, find_fn fn,
                          void *ctx);

#endif
