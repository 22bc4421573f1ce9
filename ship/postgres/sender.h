/* sender.h - sends what is new in a vault to the central store, each row exactly once.
 *
 * Rules     the store's watermarks are the truth. They are read after each connect; what the vault remembers is for
 *           `prune` and `ship status` only. A row that is sent again changes nothing.
 *           First the vault's log is compared: one that does not extend what the store has is refused, and nothing of
 *           the vault is taken.
 * Owns      nothing of what it is given.
 * Errors    those of ship/postgres/link.h; MI_ESTORE: the vault, see unsent_error(). TARGET_REFUSED: see sender_error().
 * Memory    one batch, and a row for each session of the vault.
 * Blocks    as link.h and unsent.h. */
#ifndef MI_SHIP_POSTGRES_SENDER_H
#define MI_SHIP_POSTGRES_SENDER_H

#include "ship/outbox/chain.h"
#include "ship/outbox/progress.h"
#include "ship/postgres/link.h"
#include "vault/search/text.h"
#include "vault/unsent/cursors.h"

#define SENDER_PROTOCOL 2 /* the version of the schema that this program needs and knows */
#define SENDER_PIECE ((size_t)1 << 20) /* of a large body */
#define SENDER_ARRAYS 28
#define SENDER_WORDS (MESSAGE_OFFSET + 1) /* the array of the words, among those of the columns */

struct sender {
    struct unsent *from; /* borrowed */
    struct link *to;     /* borrowed */
    struct slice url;    /* borrowed; the name of the target in the vault */
    bool minimal;        /* bodies are not sent */
    bool ready;          /* connected, and the watermarks were read */
    bool again;          /* the last round ended with TARGET_AGAIN */
    bool unsaved;        /* the vault's cursors could not be written */
    int differs;         /* rounds in a row that ended with TARGET_DIFFERS */
    struct progress sessions;
    struct chain log;   /* what the store has of the vault's log */
    int64_t calls;      /* of this vault that the store has counted */
    int64_t handled;    /* leaves whose redactions and removals are complete there */
    int64_t checkpoint; /* size of the last one there */
    int64_t newest;     /* the highest id of a session in `sessions` */
    char vault[UID_LEN + 1];
    struct array array[SENDER_ARRAYS]; /* owned; of the batch */
    struct buf piece;                  /* owned; of a large body */
    struct search_words *words;        /* owned; NULL until they are used */
    struct search_list list;           /* owned; the words of the current message */
    struct buf text;                   /* owned; its text */
    struct buf error;                  /* owned */
    int64_t sent;                      /* rows in this round */
};

void sender_open(struct sender *s, struct unsent *from, struct link *to, const char *url,
                 bool minimal);
void sender_close(struct sender *s);
/* Sends everything that is there. *ret_sent: rows. */
MI_MUST int sender_round(struct sender *s, int64_t *ret_sent);
/* Asks the store whether it still has everything that was sent: a failover may have lost the last transactions. If not,
 * the next round sends them again. */
MI_MUST int sender_check(struct sender *s);
const char *sender_error(struct sender *s, int status);

/* ---- the parts of a round; only ship/postgres calls them ---- */

/* anchor.c */
MI_MUST int sender_begin(struct sender *s); /* connects, and compares the logs and the watermarks */
MI_MUST int sender_compare(struct sender *s, bool *ret_same); /* with what the store had before */
MI_MUST int sender_leaves(struct sender *s);                  /* the new leaves and checkpoints */
/* sessions.c */
MI_MUST int sender_sessions(struct sender *s);
/* messages.c: those after the watermark, which advances */
MI_MUST int sender_messages(struct sender *s, struct shipped_session *x);
/* One that has changed, if it was sent. */
MI_MUST int sender_message_again(struct sender *s, struct shipped_session *x, int64_t seq);
/* Those with from <= id <= to; advances the watermark. */
MI_MUST int sender_events(struct sender *s, struct shipped_session *x, int64_t from, int64_t to);
/* words.c: adds the words of a message to the array SENDER_WORDS, when its body is in its array. large: its body is in a
 * file, and will be sent. */
MI_MUST int sender_words(struct sender *s, const struct shipped_session *x, const struct cell *cell,
                         bool large);
/* handle.c: redactions and removals that the log states */
struct stated; /* by the leaves that are not handled */
MI_MUST int sender_stated(struct sender *s, struct stated **ret);
MI_MUST int sender_replaced(struct sender *s, const struct stated *t);
/* Sessions with a redaction that has not arrived are not complete, whatever the rows say. */
void sender_hold_back(struct sender *s, const struct stated *t);
MI_MUST int sender_redacted(struct sender *s, const struct stated *t);
MI_MUST int sender_handled(struct sender *s, struct stated *t);
void sender_stated_free(struct stated *t); /* NULL is fine */

int sender_refuse(struct sender *s, const char *fmt, ...) MI_FORMAT(2, 3); /* TARGET_REFUSED */
/* A call that changes something begins with this: vault, head and number of calls are its first arguments. */
void sender_call(struct sender *s);
MI_MUST int sender_run(struct sender *s, const char *function); /* and ends with this */
void sender_arrays(struct sender *s, const enum array_type *type, size_t n); /* empties them */
void sender_add_arrays(struct sender *s, size_t n);                          /* as arguments */
/* unsent_read() with a status that link.h has, too. */
MI_MUST int sender_read(struct sender *s, enum unsent_rows what, int64_t a, int64_t b, int64_t c,
                        unsent_fn fn, void *ctx, int64_t *ret_n);

#endif
