/* diff.h - two recordings compared call by call.
 *
 *     diff_open(&d, a, b, &rules, &error);
 *     for (uint32_t i = 0; i < diff_rows(d); i++)
 *         diff_look(d, i, on_difference, ctx, &look);
 *     diff_close(d);
 *
 * Steps     diff_begin() and diff_step() until it is done are diff_open() in steps of some milliseconds, if the source reads
 *           quickly. The last one aligns the calls: 3 ms for 20,000 and 20,000 that are the same, 26 ms if all differ.
 * Calls     the requests of the client, each with its outcome. A `ping` that was answered is left out: how many there are
 *           depends on time.
 * Rows      which calls belong together (align.h). Requests are compared in canonical form (canon.h, with `across`), so
 *           a row of two calls may have the kind ALIGN_CHANGED and yet no difference, for example when only one of
 *           them was redacted: diff_look() decides.
 * Answers   results and errors are compared as by `verify` (compare.h), and so are values that the sanitizer changed.
 * Owns      about 400 bytes for each call, and the bodies of one row. Sources and rules are borrowed.
 * Errors    MI_ENOMEM, MI_EFULL, or the source's, with a sentence in error or diff_error().
 * Blocks    on the sources: diff_open() reads all messages once, diff_look() the bodies of one row. */
#ifndef MI_REPLAY_COMPARE_DIFF_H
#define MI_REPLAY_COMPARE_DIFF_H

#include "replay/compare/align.h"
#include "replay/plan/exchanges.h"

enum diff_side { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_rules {
    struct canon_rules canon; /* `ignore` applies to params, results and errors; set `across` */
    /* Slower: the call of b took more than `slower` times as long, and slower_min_us longer. 0: never. */
    double slower;
    int64_t slower_min_us;
    /* Which calls are compared; NULL: all. */
    bool (*takes)(void *ctx, struct slice method, struct slice target);
    void *ctx;
};

struct diff_call {
    struct slice method, target; /* escapes resolved; target.n == 0: none */
    uint64_t seq;                /* of the request in its session */
    uint64_t place, answer; /* of the request and of its answer in the source; answer 0: none */
    int64_t t_us, took_us;  /* took_us -1: no outcome */
    enum call_status status;
};

struct diff;

/* Reads both recordings and pairs their calls. */
MI_MUST int diff_open(struct diff **ret, struct source *a, struct source *b,
                      const struct diff_rules *rules, struct buf *error);
/* The same in steps. *ret_done: it is opened; until then only diff_close() and diff_error() may be called. */
MI_MUST int diff_begin(struct diff **ret, struct source *a, struct source *b,
                       const struct diff_rules *rules);
MI_MUST int diff_step(struct diff *d, bool *ret_done);
void diff_close(struct diff *d); /* NULL is allowed */
const char *diff_error(struct diff *d);

/* ---- the alignment ---- */

uint32_t diff_calls(const struct diff *d, enum diff_side side);
/* Valid until diff_close(). */
struct diff_call diff_call(const struct diff *d, enum diff_side side, uint32_t call);
uint32_t diff_rows(const struct diff *d);
struct align_row diff_row(const struct diff *d, uint32_t row);

/* ---- a row ---- */

/* Where a difference is. */
enum diff_part {
    DIFF_PARAMS,
    DIFF_RESULT,
    DIFF_ERROR,
    DIFF_ANSWER, /* a result on one side, an error on the other: both as a whole */
};

/* Borrowed for the call. */
struct diff_difference {
    enum diff_part part;
    struct slice pointer;           /* below params, the result or the error; "": all of it */
    struct slice value[DIFF_SIDES]; /* JSON, sanitized; {NULL, 0}: missing */
    /* In a list of tools, prompts, resources or templates: the name or URI of the entry as JSON, and the pointer below
     * it; {NULL, 0}: not in a list. */
    struct slice entry, below;
    bool is_entry; /* the whole entry: one of the values is missing */
};
/* false: no more differences are wanted. */
typedef bool (*diff_fn)(void *ctx, const struct diff_difference *one);

enum diff_entry { DIFF_NEW, DIFF_CHANGED, DIFF_GONE, DIFF_ENTRIES };

struct diff_look {
    uint64_t differences;
    uint64_t tools[DIFF_ENTRIES]; /* in a list of tools */
    bool status, slower, moved;   /* another status; see diff_rules; see align.h */
    bool unread;                  /* an answer was not recorded, so answers were not compared */
};

/* Compares the two calls of a row. A row with one call has no differences. fn may be NULL. */
MI_MUST int diff_look(struct diff *d, uint32_t row, diff_fn fn, void *ctx, struct diff_look *ret);
/* Whether the calls differ. A pair that was only moved is a difference of the sessions, not of the calls. */
bool diff_changed(const struct diff_look *l);
/* The params of a call, as JSON; {NULL, 0}: it has none. Valid until the next call. */
MI_MUST int diff_params(struct diff *d, enum diff_side side, uint32_t call, struct slice *ret);

/* ---- the sessions ---- */

/* What the sessions differ in. */
struct diff_fact {
    const char *name;               /* "server_version", … */
    struct slice value[DIFF_SIDES]; /* {NULL, 0}: not known */
    bool counts; /* a difference; else for information, such as another version of the server */
};
/* The facts with different values, from i = 0 on. false: no more. */
bool diff_fact(const struct diff *d, size_t i, struct diff_fact *ret);

#endif
