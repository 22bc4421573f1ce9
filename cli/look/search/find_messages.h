/* find_messages.h - finds the messages that match a question, newest first, with the index or by
 * reading all messages.
 *
 * Errors    MI_ENOMEM, and those of vault/query/reader.h. An index that cannot be used is not an
 *           error: the messages are then read without the index.
 * Blocks    on the vault and its index. Building the index shows its progress on stderr if it is a
 *           terminal. */
#ifndef MI_CLI_LOOK_SEARCH_FIND_MESSAGES_H
#define MI_CLI_LOOK_SEARCH_FIND_MESSAGES_H

#include "cli/look/search/question.h"

/* A message that matches. All members are borrowed, and valid only during the callback. */
struct search_match {
    const struct query_message *message;
    /* values of the session, as in struct query_session */
    int64_t session_id, session_number, started_at_us;
    bool several; /* several vaults were searched, so session numbers may not be unique */
    const char *uid, *server;
    size_t uid_shown;  /* characters of the UID that identify the session */
    struct slice text; /* searched text of the message */
    struct slice at;   /* the match, a part of `text` */
};

/* Called for each match. Returns false to end the search. */
typedef bool (*find_fn)(void *ctx, const struct search_match *f);
/* Finds at most `limit` messages; 0: all. */
MI_MUST int find_messages(struct query *q, struct question *question, int64_t limit, find_fn fn,
                          void *ctx);

#endif
