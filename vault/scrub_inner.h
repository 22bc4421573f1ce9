/* scrub_inner.h - what the files of the scrub share: scrub.c opens and ends it and looks at a text, scrub_rows.c goes
 * through the rows of a session, scrub_bodies.c through its large bodies, scrub_files.c through files of lines.
 *
 * Only vault/scrub*.c include this. */
#ifndef MI_VAULT_SCRUB_INNER_H
#define MI_VAULT_SCRUB_INNER_H

#include "vault/dir.h"
#include "vault/redact.h"
#include "vault/scrub.h"

#include <sqlite3.h>

enum scrub_query { S_SESSION, S_RULES, S_MESSAGE, S_BODY, S_LARGE, S_EVENT, S_COUNT };
extern const char *const scrub_sql[S_COUNT]; /* scrub_rows.c */

/* [from, to) of a file of large bodies, the newline behind the body included. */
struct scrub_range {
    int64_t from, to;
};

struct scrub {
    struct query *q;          /* borrowed */
    sqlite3 *db;              /* owned; NULL: nothing is changed */
    sqlite3_stmt *s[S_COUNT]; /* owned; prepared when there is a db */
    struct vault_dir dir;     /* owned */
    scrub_fn fn;
    void *ctx;
    struct redact *rules;                         /* borrowed: those in force */
    struct redact_lines lines[2];                 /* of noise and of stderr */
    struct buf clean, second, body, names, error; /* owned */
    size_t waiting;             /* changed rows since the last commit; 0: no transaction is open */
    int bodies_fd;              /* of the session; -1: none */
    struct scrub_range *ranges; /* owned; of its bodies, as its rows name them now */
    size_t ranges_n, ranges_cap;
    int64_t session_id;
    const char *uid;
    size_t found; /* in this session */
    int status;   /* of what a callback met */
};

/* How a text is looked through. */
enum scrub_kind { SCRUB_MESSAGE, SCRUB_VALUE, SCRUB_TEXT, SCRUB_LINE };

/* *ret is the text as it should be, good until the next call, and is told of; else {NULL, 0}: it is fine. */
MI_MUST int scrub_text(struct scrub *s, struct slice text, enum scrub_kind kind,
                       struct redact_lines *lines, struct scrub_hit hit, struct slice *ret,
                       size_t *ret_n);
int scrub_fail_sql(struct scrub *s);                                 /* SQLite's words; MI_ESTORE */
int scrub_fail(struct scrub *s, const char *what, const char *name); /* errno; MI_EIO */

/* ---- large bodies (scrub_bodies.c) ---- */

/* The body's place: as it was, or where the new one was written. */
MI_MUST int scrub_keep_range(struct scrub *s, int64_t offset, int64_t length);
MI_MUST int scrub_append_body(struct scrub *s, struct slice body, int64_t *ret_offset);
MI_MUST int scrub_blank_bodies(struct scrub *s); /* what no row names */

#endif
