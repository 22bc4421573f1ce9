/* source_rows.h - struct source: messages read but not yet returned, and the metadata of the
 * session. */
#ifndef MI_REPLAY_SOURCE_SOURCE_ROWS_H
#define MI_REPLAY_SOURCE_SOURCE_ROWS_H

#include "replay/source/recording.h"

/* The position of a message has a part number in its high bits and the seq in its low bits, so
 * messages of the probe precede messages of the session. */
#define PLACE_BITS 40
#define PLACE_PROBE ((uint64_t)1 << PLACE_BITS)
#define PLACE_MAIN ((uint64_t)2 << PLACE_BITS)

struct source_row {
    /* members `id` and `body` are set later, because source.text may move in memory */
    struct source_message m;
    size_t id_at, id_n, body_at, body_n; /* id and body: ranges of source.text */
    bool has_id, has_body;
};

struct source {
    struct source_info info;
    struct buf info_text;  /* owned; texts of the metadata */
    struct buf error;      /* owned */
    struct redact *redact; /* owned; the rules of the recording; NULL: recorded without rules */
    bool redact_content;   /* true: the sanitizer also truncated content */
    /* another version of the sanitizer made the recording (source_sanitizer_is_old()) */
    bool redact_old;
    struct buf form;         /* owned; result of source_sanitize_message() */
    struct source_row *rows; /* owned; rows of a whole cassette, or of one page of a session */
    size_t rows_n, rows_cap, next;
    struct buf text; /* owned; text of the rows */
    /* The following members are used for a session only: */
    struct query *q; /* borrowed; NULL: the source is a cassette */
    struct part {
        int64_t session_id, next_seq;
        char uid[32]; /* NUL-ended */
        uint64_t place;
        bool discover_only;
    } part[2]; /* the sessions to read: the probe, if there is one, then the session itself */
    size_t parts, at_part;
    uint64_t last_body; /* position of the body that was read last */
    uint32_t in_order; /* number of consecutive bodies that were read in order, up to `last_body` */
};

/* Returns the row at the position `place`; NULL if the row is not in memory. */
const struct source_row *source_find_row_at(const struct source *s, uint64_t place);

/* Adds a message, unless a replay omits such messages. false: out of memory. */
bool source_add_row(struct source *s, const struct query_message *m, uint64_t place_base);
/* Copies the metadata of the session. 0, MI_EINVAL with the reason in error, or MI_ENOMEM. */
MI_MUST int source_copy_session_info(struct source *s, const struct query_session *session,
                                     struct buf *error);

#endif
