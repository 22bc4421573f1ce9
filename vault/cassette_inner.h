/* cassette_inner.h - what the files of the cassette module share: members of a line, one message as a line
 * says it, and the road from there to the reader's callback.
 *
 * Only vault/cassette*.c include this. */
#ifndef MI_VAULT_CASSETTE_INNER_H
#define MI_VAULT_CASSETTE_INNER_H

#include "vault/cassette.h"
#include "vault/pairing.h"
#include "wire/line.h"

#define CASSETTE_LINE_MAX ((size_t)1 << 30)
#define CASSETTE_NAME_MAX 4096 /* bytes of a method, a target or an id, as in the vault */

/* ---- members of one line ---- */

struct cassette_member {
    const char *name;
    enum json_type type; /* what its value must be; JSON_NONE: anything. JSON_TRUE: true */
    bool needed;
};

/* Reads a line that is one object with these members and, if `strict`, no others. values[i] is the value
 * of table[i], or JSON_NONE. 0, or MI_EPROTO with the reason in `why`. */
MI_MUST int cassette_members(struct slice line, const struct cassette_member *table, size_t n,
                             bool strict, struct json_value *values, struct buf *why);
/* The text of a string value, escapes resolved, in `room`, which must have room for it. {NULL, 0}: the
 * value is not there. MI_EPROTO: it holds a NUL. */
MI_MUST int cassette_string(struct json_value v, const char *name, struct buf *room,
                            struct slice *ret, struct buf *why);
/* A whole number that is not below zero; left alone when the value is not there. 0 or MI_EPROTO. */
MI_MUST int cassette_count(struct json_value v, const char *name, int64_t *ret, struct buf *why);

/* ---- one message ---- */

/* What a body says by itself. The slices lie in the body or in the scratch. */
struct cassette_derived {
    struct rpc rpc; /* kind RPC_INVALID when it is no message */
    struct slice kind, rpc_id, method, target;
    bool has_error_code;
    int64_t error_code;
};

/* 0 or MI_ENOMEM. The scratch is cleared. */
MI_MUST int cassette_derive(struct slice body, bool is_stderr, struct buf *scratch,
                            struct cassette_derived *ret);

/* A message without a body: what its row or line says of it takes the place of what the body would. */
void cassette_stand_in(const struct query_message *m, struct cassette_derived *d);

/* ---- reading ---- */

struct cassette_reader {
    const char *name; /* borrowed; of the file */
    size_t line_no;
    struct buf *error; /* borrowed */
    query_session_fn on_session;
    query_message_fn on_message;
    void *ctx;

    int fd; /* owned; -1: `text` is read */
    struct line_reader lines;
    bool eof;
    struct slice text; /* what is left of it */

    struct pairing pairing;
    struct buf room;    /* owned; texts of the line that is read */
    struct buf scratch; /* owned; cassette_derive() */
    struct buf why;     /* owned */
    int64_t seq, last_t_us, last_batch;
    bool stopped; /* a callback wants no more */
};

/* The next line. *ret_more: there was one. 0, MI_EIO, MI_ENOMEM or MI_EINVAL, told in the error. */
MI_MUST int cassette_next_line(struct cassette_reader *r, struct slice *ret, bool *ret_more);
/* MI_EINVAL, after "name:line: reason; remedy". A NULL remedy is the usual one. */
int cassette_refuse(struct cassette_reader *r, const char *reason, const char *remedy);
int cassette_no_memory(struct cassette_reader *r);
/* A line that is a message (cassette_message.c). */
MI_MUST int cassette_message(struct cassette_reader *r, struct slice line);
/* Gives a message to the callback: numbers it, works out what its line did not say, and which request it
 * belongs to (re < 0: to be worked out). What m has set already stays. */
MI_MUST int cassette_give(struct cassette_reader *r, struct query_message *m, int64_t re);

/* Recordings of other programs (cassette_foreign.c). *ret_known: this first line is one of theirs, and
 * the file has been read. */
MI_MUST int cassette_foreign(struct cassette_reader *r, struct slice first, bool *ret_known);

#endif
