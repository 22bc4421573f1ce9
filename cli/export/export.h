/* export.h - exports one session to a file. This is the part that all formats share.
 *
 * Rules     recorded text must not control the program that shows it: the text is quoted as the
 *           format requires, and control characters are made visible. Messages that a proxy records
 *           during the export are left out. A format that lists calls lists the calls that the
 *           filter selects, with all their messages. A message that belongs to no call is listed if
 *           the filter matches the message itself.
 * Owns      the list of calls and the buffers; export_close() frees them.
 * Errors    a negative status. MI_EIO: the file could not be written (see cli/frame/save.h). Other
 *           errors are those of the vault: see query_error().
 * Blocks    on the vault and on the file. */
#ifndef MI_CLI_EXPORT_EXPORT_H
#define MI_CLI_EXPORT_EXPORT_H

#include "cli/export/calls.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"

struct export
{
    struct query *q;               /* borrowed */
    const struct query_session *s; /* the session; borrowed until query_session() is called */
    struct save *file;             /* borrowed */
    const struct filter *filter;   /* borrowed */
    struct session_view view;
    struct exported_calls calls;
    struct buf b;    /* owned; text that is not written yet */
    struct buf body; /* owned; holds a large body */
    struct buf text; /* owned; scratch */
    /* values of --no-stderr, --content and --notifications */
    bool no_stderr, content, notifications;
    int status; /* first error of reading or writing; 0: none */
};

/* requests: each request counts as a call, even if a call has several requests. */
MI_MUST int export_open(struct export *x, struct query *q, const struct query_session *s,
                        struct save *file, const struct filter *f, bool requests);
void export_close(struct export *x);

/* Passes all messages and events to the functions, in order. on_event may be NULL. */
MI_MUST int export_read_rows(struct export *x, query_message_fn on_message, query_event_fn on_event,
                             void *ctx);
/* Whether --no-stderr leaves the message out. */
bool export_skips_message(const struct export *x, const struct query_message *m);
/* Returns the call that this message begins. NULL: the message is not a request, or its call is not
 * selected. */
const struct exported_call *export_find_selected_call(const struct export *x,
                                                      const struct query_message *m);
/* Whether the message belongs to a call that is selected or, if it belongs to no call, whether the
 * filter matches the message. */
bool export_selects_message(const struct export *x, const struct query_message *m);
bool export_selects_event(const struct export *x, const struct query_event *e);
/* Returns the body of a message, or the first `max` bytes of a large body. The result is valid
 * until the next call. Returns {NULL, 0} in three cases: no body was recorded; the file of the body
 * cannot be read, and *ret_error is the reason; the vault cannot be read, x->status is set, and
 * export_flush() returns false. */
struct slice export_read_body(struct export *x, const struct query_message *m, size_t max,
                              const char **ret_error);
/* If x->b is large, writes x->b to the file. Returns false if the export has failed (x->status). */
bool export_flush(struct export *x);
int export_finish_writing(struct export *x); /* writes x->b; returns x->status */

#endif
