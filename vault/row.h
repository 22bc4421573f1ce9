/* row.h - what is recorded: one message or event, as the traffic hands it to the recorder.
 *
 * Owns      nothing.
 * Units     bytes; microseconds since the session's start.
 * Lifetime  the slices are borrowed. `hold` names the chunk that the long ones lie in: whoever keeps a
 *           row past the call keeps the chunk. */
#ifndef MI_VAULT_ROW_H
#define MI_VAULT_ROW_H

#include "base/chunk.h"
#include "wire/rule.h"

enum row_direction { ROW_C2S, ROW_S2C }; /* `c2s`, `s2c` */
enum row_origin { ROW_PEER, ROW_INTERPOSER };
enum row_action { ROW_FORWARDED, ROW_REFUSED, ROW_SWALLOWED };

struct row {
    const char *kind; /* static: messages.kind, or events.kind */
    bool is_event;    /* then only kind, t_us and body (its detail) count */
    uint64_t seq;     /* given by the recorder */
    int64_t t_us;     /* since the session's start; given by the recorder */
    enum row_direction direction;
    enum row_origin origin;
    enum row_action action;
    struct slice rpc_id;  /* JSON text; {NULL, 0}: none */
    struct slice method;  /* between the quotes, escapes as written */
    struct slice target;  /* the same */
    struct slice body;    /* the line */
    bool not_json;        /* body is any bytes: made valid UTF-8 before it is stored */
    size_t size;          /* bytes as received */
    uint64_t redactions;  /* replaced in body before it came here */
    uint64_t request_seq; /* of an answer; 0: none */
    bool has_error_code;
    int64_t error_code; /* of an error */
    uint64_t batch_seq; /* of a batch's member; 0: none */
    findings findings;
    breaches rules;
    struct chunk *hold; /* where body lies; NULL: nowhere that could go away in this turn */
};

#endif
