/* forward_queue.h - struct forward: requests that wait for the live server or for its answer, and
 * sending to the server.
 *
 * Rules, errors and ownership as in forward.h. */
#ifndef MI_REPLAY_MOCK_FORWARD_QUEUE_H
#define MI_REPLAY_MOCK_FORWARD_QUEUE_H

#include "replay/live/talk.h"
#include "replay/mock/forward.h"

enum forward_phase {
    FORWARD_NOT_STARTED,
    FORWARD_GREETING,    /* initialize was sent to the server */
    FORWARD_LEARNING,    /* tools/list was sent to the server */
    FORWARD_CATCHING_UP, /* a recorded request was sent to the server */
    FORWARD_READY,
    FORWARD_OVER, /* the server has ended, or could not be used */
};

/* An unanswered request of the client, which was sent to the server or waits until it is ready. */
struct forward_pending {
    struct forward_pending *next;
    uint64_t number; /* the request's id at the server; 0: not sent yet */
    struct mock_batch *batch;
    /* the client has cancelled the request and does not wait for its answer */
    bool cancelled;
    struct buf text;      /* owned; the request, until it is sent */
    struct slice id, key; /* the client's id: JSON text, and its key (wire/rpc_id.h); in `data` */
    /* the method and target, sanitized, with escapes resolved; in `data` */
    struct slice method, target;
    char data[];
};

/* A request of the server that the client has not answered. */
struct forward_question {
    struct forward_question *next;
    uint64_t number; /* the request's id at the client */
    size_t id_n;
    char id[]; /* the server's id, JSON text */
};

struct forward {
    struct forward_rules rules;
    const struct forward_calls *calls; /* borrowed; ctx is borrowed, too */
    void *ctx;
    enum forward_phase phase;
    uint64_t number; /* number of the request that was sent last */
    uint64_t own;    /* number of the mock server's own unanswered request; 0: none */
    struct forward_pending *pending, *newest; /* owned; the oldest and the newest request */
    size_t pending_n;
    struct forward_question *questions;
    size_t questions_n;
    struct buf hello; /* owned; the client's initialize */
    uint32_t *noted;  /* owned; exchanges that were answered from the recording, in order */
    size_t noted_n, noted_cap, noted_at;
    size_t pages;     /* number of pages of tools/list that were requested */
    struct talk talk; /* owned; the tools of the live server */
    struct buf error; /* owned; buffer for the error messages of `talk` */
    struct buf out;   /* owned; scratch */
    struct buf over;  /* owned; why the server cannot be used */
};

/* Writes a number as text to the buffer `text`. Returns the digits in `text`. */
struct slice forward_format_number(uint64_t number, char text[32]);
/* Sends a message to the server. Values in `with` replace the values of the message (rewrite.h). */
MI_MUST int forward_send_message(struct forward *f, struct slice message,
                                 const struct slice with[REWRITE_COUNT]);
/* Sends a request of the mock server's own, with a new id in place of the id in `message`. */
MI_MUST int forward_send_own_request(struct forward *f, struct slice message);
MI_MUST int forward_record_message(struct conversation *s, bool from_client, struct slice message);

/* Adds a request at the end of the list, without copying its text. Returns NULL if out of
 * memory. */
struct forward_pending *forward_add_request(struct conversation *s, const struct rpc *live,
                                            struct mock_batch *batch);
MI_MUST int forward_send_pending_request(struct conversation *s, struct forward_pending *p,
                                         struct slice text);
/* Call this function when the server is ready: sends the waiting requests. */
MI_MUST int forward_send_waiting_requests(struct conversation *s);
/* Answers all requests with an error, because the server cannot be used any more. The caller must
 * first write the reason to forward.over. */
MI_MUST int forward_refuse_all_requests(struct conversation *s);
/* Reports a request that the server has not answered, as a failure of the replay. */
void forward_report_unanswered(struct conversation *s, const struct forward_pending *p);
/* Removes the oldest request with this number from the list, and returns this request; NULL: there
 * is none. */
struct forward_pending *forward_take_pending_request(struct forward *f, uint64_t number);
/* Frees a request that is no longer in the list. */
MI_MUST int forward_free_request(struct conversation *s, struct forward_pending *p);
/* Frees all requests, and their batches, without answers. */
void forward_drop_pending_requests(struct forward *f);

#endif
