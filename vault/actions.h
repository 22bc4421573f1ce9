/* actions.h - the log directory: one JSON line for each finished invocation, a file for each UTC day.
 *
 * VAULT/Logs/MCP_Actions/YYYY-MM-DD.jsonl, O_APPEND. Lines gather for a moment and leave in one
 * write of whole lines, at most ACTIONS_DELAY_US later; docs/vault.md describes their fields. The log is a
 * convenience: the database is the record. When it cannot be written, that is said once and the lines
 * are dropped.
 *
 * What comes from messages is sanitized here, as in the database.
 *
 * Owns      the gathered lines and the descriptor of the day's file.
 * Blocks    on the disk only. */
#ifndef MI_VAULT_ACTIONS_H
#define MI_VAULT_ACTIONS_H

#include "vault/keep.h"

#define ACTIONS_DELAY_US 50000            /* a line need not wait longer than this */
#define ACTIONS_GATHER ((size_t)32 << 10) /* bytes of lines that wait no longer at all */
#define ACTIONS_LOOK 1024
#define ACTIONS_CUT 50 /* characters of a result, or of arguments that are too long */

struct action {
    int64_t wall_us;    /* when it finished */
    uint64_t seq;       /* of the request */
    const char *status; /* as in the view `invocations` */
    struct slice method,
        target;             /* between the quotes, escapes as written; target may be {NULL, 0} */
    struct slice arguments; /* JSON; {NULL, 0}: none */
    size_t arguments_n;     /* more than arguments.n: a head of them */
    struct slice error_code, error_message; /* JSON; {NULL, 0}: none */
    int64_t duration_us;
    size_t request_bytes, response_bytes;
    struct slice
        result; /* text of which the head is shown, better with ACTIONS_LOOK bytes of it: a secret that
                            is cut is hard to tell; {NULL, 0}: none */
};

struct actions {
    enum keep_level level; /* KEEP_MINIMAL: no arguments, no result, no words of an error */
    struct buf clean;      /* owned: scratch */
    struct buf who;        /* owned: session and server, as every line has them */
    struct buf lines;      /* owned: whole lines, not yet written */
    int fd;                /* -1: not open */
    char day[32];          /* of fd */
    int64_t looked_us;     /* when it was last seen that the file is still there */
    int64_t second;        /* that second_text is of, since the Unix epoch */
    char second_text[32];
    bool failing, torn; /* the last write failed; it left half a line */
};

/* session: its uid. Both are copied. */
void actions_open(struct actions *a, const char *session, const char *server);
void actions_close(struct actions *a);
void actions_add(struct actions *a, const struct action *x);
bool actions_due(const struct actions *a); /* so much has gathered that it should be written now */
/* Writes what has gathered. vault_fd: the vault's directory, -1 while there is none. */
void actions_flush(struct actions *a, int vault_fd);

#endif
