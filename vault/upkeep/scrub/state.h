/* state.h - struct scrub and its errors, shared by the files of this folder. */
#ifndef MI_VAULT_UPKEEP_SCRUB_STATE_H
#define MI_VAULT_UPKEEP_SCRUB_STATE_H

#include "redact/sanitizer.h"
#include "vault/store/db.h"
#include "vault/store/dir.h"
#include "vault/store/restate.h"
#include "vault/upkeep/scrub/scrub_run.h"

#define SCRUB_BATCH 256 /* number of changed rows per transaction */

/* Numbers of the statements; their SQL and parameters are in database.c. */
enum scrub_query {
    S_SESSION,
    S_RULES,
    S_CALL,
    S_MESSAGE,
    S_BODY,
    S_LARGE,
    S_EVENT,
    S_ESCALATION,
    S_ESCALATIONS,
    S_EMPTY_LOG,
    S_COUNT
};

/* The range [from, to) of a file of large bodies. It includes the newline after the body. */
struct scrub_range {
    int64_t from, to;
};

struct scrub {
    struct query *q; /* borrowed */
    struct db d; /* owned; the connection that writes; d.db is NULL if the run changes nothing */
    struct vault_dir dir; /* owned */
    scrub_fn fn;
    void *ctx;
    struct redact *rules; /* borrowed: the active rules */
    /* state of the search for secrets: [0] in lines of noise, [1] in lines of stderr */
    struct redact_lines lines[2];
    struct buf clean, second, body, names, error; /* owned */
    size_t waiting; /* number of rows changed since the last commit; 0: no transaction is open */
    /* records of the session that the open transaction has changed */
    struct restated changed[SCRUB_BATCH];
    size_t changed_n;
    struct salts salts;
    int bodies_fd;              /* descriptor of the session's file in Bodies/; -1: none */
    struct scrub_range *ranges; /* owned; ranges of the session's file to which rows refer */
    size_t ranges_n, ranges_cap;
    int64_t session_id;
    const char *uid;
    size_t found; /* number of secrets found in this session */
    int status;   /* value that the callback returned last */
};

#endif
