/* export.h - exports one session to a file: the part that all formats share.
 *
 * Rules     recorded text must not control the program that shows it: it is quoted as the format requires, and
 *           control characters are made visible.
 *           Messages that a proxy records during the export are left out.
 *           A format that lists calls lists those that the filter selects, with all their messages; what belongs to
 *           no call is selected by itself.
 * Owns      the list of calls and the buffers; export_close() frees them.
 * Errors    a negative status. MI_EIO: writing the file failed (see cli/frame/save.h); for others see query_error().
 * Blocks    on the vault and on the file. */
#ifndef MI_CLI_EXPORT_EXPORT_H
#define MI_CLI_EXPORT_EXPORT_H

#include "cli/export/calls.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"

struct export
{
    struct query *q;               /* borrowed, as are the next three */
    const struct query_session *s; /* valid until the next query_session() */
    struct save *file;
    const struct filter *filter;
    struct session_view view;
    struct exported_calls calls;
    struct buf b;                           /* owned; not written yet */
    struct buf body;                        /* owned; a large body */
    struct buf text;                        /* owned; scratch */
    bool no_stderr, content, notifications; /* the options */
    int status;                             /* of a callback that failed */
};

/* requests: each request of a call that was several is a call. */
MI_MUST int export_open(struct export *x, struct query *q, const struct query_session *s,
                        struct save *file, const struct filter *f, bool requests);
void export_close(struct export *x);

/* All messages and events, in order. on_event may be NULL. */
MI_MUST int export_each(struct export *x, query_message_fn on_message, query_event_fn on_event,
                        void *ctx);
bool export_skips(const struct export *x, const struct query_message *m); /* --no-stderr */
/* The call that this message begins. NULL: the message is not a request, or the call is not selected. */
const struct exported_call *export_call(const struct export *x, const struct query_message *m);
/* Whether the message belongs to a call that is selected, or to none and matches the filter. */
bool export_takes(const struct export *x, const struct query_message *m);
bool export_takes_event(const struct export *x, const struct query_event *e);
/* The body of a message; of a large one at most `max` bytes. {NULL, 0}: none was recorded, or its file cannot be read
 * and *ret_error is the reason, or the vault cannot be read: then x->status is set, and export_flush() returns false.
 * Valid until the next call. */
struct slice export_body(struct export *x, const struct query_message *m, size_t max,
                         const char **ret_error);
/* Writes x->b to the file when it has grown large. false: the export has failed (x->status). */
bool export_flush(struct export *x);
int export_end(struct export *x); /* writes the rest */

#endif
