/* timeline.h - a session as lines for a person: a header, then a line for each message and event.
 *
 * Columns   SEQ, TIME since the start, arrow (to the server or to the client), WHAT, METHOD and target,
 *           ID, TOOK (of an answer), SIZE, and as much of the content as the line has room for.
 *           With of_many, a line begins with the time of day, the session's number and its server;
 *           `session` and `view` are set before each line.
 * Owns      scratch buffers; timeline_close() frees them.
 * Errors    are those of the output; a large body that cannot be read is told of in its line.
 * Blocks    as the output does, and on the vault for a large body. */
#ifndef MI_CLI_TIMELINE_H
#define MI_CLI_TIMELINE_H

#include "cli/out.h"
#include "cli/session.h"

enum timeline_bodies { BODIES_SHORT, BODIES_RAW, BODIES_PRETTY };

struct timeline {
    struct out *out; /* borrowed, as are the next three */
    struct query *q;
    const struct query_session *session;
    const struct session_view *view;
    enum timeline_bodies bodies;
    bool of_many; /* lines of several sessions: the time of day, number and server instead of SEQ */
    size_t seq_width, time_width, method_width, id_width;
    struct buf text; /* owned; a cell */
    struct buf body; /* owned; a large body */
};

void timeline_open(struct timeline *t, struct out *o, struct query *q,
                   const struct query_session *s, const struct session_view *v,
                   enum timeline_bodies bodies);
void timeline_close(struct timeline *t);

/* Makes columns wide enough for a message: call it for some of them before the first is printed. */
void timeline_measure(struct timeline *t, const struct query_message *m);

void timeline_header(struct timeline *t);  /* the session's fields */
void timeline_title(struct timeline *t);   /* the session in one line */
void timeline_columns(struct timeline *t); /* the line with the names of the columns */
void timeline_message(struct timeline *t, const struct query_message *m);
void timeline_event(struct timeline *t, const struct query_event *e);

#endif
