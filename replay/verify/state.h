/* state.h - the state of a verification: the recorded messages, and what the servers generated.
 *
 * Owns      the list of messages, handles, tools, and the buffers; verify_close() frees them.
 * Errors    MI_ENOMEM or the source's, with a sentence in v->error.
 * Blocks    on reading the recording. */
#ifndef MI_REPLAY_VERIFY_STATE_H
#define MI_REPLAY_VERIFY_STATE_H

#include "replay/verify/live.h"
#include "replay/verify/run.h"

#define VERIFY_NONE UINT32_MAX

/* A message of the recording. */
struct verify_item {
    int64_t place;   /* ascending */
    uint32_t answer; /* of a request: the item that answers it; VERIFY_NONE */
    uint8_t kind;    /* enum rpc_kind */
    bool from_client, lost;
    bool used; /* a request of the server that the live server has sent, too */
};

/* A text that each server generates: as recorded, and as the live one generated it. Between the quotes. */
struct verify_handle {
    size_t recorded_at, recorded_n, live_at, live_n; /* in verify.text */
};

struct verify_tool {
    size_t name_at, name_n; /* in verify.text; escapes resolved */
    bool safe;              /* marked read-only or idempotent */
    bool live;              /* according to the live server */
};

struct verify {
    const struct verify_config *cfg;
    struct source *source;
    struct live *server;
    verify_fn fn;
    void *ctx;
    struct buf *error;

    struct verify_item *items; /* owned */
    uint32_t n;
    size_t cap;
    struct verify_handle *handles; /* owned */
    size_t handles_n;
    struct verify_tool *tools; /* owned */
    size_t tools_n;
    bool knows_live_tools; /* a live tools/list was read to its last page */
    bool initialized;      /* an initialize was sent */
    bool ended;            /* the live server has ended */
    int64_t next_id;

    struct buf text;     /* owned; handles and names */
    struct buf request;  /* owned; the recorded request */
    struct buf recorded; /* owned; its recorded answer */
    struct buf line;     /* owned; the request as it is sent */
    struct buf shown;    /* owned; the live answer with the recorded ids */
    struct buf other;    /* owned; requests of the server and their answers; scratch */
};

/* Reads the recording. */
MI_MUST int verify_load(struct verify *v);
void verify_close(struct verify *v);
int verify_no_memory(struct verify *v); /* MI_ENOMEM, with the sentence */
/* The body of an item, in b. */
MI_MUST int verify_body(struct verify *v, uint32_t item, struct buf *b);

/* Learns the handles from a recorded answer and the live one. */
MI_MUST int verify_learn_handles(struct verify *v, struct json_value recorded,
                                 struct json_value live);
MI_MUST int verify_learn_tools(struct verify *v, struct json_value result, bool live);
/* NULL: unknown. */
const struct verify_tool *verify_tool(const struct verify *v, struct slice raw_name);

/* Copies a message with another id (JSON text), and with the handles of the other server. */
MI_MUST int verify_rewrite(struct verify *v, const struct rpc *m, struct slice id, bool to_live,
                           struct buf *out);

#endif
