/* diff.h - two recordings compared call by call.
 *
 *     diff_open(&d, a, b, &rules, &error);
 *     for (uint32_t i = 0; i < diff_count_rows(d); i++)
 *         diff_compare_row(d, i, on_difference, ctx, &look);
 *     diff_close(d);
 *
 * Steps     diff_create() and repeated diff_load_or_align_calls() do the work of diff_open() in
 *           steps of some milliseconds, if the source reads quickly. The last step aligns the
 *           calls: for 20,000 calls on each side, it takes 3 ms if all are equal, 26 ms if all
 *           differ.
 * Calls     the requests of the client, each with its outcome. Answered `ping` requests are left
 *           out, because their number depends on time.
 * Rows      pairs of calls (align.h), or single calls. Requests are compared in canonical form
 *           (canon.h, with `across`), so a row of two calls may have the kind ALIGN_CHANGED and yet
 *           no difference, for example when only one of them was redacted: diff_compare_row()
 *           decides.
 * Answers   results and errors are compared as by `verify` (compare.h), also where the sanitizer
 *           changed values.
 * Owns      about 400 bytes for each call, and the bodies of one row. Sources and rules are
 *           borrowed.
 * Errors    MI_ENOMEM, MI_EFULL, or an error of the source, with a sentence in `error` or
 *           diff_error().
 * Blocks    on the sources: diff_open() reads all messages once, diff_compare_row() the bodies of
 *           one row. */
#ifndef MI_REPLAY_COMPARE_DIFF_H
#define MI_REPLAY_COMPARE_DIFF_H

#include "replay/compare/align.h"
#include "replay/plan/exchanges.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_rules {
    /* canon.ignore applies to params, results and errors; the caller must set canon.across to
     * true */
    struct canon_rules canon;
    /* A row is slower if the call of `b` took more than `slower` times as long as the call of `a`,
     * and more than slower_min_us longer. slower 0: no row is slower. */
    double slower;
    int64_t slower_min_us;
    /* Whether a call is compared; NULL: all calls are compared. */
    bool (*takes)(void *ctx, struct slice method, struct slice target);
    void *ctx;
};

struct diff_call {
    struct slice method, target; /* method and target without JSON escapes; target.n 0: no target */
    uint64_t seq;                /* seq of the request */
    /* positions of the request and the answer in the source; answer 0: no answer */
    uint64_t place, answer;
    int64_t t_us, took_us; /* duration of the call; -1: the call has no outcome */
    enum call_status status;
};

struct diff;

/* Reads both recordings and pairs their calls. */
MI_MUST int diff_open(struct diff **ret, struct source *a, struct source *b,
                      const struct diff_rules *rules, struct buf *error);
/* The next two functions open a comparison in steps. Until *ret_done is true, only diff_close() and
 * diff_error() may also be called. */
MI_MUST int diff_create(struct diff **ret, struct source *a, struct source *b,
                        const struct diff_rules *rules);
MI_MUST int diff_load_or_align_calls(struct diff *d, bool *ret_done);
void diff_close(struct diff *d); /* the argument may be NULL */
const char *diff_error(struct diff *d);

/* ---- the alignment ---- */

uint32_t diff_count_calls(const struct diff *d, enum diff_side side);
/* Returns a call. Its texts are valid until diff_close(). */
struct diff_call diff_get_call(const struct diff *d, enum diff_side side, uint32_t call);
uint32_t diff_count_rows(const struct diff *d);
struct align_row diff_get_row(const struct diff *d, uint32_t row);

/* ---- a row ---- */

/* The part of a call that differs. */
enum diff_part {
    DIFF_PARAMS,
    DIFF_RESULT,
    DIFF_ERROR,
    /* one call has a result and the other call an error; the values are this result and this
     * error */
    DIFF_ANSWER,
};

/* A difference; valid only during the call of a diff_fn. */
struct diff_difference {
    enum diff_part part;
    /* JSON pointer from params, the result or the error to the values; "": the whole value */
    struct slice pointer;
    /* the values as sanitized JSON; {NULL, 0}: the value is missing */
    struct slice value[DIFF_SIDES];
    /* In a list of tools, prompts, resources or templates: the name or URI of the entry as JSON,
     * and the JSON pointer from the entry to the difference; {NULL, 0}: not in a list. */
    struct slice entry, below;
    bool is_entry; /* the difference is a whole list entry, which is missing on one side */
};
/* A callback returns false to stop the comparison. */
typedef bool (*diff_fn)(void *ctx, const struct diff_difference *one);

enum diff_entry { DIFF_NEW, DIFF_CHANGED, DIFF_GONE, DIFF_ENTRIES };

struct diff_look {
    uint64_t differences;
    uint64_t tools[DIFF_ENTRIES]; /* number of new, changed and missing tools in a list */
    bool status;                  /* the calls have different statuses */
    bool slower;                  /* the call in `b` is slower, as diff_rules.slower defines */
    bool moved;                   /* the calls were moved, as in align_row.moved */
    bool unread;                  /* an answer was not recorded, so answers were not compared */
};

/* Compares the two calls of a row. A row with one call has no differences. fn may be NULL. */
MI_MUST int diff_compare_row(struct diff *d, uint32_t row, diff_fn fn, void *ctx,
                             struct diff_look *ret);
/* Whether the calls of the row differ. Calls that were only moved do not differ. */
bool diff_row_has_changed(const struct diff_look *l);
/* Returns the params of a call as JSON; {NULL, 0}: the call has none. Valid until the next
 * diff_read_params(). */
MI_MUST int diff_read_params(struct diff *d, enum diff_side side, uint32_t call, struct slice *ret);

/* ---- the sessions ---- */

/* A fact about the sessions, such as the server's version, with its value in each session. */
struct diff_fact {
    const char *name;               /* "server_version", … */
    struct slice value[DIFF_SIDES]; /* the value of the fact in each session; {NULL, 0}: unknown */
    /* true: the fact counts as a difference; false: the fact is only information, such as the
     * server's version */
    bool counts;
};
/* Returns the facts with different values, for i = 0, 1, …; returns false after the last fact. */
bool diff_get_session_difference(const struct diff *d, size_t i, struct diff_fact *ret);

#endif
