/* messages.c - batches of messages and events of one session. */
#include "ship/postgres/sender.h"

#include "base/grow.h"
#include "base/log.h"

#include <stdlib.h>

/* number of arrays: the columns of a message, and its words */
#define MESSAGE_ARRAYS (MESSAGE_COLUMNS + 1)
#define LARGE_MAX 16 /* maximum number of large bodies in a batch */

/* clang-format off */
#define ROW_ARRAY(name, type, n, s, e, c, store, ...)                                              \
    FIELD_IF(FIELD_FIRST_##store)(ARRAY_OF_##type,)
#define ROW_ARRAY_LAST(name, type, n, s, e, c, store, ...)                                         \
    FIELD_IF(FIELD_LAST_##store)(ARRAY_OF_##type,)
static const enum array_type message_types[MESSAGE_COLUMNS] = {
    ARRAY_INT,   MESSAGE_FIELDS(ROW_ARRAY) ARRAY_BYTES,
    ARRAY_BYTES, MESSAGE_FIELDS(ROW_ARRAY_LAST)
};
static const enum array_type event_types[EVENT_COLUMNS] = {
    ARRAY_INT, EVENT_FIELDS(ROW_ARRAY) ARRAY_INT, ARRAY_BYTES, ARRAY_BYTES,
};
/* clang-format on */

/* Returns the array of a column. The columns that stores of the first version lack come after the
 * array of words, so the index of their arrays is higher by 1. */
static struct array *find_array_of_column(struct sender *s, int column)
{
    return &s->array[column < SENDER_WORDS ? column : column + 1];
}

/* A large body, which is sent in pieces before its message. */
struct large {
    int64_t seq, offset, length;
    struct digest commitment;
};

struct batch {
    struct sender *s;
    const struct shipped_session *x;
    struct large *large; /* owned */
    size_t n, cap;
};

static struct digest get_message_commitment(const struct cell *cell)
{
    struct digest d = {{0}};
    const struct cell *c = &cell[MESSAGE_COMMITMENT];
    if (c->type == CELL_BLOB && c->text.n == DIGEST_N)
        memcpy(d.b, c->text.p, DIGEST_N);
    return d;
}

/* Whether a large body can be read. If not, the message is sent without its body, because otherwise
 * all later messages would wait. */
static int large_body_is_readable(const struct batch *b, const struct cell *cell, bool *ret)
{
    int st = unsent_has_body(b->s->from, b->x->uid, cell[MESSAGE_OFFSET].number,
                             cell[MESSAGE_LENGTH].number, ret);
    if (st == 0 && !*ret)
        log_warn("session %s: message %lld is sent without its body, which is missing in the vault",
                 b->x->uid, (long long)cell[MESSAGE_SEQ].number);
    return st;
}

static int sender_on_message_row(void *ctx, const struct cell *cell)
{
    static const struct cell none = {.type = CELL_NULL};
    struct batch *b = ctx;
    struct sender *s = b->s;
    bool minimal = s->minimal, large = cell[MESSAGE_LENGTH].type == CELL_INT && !minimal;
    int st = large ? large_body_is_readable(b, cell, &large) : 0;
    for (int i = 0; i < MESSAGE_COLUMNS; i++) {
        bool in_file = i == MESSAGE_LENGTH || i == MESSAGE_OFFSET;
        bool left_out = (i == MESSAGE_BODY && minimal) || (in_file && !large);
        array_add_cell(find_array_of_column(s, i), left_out ? &none : &cell[i]);
    }
    if (st == 0)
        st = sender_add_message_words(s, b->x, cell, large);
    if (st < 0)
        return st;
    if (large && !GROW(b->large, b->n, b->cap))
        return MI_ENOMEM;
    if (large)
        b->large[b->n++] =
            (struct large){cell[MESSAGE_SEQ].number, cell[MESSAGE_OFFSET].number,
                           cell[MESSAGE_LENGTH].number, get_message_commitment(cell)};
    return b->n >= LARGE_MAX || s->array[SENDER_WORDS].b.n > UNSENT_BYTES;
}

/* ---- large bodies ---- */

/* Called with the message's row, which is read again after the body was sent. Sets l->seq to 0 if
 * the message still has the same body: the caller tests this. */
static int messages_compare_current_row(void *ctx, const struct cell *cell)
{
    struct large *l = ctx;
    struct digest d = get_message_commitment(cell);
    if (cell[MESSAGE_OFFSET].number == l->offset && cell[MESSAGE_LENGTH].number == l->length &&
        digest_eq(&d, &l->commitment))
        l->seq = 0;
    return 0;
}

static int fail_because_body_changed(struct sender *s, int64_t seq)
{
    (void)sender_set_refusal_reason(s, "the body of message %lld was changed while it was sent",
                                    (long long)seq);
    return TARGET_AGAIN;
}

static int messages_send_body(struct sender *s, const struct shipped_session *x,
                              const struct large *l)
{
    int st = 0;
    for (int64_t at = 0; st == 0 && at < l->length; at += (int64_t)SENDER_PIECE) {
        buf_clear(&s->piece);
        st = unsent_read_body_bytes(s->from, x->uid, l->offset + at,
                                    size_min(SENDER_PIECE, (size_t)(l->length - at)), &s->piece);
        if (st == MI_ENOENT) /* the session is being removed */
            return fail_because_body_changed(s, l->seq);
        if (st < 0)
            return st;
        sender_begin_call(s);
        link_add_text_argument(s->to, x->uid);
        link_add_int_argument(s->to, l->seq);
        link_add_int_argument(s->to, at);
        link_add_bytes_argument(s->to, buf_slice(&s->piece));
        st = sender_call_sql_function(s, "put_piece");
    }
    if (st != 0)
        return st;
    /* Check that the body was not redacted while it was sent: a redaction moves the body, and
     * overwrites the old bytes with zeros. */
    struct large copy = *l;
    int64_t n;
    st = sender_read_unsent_rows(s, UNSENT_MESSAGES, x->id, l->seq, l->seq,
                                 messages_compare_current_row, &copy, &n);
    return st == 0 && copy.seq != 0 ? fail_because_body_changed(s, l->seq) : st;
}

/* ---- batches ---- */

static int sender_store_messages(struct sender *s, const struct shipped_session *x, size_t columns,
                                 const char *function, int64_t *watermark)
{
    sender_begin_call(s);
    link_add_text_argument(s->to, x->uid);
    sender_add_array_arguments(s, columns);
    int st = sender_call_sql_function(s, function);
    if (st == 0)
        *watermark = link_get_int(s->to, 0, 0);
    return st;
}

static int messages_send_batch(struct sender *s, struct shipped_session *x, int64_t from,
                               int64_t to, int64_t *ret_n, int64_t *ret_last)
{
    struct batch b = {.s = s, .x = x};
    for (int i = 0; i < MESSAGE_COLUMNS; i++)
        array_begin(find_array_of_column(s, i), message_types[i]);
    array_begin(&s->array[SENDER_WORDS], ARRAY_WORDS);
    int st = sender_read_unsent_rows(s, UNSENT_MESSAGES, x->id, from, to, sender_on_message_row, &b,
                                     ret_n);
    for (size_t i = 0; st == 0 && i < b.n; i++)
        st = messages_send_body(s, x, &b.large[i]);
    if (st == 0 && *ret_n > 0)
        st = sender_store_messages(s, x, MESSAGE_ARRAYS, "put_messages", ret_last);
    free(b.large);
    s->sent += *ret_n;
    return st;
}

int sender_send_message_again(struct sender *s, struct shipped_session *x, int64_t seq)
{
    int64_t n = 0, last;
    return seq <= x->seq ? messages_send_batch(s, x, seq, seq, &n, &last) : 0;
}

int sender_send_messages(struct sender *s, struct shipped_session *x)
{
    int64_t n = 1;
    int st = 0;
    while (st == 0 && n > 0) {
        int64_t before = x->seq;
        st = messages_send_batch(s, x, before + 1, INT64_MAX, &n, &x->seq);
        if (st == 0 && n > 0 && x->seq <= before)
            st = sender_set_refusal_reason(
                s, "the store did not confirm the messages of session %s", x->uid);
    }
    return st;
}

/* ---- events ---- */

struct event_batch {
    struct sender *s;
    int64_t *seq; /* owned; seqs of messages that got a finding */
    size_t n, cap;
    int64_t last;
};

static int sender_messages_on_event(void *ctx, const struct cell *cell)
{
    struct event_batch *b = ctx;
    for (int i = 0; i < EVENT_COLUMNS; i++)
        array_add_cell(&b->s->array[i], &cell[i]);
    b->last = cell[EVENT_ID].number;
    int64_t seq;
    int st = unsent_find_seq_of_finding(b->s->from, cell, &seq);
    if (st < 0 || seq <= 0)
        return st;
    if (!GROW(b->seq, b->n, b->cap))
        return MI_ENOMEM;
    b->seq[b->n++] = seq;
    return 0;
}

/* Sends events. If an event added a finding to a message, the message is sent again before the
 * events. Messages and events use the same arrays, so the events are read twice. */
static int events_send_batch(struct sender *s, struct shipped_session *x, int64_t from, int64_t to,
                             int64_t *ret_n, int64_t *ret_last)
{
    struct event_batch b = {.s = s};
    sender_begin_arrays(s, event_types, EVENT_COLUMNS);
    int st = sender_read_unsent_rows(s, UNSENT_EVENTS, x->id, from, to, sender_messages_on_event,
                                     &b, ret_n);
    for (size_t i = 0; st == 0 && i < b.n; i++)
        st = sender_send_message_again(s, x, b.seq[i]);
    if (st == 0 && b.n > 0) {
        b.n = 0;
        sender_begin_arrays(s, event_types, EVENT_COLUMNS);
        st = sender_read_unsent_rows(s, UNSENT_EVENTS, x->id, from, b.last,
                                     sender_messages_on_event, &b, ret_n);
    }
    if (st == 0 && *ret_n > 0) {
        int64_t watermark = 0;
        st = sender_store_messages(s, x, EVENT_COLUMNS, "put_events", &watermark);
        if (st == 0 && watermark < b.last)
            st = sender_set_refusal_reason(s, "the store did not confirm the events of session %s",
                                           x->uid);
        *ret_last = b.last;
    }
    free(b.seq);
    s->sent += *ret_n;
    return st;
}

int sender_send_events(struct sender *s, struct shipped_session *x, int64_t from, int64_t to)
{
    int64_t n = 1;
    int st = 0;
    while (st == 0 && n > 0 && from <= to) {
        int64_t last = 0;
        st = events_send_batch(s, x, from, to, &n, &last);
        from = last + 1;
        if (st == 0 && n > 0 && last > x->event)
            x->event = last;
    }
    return st;
}
