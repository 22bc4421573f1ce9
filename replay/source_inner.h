/* source_inner.h - what the files of the source share: rows that were read and not handed out yet.
 *
 * Only replay/source*.c include this. */
#ifndef MI_REPLAY_SOURCE_INNER_H
#define MI_REPLAY_SOURCE_INNER_H

#include "replay/source.h"

/* Which session a place belongs to, above the bits of its seq: the probe comes before what it probed for. */
#define PLACE_BITS 40
#define PLACE_PROBE ((uint64_t)1 << PLACE_BITS)
#define PLACE_MAIN ((uint64_t)2 << PLACE_BITS)

struct source_row {
    struct source_message m; /* its slices are empty: where they lie follows */
    size_t id_at, id_n, body_at, body_n;
    bool has_id, has_body;
};

struct source {
    struct source_info info;
    struct buf info_text;  /* owned; where the info's text lies */
    struct buf error;      /* owned */
    struct redact *redact; /* owned; the rules of the recording. NULL: it has none */
    bool redact_content, redact_old;
    struct buf form;         /* owned; what source_form() hands out */
    struct source_row *rows; /* owned; a cassette: all; a session: one page */
    size_t rows_n, rows_cap, next;
    struct buf text; /* owned; where the rows' text lies */
    /* Of a session: */
    struct query *q; /* borrowed; NULL: a cassette */
    struct part {
        int64_t session_id, next_seq;
        char uid[32]; /* NUL-ended */
        uint64_t place;
        bool discover_only;
    } part[2]; /* the probe, if there was one, and the session */
    size_t parts, at_part;
};

/* Keeps a message if it belongs to a replay. false: no memory. */
bool source_take(struct source *s, const struct query_message *m, uint64_t place_base);
/* Copies what the info is about. 0, MI_EINVAL with a sentence in error, or MI_ENOMEM. */
MI_MUST int source_take_info(struct source *s, const struct query_session *session,
                             struct buf *error);
MI_MUST int source_next_page(struct source *s); /* of a session. 0, MI_ENOENT, … */
MI_MUST int source_session_body(struct source *s, uint64_t place, struct buf *b);

#endif
