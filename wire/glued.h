/* glued.h - finds a message of a server that follows log text on the same line.
 *
 * Rules     text that starts like a message is not log text. A message of the client that the
 *           server prints ("received: {…}") is not a message of the server. A line with two values
 *           is not divided, because two parsers would find different messages in it.
 * Limits    at most GLUED_TRIES positions at which a message may start are tried.
 * Owns      the repaired text, in struct glued; slices point into the line.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_GLUED_H
#define MI_WIRE_GLUED_H

#include "wire/json_repair.h"
#include "wire/rpc.h"

#define GLUED_TRIES 8

/* The requests that the server has not answered. */
struct open_requests {
    bool (*has)(void *ctx, struct json_value id);
    bool (*has_method)(void *ctx, struct json_value id, struct slice method);
    void *ctx;
};

/* Whether a message in the output of the server is a copy of a message of the client. */
bool glued_message_echoes_client(const struct open_requests *open, const struct rpc *m);
/* Whether an object or array begins the text. */
bool slice_begins_json_container(struct slice s);

/* Finds the first valid message that extends to the end of the line. Returns false if there is
 * none. */
MI_MUST bool glued_find_message(struct slice line, const struct json_fault *fault,
                                const struct open_requests *open, struct slice *ret_before,
                                struct slice *ret_rest, struct rpc *ret);

enum glued_result {
    GLUED_NONE,
    GLUED_MESSAGE,   /* a message was found: its text is repair.text, and it was read into `rpc` */
    GLUED_UNREADABLE /* `rest` is the answer to an open request, and cannot be repaired */
};

struct glued {
    /* `before`: the log text at the beginning of the line; `rest`: the text after it */
    struct slice before, rest;
    /* Repair of `rest`. Call json_repair_close() for it, unless the result is GLUED_NONE. */
    struct json_repair repair;
    struct rpc rpc;
    size_t flaw_at; /* offset of the flaw in `rest` */
};

/* Finds the first message that can be repaired, or an answer that cannot be repaired. max: maximum
 * number of bytes of a message. */
MI_MUST enum glued_result glued_find_first_message(struct slice line, size_t max,
                                                   const struct open_requests *open,
                                                   struct glued *ret);

#endif
