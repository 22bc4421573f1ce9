#include "proxy/session/stderr_reason.h"

#include "base/text.h"
#include "proxy/session/stderr_rule.h"

#define CODE_MAX 64 /* size of the buffer for an error code, such as ERR_MODULE_NOT_FOUND */

struct text {
    size_t n;
    bool cut; /* `text` is the start of a longer text */
    char text[STDERR_REASON_MAX];
};

enum mode {
    ANY_LINE,
    IN_FRAMES,    /* the current line follows a line of class STDERR_FRAMES */
    IN_TRACEBACK, /* the current line follows a line of class STDERR_TRACEBACK */
    CONTINUED,    /* the next `continues` lines belong to `reason` */
    NEEDS_CAUSE,  /* the last line ended with "Caused by:"; the cause is on the next line */
};

/* State while the lines are read. */
struct reading {
    enum mode mode;
    /* in mode CONTINUED: number of following lines that belong to `reason` */
    unsigned continues;
    enum stderr_says says; /* class of the line in `reason`, unless `reason` is empty */
    const void *rule;      /* rule that matched the line in `reason` */
    unsigned since;        /* number of lines after `reason` that are not its details */
    struct text reason, cause;
    char code[CODE_MAX]; /* "": none */
};

/* ---- a line --------------------------------------------------------------------------------- */

/* Returns the length of the escape sequence at p, such as ESC [ 3 1 m; 0 if there is none. */
static size_t escape_sequence_len(const char *p, size_t n)
{
    size_t i = 2;
    if (n < 2 || p[0] != '\x1b' || p[1] != '[')
        return 0;
    while (i < n && p[i] >= ' ' && p[i] < '@')
        i++;
    return i < n ? i + 1 : n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Copies the line to the buffer and returns it without escape sequences, without blanks at its
 * ends, and without the frame that Python draws around a group of exceptions. */
static struct slice strip_stderr_line(struct slice line, char buffer[STDERR_LINE_READ],
                                      bool *ret_indented)
{
    size_t n = 0;
    for (size_t i = 0; i < line.n && n < STDERR_LINE_READ;) {
        size_t skip = escape_sequence_len(line.p + i, line.n - i);
        if (skip == 0)
            buffer[n++] = line.p[i++];
        i += skip;
    }
    struct slice s = {buffer, n}; /* The last character of `buffer` may be incomplete. */
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    size_t frame = 0;
    while (frame < s.n && is_blank(s.p[frame]))
        frame++;
    if (frame + 1 < s.n && (s.p[frame] == '|' || s.p[frame] == '+') && s.p[frame + 1] == ' ')
        s = (struct slice){s.p + frame + 2, s.n - frame - 2};
    *ret_indented = s.n > 0 && is_blank(s.p[0]);
    while (s.n > 0 && is_blank(s.p[0]))
        s = (struct slice){s.p + 1, s.n - 1};
    return s;
}

/* ---- the reason, its code and its cause ----------------------------------------------------- */

static void reason_text_add(struct text *t, struct slice s)
{
    size_t blank = t->n > 0 && t->n < STDERR_REASON_MAX;
    if (t->cut)
        return;
    if (blank)
        t->text[t->n++] = ' ';
    struct slice head = text_prefix(s, STDERR_REASON_MAX - t->n);
    memcpy(t->text + t->n, head.p, head.n);
    t->n += head.n;
    t->cut = head.n < s.n;
}

static void reason_text_set(struct text *t, struct slice s)
{
    t->n = 0;
    t->cut = false;
    reason_text_add(t, s);
}

static bool line_states_reason(enum stderr_says says)
{
    return says == STDERR_REASON || says == STDERR_REASON_TOP;
}

static struct slice slice_of_reason_text(const struct text *t)
{
    return (struct slice){t->text, t->n};
}

static bool slice_contains(struct slice all, struct slice part)
{
    return memmem(all.p, all.n, part.p, part.n) != NULL;
}

static void set_reason_line(struct reading *r, struct slice text, enum stderr_says says,
                            const void *rule)
{
    reason_text_set(&r->reason, text);
    r->says = says;
    r->rule = rule;
    r->since = 0;
    r->cause.n = 0;
    r->code[0] = '\0';
    r->continues = line_states_reason(says) ? stderr_rule_count_following_lines(text) : 0;
    r->mode = r->continues > 0 ? CONTINUED : ANY_LINE;
}

static void set_error_code_of_reason(struct reading *r, struct slice code)
{
    if (!line_states_reason(r->says) || code.n >= sizeof r->code || r->code[0] != '\0')
        return;
    memcpy(r->code, code.p, code.n);
    r->code[code.n] = '\0';
}

static void set_reason_cause(struct reading *r, struct slice cause)
{
    while (cause.n > 0 && cause.p[0] == ' ')
        cause = (struct slice){cause.p + 1, cause.n - 1};
    r->mode = cause.n > 0 ? ANY_LINE : NEEDS_CAUSE;
    if (cause.n > 0)
        reason_text_set(&r->cause, cause);
}

/* Returns true if a line of this class is a better reason than the line in `reason`. */
static bool is_better_reason(const struct reading *r, enum stderr_says says, const void *rule)
{
    if (r->reason.n == 0)
        return true;
    if (says == STDERR_REASON_TOP && r->rule == rule && r->since == 0)
        return false;
    if (line_states_reason(r->says) && line_states_reason(says))
        return true;
    return says >= r->says || (r->since >= STDERR_REASON_LINES && says >= STDERR_OTHER);
}

/* ---- lines in their order ------------------------------------------------------------------- */

/* Handles a line that continues an earlier line. Returns false for any other line. */
static bool handle_continuation_line(struct reading *r, struct slice text, enum stderr_says says,
                                     bool indented)
{
    enum mode mode = r->mode;
    if (mode == IN_TRACEBACK && indented)
        return true;
    if (mode == IN_FRAMES && !line_states_reason(says))
        return true;
    r->mode = ANY_LINE;
    if (mode == IN_TRACEBACK && says != STDERR_TRACEBACK) {
        set_reason_line(r, text, STDERR_REASON, NULL);
        return true;
    }
    if (mode == NEEDS_CAUSE && says != STDERR_CAUSE) {
        reason_text_set(&r->cause, text);
        return true;
    }
    if (mode == CONTINUED && says >= STDERR_OTHER && says != STDERR_REASON) {
        reason_text_add(&r->reason, text);
        r->mode = --r->continues > 0 ? CONTINUED : ANY_LINE;
        return true;
    }
    return false;
}

static void process_stderr_line(struct reading *r, struct slice line)
{
    char buffer[STDERR_LINE_READ];
    const void *rule;
    bool indented;
    struct slice text, s = strip_stderr_line(line, buffer, &indented);
    if (s.n == 0) {
        if (r->mode == IN_FRAMES)
            r->mode = ANY_LINE;
        return;
    }
    enum stderr_says says = stderr_rule_classify(s, &text, &rule);
    if (handle_continuation_line(r, text, says, indented))
        return;
    if (says == STDERR_FRAMES)
        r->mode = IN_FRAMES;
    else if (says == STDERR_TRACEBACK)
        r->mode = IN_TRACEBACK;
    else if (says == STDERR_CODE)
        set_error_code_of_reason(r, text);
    else if (says == STDERR_CAUSE && line_states_reason(r->says))
        set_reason_cause(r, text);
    else if (is_better_reason(r, says, rule))
        set_reason_line(r, text, says, rule);
    else if (says == STDERR_OTHER || says == STDERR_MAYBE)
        r->since++;
}

/* ---- the interface -------------------------------------------------------------------------- */

/* Removes the older half of the lines. */
static void forget_old_lines(struct buf *b)
{
    const char *half = b->p + b->n / 2;
    const char *end = memchr(half, '\n', (size_t)(b->p + b->n - half));
    size_t rest = end != NULL ? (size_t)(b->p + b->n - end - 1) : 0;
    memmove(b->p, b->p + b->n - rest, rest);
    b->n = rest;
}

void stderr_reason_read_line(struct stderr_reason *r, struct slice line)
{
    line.n = size_min(line.n, STDERR_LINE_READ);
    r->indented = line.n > 0 && is_blank(line.p[0]) ? r->indented + 1 : 0;
    if (r->indented > STDERR_INDENTED_MAX)
        return;
    if (r->lines.n + line.n + 1 > STDERR_REASON_KEPT)
        forget_old_lines(&r->lines);
    if (!buf_reserve(&r->lines, line.n + 1)) {
        r->lines.failed = false; /* this line is lost; later lines may be added successfully */
        return;
    }
    buf_slice_add(&r->lines, line);
    buf_addc(&r->lines, '\n');
}

void stderr_reason_clear(struct stderr_reason *r)
{
    buf_clear(&r->lines);
    r->indented = 0;
}

void stderr_reason_close(struct stderr_reason *r)
{
    buf_close(&r->lines);
}

static void append_reason_text(const struct text *t, struct buf *b)
{
    text_append_visible(b, slice_of_reason_text(t));
    buf_adds(b, t->cut ? "…" : "");
}

static bool append_reason_and_cause(const struct reading *r, struct buf *b)
{
    struct slice reason = slice_of_reason_text(&r->reason), cause = slice_of_reason_text(&r->cause);
    struct slice code = slice_of(r->code);
    append_reason_text(&r->reason, b);
    if (code.n > 0 && !slice_contains(reason, code) && !slice_contains(cause, code))
        buf_printf(b, " (%s)", r->code);
    if (cause.n > 0 && !slice_contains(reason, cause)) {
        buf_adds(b, "; caused by: ");
        append_reason_text(&r->cause, b);
    }
    return reason.n > 0 && (line_states_reason(r->says) || r->says == STDERR_MAYBE);
}

static void read_buffered_lines(struct reading *reading, const struct stderr_reason *r)
{
    struct slice rest = buf_slice(&r->lines);
    *reading = (struct reading){0};
    while (rest.n > 0)
        process_stderr_line(reading, slice_take_line(&rest));
}

bool stderr_reason_append(const struct stderr_reason *r, struct buf *b)
{
    struct reading reading;
    read_buffered_lines(&reading, r);
    return append_reason_and_cause(&reading, b);
}

bool stderr_reason_will_recur(const struct stderr_reason *r)
{
    struct reading reading;
    read_buffered_lines(&reading, r);
    return stderr_rule_error_will_recur(reading.rule);
}
