/* live_session.h - a session with a live server that repeats a recorded session: the recorded
 * messages, and texts that each server generated.
 *
 * Owns      the list of messages, 24 bytes each, handles, tools, and the buffers;
 *           live_session_close() frees them. The source and the server are borrowed.
 * Errors    MI_ENOMEM or an error of the source, with a sentence in t->error.
 * Blocks    on reading the recording. */
#ifndef MI_REPLAY_LIVE_LIVE_SESSION_H
#define MI_REPLAY_LIVE_LIVE_SESSION_H

#include "peer/live.h"
#include "replay/source/recording.h"

#define LIVE_SESSION_NONE UINT32_MAX

/* A message of the recording. */
struct recorded_message {
    int64_t place; /* ascending */
    /* for a request: index of the recorded message that answers it, or LIVE_SESSION_NONE */
    uint32_t answer;
    uint8_t kind; /* enum rpc_kind */
    bool from_client;
    bool lost; /* the body was not recorded */
    bool used; /* a recorded request of the server that the live server has also sent */
};

/* A handle, which is a text that servers generate, such as a cursor: the recorded text and the live
 * server's text, both without quotes. */
struct live_session_handle {
    /* the recorded and the live text: ranges of live_session.text */
    size_t recorded_at, recorded_n, live_at, live_n;
};

struct live_session_tool {
    /* name of the tool: a range of live_session.text, with escapes resolved */
    size_t name_at, name_n;
    bool reads_only; /* marked read-only */
    bool safe;       /* the tool is marked read-only or idempotent */
    bool live;       /* the live server listed this tool */
};

/* Called for each notification and request of the live server. refused: the reason why a request
 * gets an error; else NULL. Arguments are borrowed. */
typedef void (*live_session_message_fn)(void *ctx, const struct rpc *m, const char *refused);

struct live_session {
    struct source *source;         /* borrowed; NULL: no recording is used */
    struct live *server;           /* borrowed */
    struct buf *error;             /* borrowed */
    int64_t timeout_us;            /* deadline for each answer; progress restarts it; 0: no limit */
    live_session_message_fn heard; /* callback for messages of the live server; may be NULL */
    void *ctx;                     /* context of heard() */

    struct recorded_message *items; /* owned */
    uint32_t n;
    size_t cap;
    /* index of the recorded message at which the search for a request of the server begins */
    uint32_t from;
    struct live_session_handle *handles; /* owned */
    size_t handles_n;
    struct live_session_tool *tools; /* owned */
    size_t tools_n;
    bool knows_live_tools; /* tools/list of the live server was read to its last page */
    bool ended;            /* the live server has ended */
    bool interrupted;      /* a signal arrived while the caller waited for an answer */
    bool notified;         /* a notification was sent since the last answer that had an id */
    int64_t next_id;       /* id of the request that was sent last */
    uint64_t sent;         /* value of live_count_sent_bytes() after the last request was sent */

    struct buf text;     /* owned; the texts that the handles refer to, and names of the tools */
    struct buf request;  /* owned; the recorded request being processed */
    struct buf recorded; /* owned; the recorded answer to the recorded request */
    struct buf line;     /* owned; the text of the request that is sent */
    struct buf other;    /* owned; scratch for requests of the server and their answers */
    struct buf mended;   /* owned; an answer of the live server that was repaired */
};

/* Reads the recording. The borrowed members must be set. */
MI_MUST int live_session_load_recording(struct live_session *t);
void live_session_close(struct live_session *t);
/* writes a sentence about the lack of memory to t->error, and returns MI_ENOMEM */
int live_session_set_no_memory_error(struct live_session *t);
/* Reads the body of a recorded message into `b`. */
MI_MUST int live_session_read_recorded_body(struct live_session *t, uint32_t item, struct buf *b);

/* Collects the handles in a recorded answer and in the answer of the live server. */
MI_MUST int live_session_add_handles(struct live_session *t, struct json_value recorded,
                                     struct json_value live);
MI_MUST int live_session_add_tools(struct live_session *t, struct json_value result, bool live);
/* Returns the tool with this name; NULL: unknown. */
const struct live_session_tool *live_session_find_tool(const struct live_session *t,
                                                       struct slice raw_name);
/* Whether a request with this method changes nothing; false for tools/call. */
bool live_session_request_is_harmless(const struct rpc *m);

/* Copies a message. In the copy, the JSON text `id` replaces the message's id, and the other
 * server's handles replace the message's handles. to_live: the copy is for the live server. */
MI_MUST int live_session_rewrite_message(struct live_session *t, const struct rpc *m,
                                         struct slice id, bool to_live, struct buf *out);

#endif
