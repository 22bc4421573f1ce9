/* forwarder_queue.h - struct forwarder: requests that wait for the live server or for its answer,
 * and sending to the server.
 *
 * Rules, errors and ownership as in forwarder.h. */
#ifndef MI_REPLAY_MOCK_FORWARDER_QUEUE_H
#define MI_REPLAY_MOCK_FORWARDER_QUEUE_H

#include "replay/live/live_session.h"
#include "replay/mock/forwarder.h"

enum forwarder_phase {
    FORWARDER_NOT_STARTED,
    FORWARDER_GREETING,    /* initialize was sent to the server */
    FORWARDER_LEARNING,    /* tools/list was sent to the server */
    FORWARDER_CATCHING_UP, /* a recorded request was sent to the server */
    FORWARDER_READY,
    FORWARDER_OVER, /* the server has ended, or could not be used */
};

/* An unanswered request of the client, which was sent to the server or waits until it is ready. */
struct forwarder_request {
    struct forwarder_request *next;
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
struct forwarder_question {
    struct forwarder_question *next;
    uint64_t number; /* the request's id at the client */
    size_t id_n;
    char id[]; /* the server's id, JSON text */
};

struct forwarder {
    struct forwarder_rules rules;
    const struct forwarder_callbacks *calls; /* borrowed; ctx is borrowed, too */
    void *ctx;
    enum forwarder_phase phase;
    uint64_t number; /* number of the request that was sent last */
    uint64_t own;    /* number of the mock server's own unanswered request; 0: none */
    struct forwarder_request *pending, *newest; /* owned; the oldest and the newest request */
    size_t pending_n;
    struct forwarder_question *questions;
    size_t questions_n;
    struct buf hello; /* owned; the client's initialize */
    uint32_t *noted;  /* owned; exchanges that were answered from the recording, in order */
    size_t noted_n, noted_cap, noted_at;
    size_t pages;                /* number of pages of tools/list that were requested */
    struct live_session session; /* owned; the tools of the live server */
    struct buf error;            /* owned; buffer for the error messages of `session` */
    struct buf out;              /* owned; scratch */
    struct buf over;             /* owned; why the server cannot be used */
};

/* Writes a number as text to the buffer `text`. Returns the digits in `text`. */
struct slice forwarder_format_number(uint64_t number, char text[32]);
/* Sends a message to the server. Values in `with` replace the values of the message (rewrite.h). */
MI_MUST int forwarder_send_message(struct forwarder *f, struct slice message,
                                   const struct slice with[REWRITE_COUNT]);
/* Sends a request of the mock server's own, with a new id in place of the id in `message`. */
MI_MUST int forwarder_send_own_request(struct forwarder *f, struct slice message);
MI_MUST int forwarder_record_message(struct conversation *s, bool from_client,
                                     struct slice message);

/* Adds a request at the end of the list, without copying its text. Returns NULL if out of
 * memory. */
struct forwarder_request *forwarder_add_request_to_list(struct conversation *s,
                                                        const struct rpc *live,
                                                        struct mock_batch *batch);
MI_MUST int forwarder_send_queued_request(struct conversation *s, struct forwarder_request *p,
                                          struct slice text);
/* Call this function when the server is ready: sends the waiting requests. */
MI_MUST int forwarder_send_all_queued_requests(struct conversation *s);
/* Answers all requests with an error, because the server cannot be used any more. The caller must
 * first write the reason to forwarder.over. */
MI_MUST int forwarder_refuse_all_requests(struct conversation *s);
/* Reports a request that the server has not answered, as a failure of the replay. */
void forwarder_report_unanswered(struct conversation *s, const struct forwarder_request *p);
/* Removes the oldest request with this number from the list, and returns this request; NULL: there
 * is none. */
struct forwarder_request *forwarder_remove_request_by_number(struct forwarder *f, uint64_t number);
/* Frees a request that is no longer in the list. */
MI_MUST int forwarder_free_request(struct conversation *s, struct forwarder_request *p);
/* Frees all requests, and their batches, without answers. */
void forwarder_free_all_requests(struct forwarder *f);

#endif
