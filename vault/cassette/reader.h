/* reader.h - reads a recording line by line; errors name file and line. */
#ifndef MI_VAULT_CASSETTE_READER_H
#define MI_VAULT_CASSETTE_READER_H

#include "vault/cassette/cassette_file.h"
#include "vault/cassette/pairing.h"
#include "wire/line.h"
#include "wire/postponed.h"
#include "wire/server_lines.h"

#define CASSETTE_LINE_MAX ((size_t)1 << 30)

struct cassette_reader {
    const char *name; /* borrowed; name of the file */
    size_t line_no;
    struct buf *error; /* borrowed */
    query_session_fn on_session;
    query_message_fn on_message;
    void *ctx;

    int fd; /* owned; the file; -1: the input is in `text` */
    struct line_reader lines;
    bool eof;
    struct slice text; /* the part of the input that was not read yet, if `fd` is -1 */

    struct pairing pairing;
    struct buf texts;       /* owned; texts of the current line */
    struct buf scratch;     /* owned; scratch of cassette_derive_message_values() */
    struct buf why;         /* owned; reason of an error */
    int version;            /* version of the file's format */
    int64_t started_us;     /* start of the session; 0: not known */
    int64_t seq, last_t_us; /* number and time of the last message */
    int64_t last_batch;     /* number of the last message that is a JSON-RPC batch; 0: none */
    bool stopped;           /* true: a callback has returned false, so reading stops */

    /* The following members are used for recordings of other programs. */
    bool foreign;                      /* true: the recording is of another program */
    struct buf entry;                  /* owned; a line of the file after its repair */
    findings entry_found;              /* findings about the line in `entry` */
    struct server_lines server;        /* state of the parser of the server's lines */
    int64_t line_t_us;                 /* time of the server's line that is being read */
    findings line_found;               /* findings about the server's line that is being read */
    struct postponed_errors postponed; /* requests to which the server sent an unreadable answer */
    /* number of the client's last notification, if the server may not have read it yet; otherwise
     * 0 */
    int64_t notified_seq;
    struct buf names, id, mended; /* owned; scratch */
};

/* Reads the next line. *ret_more is false at the end of the file. 0, MI_EIO, MI_ENOMEM or
 * MI_EINVAL, with a sentence in `error`. */
MI_MUST int cassette_next_line(struct cassette_reader *r, struct slice *ret, bool *ret_more);
/* Sets the error "name:line: reason; remedy" and returns MI_EINVAL. remedy: NULL for the
 * default. */
int cassette_reject(struct cassette_reader *r, const char *reason, const char *remedy);
/* Sets the error and returns MI_ENOMEM. */
int cassette_set_no_memory_error(struct cassette_reader *r);
/* Sets the error and returns MI_EIO. */
int cassette_fail_io(struct cassette_reader *r, const char *why);

#endif
