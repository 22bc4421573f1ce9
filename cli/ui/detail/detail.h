/* detail.h - one call, or one message, as a document of lines, for the detail pane of `ui`.
 *
 * Parts     each part begins with a title line. A call begins with what matters: its status, its
 *           error if it failed, its arguments, the contents of its result, its findings with
 *           their meaning, the post-mortem of a hang or crash, and lines of stderr. Below, times
 *           and messages are folded; a message is indented JSON, or text if it is not JSON. A
 *           single message has its times, its findings, and the message itself.
 * Folding   each object and array can be folded. A string that has lines, is JSON, or is long
 *           can be unfolded; it is then shown as lines or as JSON. Texts in the content of a
 *           tool's result are unfolded at first. The title line of a part folds the part.
 * Lines     are numbered from 0; folded lines are not counted. A number is valid until a line is
 *           folded or unfolded. Lines are found when they are needed, and at first only the
 *           beginning of a long message is read. So detail_count_lines() is an estimate until
 *           detail_count_exact_lines() was called, or a line near the end was needed.
 * Cost      the time to open does not depend on the size of the messages, except for unfolded
 *           texts (DETAIL_TEXT_MAX). Going to a line reads the messages up to that line once.
 *           Memory: about 1 KiB for each MiB of a message, and the text of unfolded strings.
 * Text      nothing in a message is trusted. Invalid JSON is shown up to the error, and cells.h
 *           makes characters safe.
 * Owns      the computed lines and texts. The subject, and everything to which the subject points,
 *           is borrowed until detail_close().
 * Errors    MI_ENOMEM; MI_ENOENT: there is no such line, or nothing was found.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_DETAIL_H
#define MI_CLI_UI_DETAIL_DETAIL_H

#include "cli/ui/text/cells.h"
#include "model/status.h"
#include "wire/finding.h"

/* a text with at most this many bytes is unfolded when the detail opens */
#define DETAIL_TEXT_MAX ((size_t)256 << 10)
/* number of bytes at the beginning of a message that are searched for values */
#define DETAIL_VALUES_MAX ((size_t)1 << 20)
/* maximum number of contents of a result that are shown as parts of their own */
#define DETAIL_CONTENTS_MAX 16
/* maximum size of all unfolded strings together, in bytes */
#define DETAIL_UNFOLDED_MAX ((size_t)64 << 20)

/* ---- the subject, filled by the caller; {NULL, 0} and 0 mean "not known" ---- */

struct detail_message {
    int64_t seq;
    int64_t t_us; /* time since the start of the session */
    bool from_client;
    bool by_interposer; /* true: the interposer itself sent the message */
    enum row_kind kind;
    enum row_action action;
    struct slice method, target, id; /* id: the JSON-RPC id, as JSON text */
    struct slice finding;            /* names of the findings of the message, separated by commas */
    int64_t size;                    /* size of the received message in bytes */
    int64_t redactions;
    struct slice body;      /* text of the message; {NULL, 0}: missing */
    bool is_beginning;      /* `body` is only the beginning of the recorded body */
    const char *body_error; /* reason why the body is missing; NULL: it was not recorded */
};

/* A finding about one value in a message. */
struct detail_note {
    size_t message;       /* index of the message in detail_subject.message */
    struct slice pointer; /* JSON Pointer in the message, such as /params/arguments/path */
    struct slice text;    /* text of the note, such as "must be a string, is a number" */
    enum severity severity;
};

struct detail_line {
    int64_t t_us;
    struct slice text;
};

struct detail_subject {
    int64_t started_at_us; /* start of the session, since the Unix epoch; 0: unknown */
    bool is_call; /* true: the subject is a request with its related messages; false: a message */
    enum call_status status; /* status of the call, if is_call */
    /* duration of the call; -1: the call is open, or the subject is one message */
    int64_t duration_us;
    /* how long an open call has waited until now, or until the end of the recording */
    int64_t waited_us;
    bool ended; /* the session has ended: an open call will not be answered */
    /* a sentence about the operation, if it has several requests; otherwise empty */
    struct slice operation;
    /* the messages in recorded order; the first message of a call is its request */
    const struct detail_message *message;
    size_t messages_n;
    const struct detail_note *note;
    size_t notes_n;
    /* title of the post-mortem, "Hang" or "Crash"; NULL: there is none */
    struct slice post_mortem_title;
    struct slice post_mortem; /* text of the escalation (Markdown), or JSON of the event */
    const struct detail_line *stderr_line;
    size_t stderr_n;
    bool stderr_more; /* more than stderr_n lines of stderr were recorded */
};

/* ---- the document ---- */

struct detail; /* opaque */

MI_MUST int detail_open(struct detail **ret, const struct detail_subject *subject);
void detail_close(struct detail *d); /* d may be NULL */
/* Sets ASCII mode, and the width to which texts are wrapped; 0: texts are not wrapped. Call this
 * function after detail_open() and when the width has changed. Line numbers change. */
void detail_set_width(struct detail *d, size_t columns, bool ascii);
/* Updates an open call: how long it has waited, and whether the session has ended. */
void detail_update_open_call(struct detail *d, int64_t waited_us, bool ended);

/* Returns the number of lines. If *exact is false, the number is an estimate: the document has at
 * least one line more than those that are known. */
size_t detail_count_lines(struct detail *d, bool *exact);
/* returns the exact number of lines; reads the whole document */
size_t detail_count_exact_lines(struct detail *d);

/* Begins c, and writes the columns [from, from + width) of a line to it. If there is no such line,
 * c stays empty and the function returns false. */
bool detail_draw_line(struct detail *d, size_t line, size_t from, size_t width, struct cells *c);
/* Returns the line of the next title after `line`; if `forward` is false, of the previous title.
 * Returns `line` if there is no such title. */
size_t detail_get_next_part(struct detail *d, size_t line, bool forward);

/* ---- folding ---- */

enum detail_fold { DETAIL_TOGGLE, DETAIL_FOLD, DETAIL_UNFOLD };
/* Folds or unfolds the value that begins at the line; if no value begins there, folds the value
 * that contains the line. *ret_line: first line of that value, for the cursor. MI_ENOENT: there is
 * nothing to fold or unfold; MI_EFULL: unfolded strings would exceed DETAIL_UNFOLDED_MAX bytes. */
MI_MUST int detail_fold_line(struct detail *d, size_t line, enum detail_fold how, size_t *ret_line);
/* In each message, unfolds objects and arrays above this depth and folds the others. 0 folds all;
 * SIZE_MAX unfolds all, and the parts as well. Unfolded strings are folded again. */
void detail_fold_from_depth(struct detail *d, size_t depth);

/* ---- searching ---- */

struct detail_hit {
    size_t line, column; /* line of the match, and column of its first character */
    bool wrapped;        /* the search continued at the other end of the document */
};
/* Searches a text, regardless of the case of ASCII letters. A match in a folded part unfolds the
 * part. The search continues after the last match if that match is in line `from`; otherwise, the
 * search begins at that line. If the match is in a string and beyond the right edge of the pane,
 * the string is unfolded. detail_draw_line() highlights the text until the next search; an empty
 * text ends the highlighting. MI_ENOENT: not found. */
MI_MUST int detail_search(struct detail *d, struct slice needle, size_t from, bool forward,
                          struct detail_hit *ret);

/* ---- copying ---- */

enum detail_copy {
    /* The value of the selected line: a string is unescaped, an object is JSON. If the line has no
     * value, its text is copied. If the line is the title of a part, the text of the part is
     * copied. If it is the title of a call, the request is copied. */
    DETAIL_COPY_VALUE,
    DETAIL_COPY_POINTER, /* JSON Pointer of the selected line's value in its message */
    DETAIL_COPY_BODY,    /* the message to which the selected line belongs */
};
/* Appends text as it was recorded, so the text is not safe for a terminal. Returns MI_ENOENT if the
 * line has no such text. */
MI_MUST int detail_copy(struct detail *d, size_t line, enum detail_copy what, struct buf *b);
/* Returns the `seq` of the message that the line belongs to; 0: none. */
int64_t detail_seq_at_line(struct detail *d, size_t line);

#endif
