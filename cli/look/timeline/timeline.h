/* timeline.h - messages and events as lines for people, or as JSON lines.
 *
 * Columns   SEQ, TIME since the start, an arrow to the server or to the client, WHAT, METHOD and
 *           target, ID, TOOK (only for an answer), SIZE, findings and other notes in brackets,
 *           and the content. After timeline_prepare_many_sessions(), a line begins with the time of
 *           day, the id of the session and its server; the caller sets `session` before each line.
 *           On a terminal, a line is cut at the width of the terminal, and a narrow terminal has
 *           fewer columns (cli/look/timeline/timeline_layout.h). In a pipe, nothing is cut.
 * Owns      scratch buffers; timeline_close() frees them.
 * Errors    those of the output. If the file of a large body cannot be read, the line of the
 *           message has the reason.
 * Blocks    as the output does, and on the vault for a large body. */
#ifndef MI_CLI_LOOK_TIMELINE_TIMELINE_H
#define MI_CLI_LOOK_TIMELINE_TIMELINE_H

#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "cli/look/timeline/timeline_layout.h"

/* TIMELINE_JSON: each line is an object as in cli/frame/record_json.h, with the body. */
enum timeline_bodies { BODIES_SHORT, BODIES_RAW, BODIES_PRETTY, TIMELINE_JSON };

struct timeline {
    struct out *out; /* out, q, session and view are borrowed */
    struct query *q;
    const struct query_session *session;
    const struct session_view *view;
    const struct operation_list *operations; /* the session's operations; borrowed; NULL: unknown */
    enum timeline_bodies bodies;
    struct layout_widths widths; /* measured widths of the cells */
    struct layout layout;
    size_t taken;       /* columns used in the current line */
    struct buf text;    /* owned; text of a cell */
    struct buf content; /* owned; content of the current line */
    struct buf body;    /* owned; a large body */
};

void timeline_open(struct timeline *t, struct out *o, struct query *q,
                   const struct query_session *s, const struct session_view *v,
                   enum timeline_bodies bodies);
void timeline_close(struct timeline *t);
/* Prepares lines of several sessions. The widths of their columns are assumed, because lines are
 * printed before all messages are measured. */
void timeline_prepare_many_sessions(struct timeline *t);

/* Measures a message to widen columns. Should be called for some messages before the first line. */
void timeline_measure_columns(struct timeline *t, const struct query_message *m);

void timeline_print_titles(struct timeline *t); /* prints the column titles */
/* Prints a message. Returns 0; or, if the body cannot be read (session_read_body()), MI_ESTORE or
 * MI_ENOMEM, without printing the message. */
MI_MUST int timeline_print_message(struct timeline *t, const struct query_message *m);
void timeline_print_event(struct timeline *t, const struct query_event *e);

#endif
