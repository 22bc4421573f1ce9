/* sender.h - sends what is new in a vault to the central store, each row exactly once.
 *
 * Rules     the store's watermarks say what was sent. They are read after each connect; the vault's
 *           cursors are only for `prune` and `ship status`. A row that is sent again changes
 *           nothing. First the vault's log is compared: if it does not extend the store's copy, the
 *           round is refused, and nothing is sent.
 * Owns      arrays and buffers; the rest is borrowed.
 * Errors    the errors of ship/postgres/connection.h; MI_ESTORE: the vault, see unsent_error().
 *           TARGET_REFUSED: see sender_error_text().
 * Memory    one batch, and a row for each session of the vault.
 * Blocks    as in connection.h and unsent.h. */
#ifndef MI_SHIP_POSTGRES_SENDER_H
#define MI_SHIP_POSTGRES_SENDER_H

#include "ship/outbox/chain.h"
#include "ship/outbox/progress.h"
#include "ship/postgres/connection.h"
#include "vault/search/search_terms.h"
#include "vault/unsent/cursors.h"

#define SENDER_PROTOCOL 2 /* the schema version of the store that this program needs */
/* number of bytes of a large body that are sent in one piece */
#define SENDER_PIECE ((size_t)1 << 20)
#define SENDER_ARRAYS 28
#define SENDER_WORDS (MESSAGE_OFFSET + 1) /* index of the array of words */

struct sender {
    struct unsent *from; /* borrowed */
    struct link *to;     /* borrowed */
    struct slice url;    /* borrowed; the name of the target in the vault */
    bool minimal;        /* true: bodies are not sent */
    bool ready;          /* true: the connection is open, and the watermarks were read */
    bool again;          /* the last round ended with TARGET_AGAIN */
    bool unsaved;        /* the vault's cursors could not be written */
    int differs;         /* number of rounds in a row that ended with TARGET_DIFFERS */
    struct progress sessions;
    struct chain log; /* the part of the vault's log that the store has */
    int64_t calls;    /* number of this vault's calls that the store has counted */
    int64_t handled;  /* number of leaves whose redactions and removals are complete in the store */
    int64_t checkpoint; /* size of the last checkpoint that the store has */
    int64_t newest;     /* the highest id of a session in `sessions` */
    char vault[UID_LEN + 1];
    struct array array[SENDER_ARRAYS]; /* owned; the columns of the current batch */
    struct buf piece;                  /* owned; piece of a large body */
    struct search_words *words;        /* owned; splits texts into words; NULL until first used */
    struct search_list list;           /* owned; the words of the current message */
    struct buf text;                   /* owned; text of the current message */
    struct buf error;                  /* owned */
    int64_t sent;                      /* number of rows that this round has sent */
};

void sender_open(struct sender *s, struct unsent *from, struct link *to, const char *url,
                 bool minimal);
void sender_close(struct sender *s);
/* Sends all rows of the vault that are new. *ret_sent: number of rows. */
MI_MUST int sender_send_new_rows(struct sender *s, int64_t *ret_sent);
/* Asks the store whether it still has all rows that were sent: a failover may have lost the last
 * transactions. If rows were lost, the next round sends them again. */
MI_MUST int sender_check_lost_rows(struct sender *s);
const char *sender_error_text(struct sender *s, int status);

/* ---- the steps of a round; called only in ship/postgres ---- */

/* anchor.c */
MI_MUST int sender_connect_and_check_store(
    struct sender *s); /* connects, and compares the logs and the watermarks */
/* Reads the state of the store again. *ret_same: the state is the one that the sender knows. */
MI_MUST int sender_compare_with_store(struct sender *s, bool *ret_same);
MI_MUST int sender_send_leaves(struct sender *s); /* sends new leaves and checkpoints */
/* send_sessions.c */
MI_MUST int sender_send_sessions(struct sender *s);
/* messages.c: sends the messages after the watermark, and advances the watermark */
MI_MUST int sender_send_messages(struct sender *s, struct shipped_session *x);
/* If a message has changed after it was sent, sends it again. */
MI_MUST int sender_send_message_again(struct sender *s, struct shipped_session *x, int64_t seq);
/* Sends events with from <= id <= to, and advances the watermark. */
MI_MUST int sender_send_events(struct sender *s, struct shipped_session *x, int64_t from,
                               int64_t to);
/* send_words.c: adds the words of a message to the array SENDER_WORDS. Call this function after the
 * message's body was added to the array of bodies. large: the body is in a file, and will be
 * sent. */
MI_MUST int sender_add_message_words(struct sender *s, const struct shipped_session *x,
                                     const struct cell *cell, bool large);
/* handle.c: redactions and removals that the log states */
struct stated; /* the redactions and removals in the log that were not handled yet */
MI_MUST int sender_read_changes_in_log(struct sender *s, struct stated **ret);
MI_MUST int sender_send_replaced_rows(struct sender *s, const struct stated *t);
/* Marks sessions as not complete if the store lacks one of their redactions, even if it has all
 * their rows. */
void sender_mark_redacted_incomplete(struct sender *s, const struct stated *t);
MI_MUST int sender_resend_redacted_messages(struct sender *s, const struct stated *t);
MI_MUST int sender_mark_changes_handled(struct sender *s, struct stated *t);
void sender_free_changes_in_log(struct stated *t); /* the argument may be NULL */

int sender_set_refusal_reason(struct sender *s, const char *fmt, ...)
    MI_FORMAT(2, 3); /* TARGET_REFUSED */
/* Begins a call of an SQL function that changes the store. Adds its first arguments: the vault, the
 * head of the log, and the number of such calls. */
void sender_begin_call(struct sender *s);
/* calls the SQL function with the arguments of sender_begin_call() and those added after it */
MI_MUST int sender_call_sql_function(struct sender *s, const char *function);
/* empties the arrays */
void sender_begin_arrays(struct sender *s, const enum array_type *type, size_t n);
/* adds the arrays as arguments of the call */
void sender_add_array_arguments(struct sender *s, size_t n);
/* Like unsent_read_rows(), but converts errors to those of connection.h. */
MI_MUST int sender_read_unsent_rows(struct sender *s, enum unsent_rows what, int64_t a, int64_t b,
                                    int64_t c, unsent_fn fn, void *ctx, int64_t *ret_n);

#endif
