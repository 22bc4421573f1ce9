/* export.h - a session in the formats of other programs; docs/export.md describes them.
 *
 * Rules     text of a record never acts on what shows it: it is quoted as the format wants it, and control
 *           characters are made visible.
 *           What a proxy writes meanwhile is left out: a session ends where it ended at the beginning.
 * Owns      the list of calls and scratch; export_close() frees them.
 * Errors    a negative status; MI_EIO is the file's (cli/save.h tells of it), the rest is in query_error().
 * Blocks    on the vault and on the file. */
#ifndef MI_CLI_EXPORT_H
#define MI_CLI_EXPORT_H

#include "cli/calls.h"
#include "cli/save.h"
#include "cli/session.h"

struct export
{
    struct query *q;               /* borrowed, as are the next two */
    const struct query_session *s; /* good until the next query_session() */
    struct save *file;
    struct session_view view;
    struct calls calls;
    struct buf b;    /* owned; not written yet */
    struct buf body; /* owned; a large body */
    struct buf text; /* owned; scratch */
    bool no_stderr;
    int status; /* of what a callback met */
};

MI_MUST int export_open(struct export *x, struct query *q, const struct query_session *s,
                        struct save *file);
void export_close(struct export *x);

/* Each writes all of the session. 0 or a negative status. */
MI_MUST int export_jsonl(struct export *x);
MI_MUST int export_csv(struct export *x);
MI_MUST int export_otlp(struct export *x);
MI_MUST int export_markdown(struct export *x);
MI_MUST int export_html(struct export *x);

/* ---- for those ---- */

/* Writes what has been gathered in x->b, when that is much. false: the export is over (x->status). */
bool export_flush(struct export *x);
int export_end(struct export *x); /* writes all of it */
/* The body of a message: at most `max` bytes of a large one. {NULL, 0}: none, and *ret_error says why when
 * there should be one. Good until the next call. */
struct slice export_body(struct export *x, const struct query_message *m, size_t max,
                         const char **ret_error);
/* All messages and events, in order. on_event may be NULL. */
MI_MUST int export_each(struct export *x, query_message_fn on_message, query_event_fn on_event,
                        void *ctx);
bool export_skips(const struct export *x, const struct query_message *m); /* --no-stderr */

#endif
