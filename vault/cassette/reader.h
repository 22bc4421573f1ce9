/* reader.h - reads a recording line by line; errors name file and line. */
#ifndef MI_VAULT_CASSETTE_READER_H
#define MI_VAULT_CASSETTE_READER_H

#include "vault/cassette/cassette_file.h"
#include "vault/cassette/pairing.h"
#include "wire/held.h"
#include "wire/line.h"
#include "wire/server_lines.h"

#define CASSETTE_LINE_MAX ((size_t)1 << 30)

struct cassette_reader {
    const char *name; /* borrowed; name of the file */
    size_t line_no;
    struct buf *error; /* borrowed */
    query_session_fn on_session;
    query_message_fn on_message;
    void *ctx;

    int fd; /* owned; -1: reads `text` */
    struct line_reader lines;
    bool eof;
    struct slice text; /* the unread rest, for fd -1 */

    struct pairing pairing;
    struct buf texts;   /* owned; texts of the current line */
    struct buf scratch; /* owned; cassette_derive() */
    struct buf why;     /* owned */
    int version;        /* of the format */
    int64_t started_us; /* start of the session; 0: not known */
    int64_t seq, last_t_us, last_batch;
    bool stopped; /* a callback returned false */

    /* For recordings of other programs: */
    bool foreign;
    struct buf entry;           /* owned; a repaired line of the file */
    findings entry_found;       /* findings about that line */
    struct server_lines server; /* lines of the server */
    int64_t line_t_us;          /* time and findings of the line that is being read */
    findings line_found;
    struct held held;     /* requests to which the server sent an unreadable answer */
    int64_t notified_seq; /* seq of the last notification that the server may not have read; or 0 */
    struct buf names, id, mended; /* owned; scratch */
};

/* Reads the next line. *ret_more is false at the end of the file. 0, MI_EIO, MI_ENOMEM or
 * MI_EINVAL, with a sentence in `error`. */
MI_MUST int cassette_next_line(struct cassette_reader *r, struct slice *ret, bool *ret_more);
/* Returns MI_EINVAL, and sets "name:line: reason; remedy". remedy: NULL for the usual one. */
int cassette_reject(struct cassette_reader *r, const char *reason, const char *remedy);
int cassette_no_memory(struct cassette_reader *r);                /* MI_ENOMEM */
int cassette_fail_io(struct cassette_reader *r, const char *why); /* MI_EIO */

#endif
