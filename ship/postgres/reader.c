#include "ship/postgres/reader.h"

#include "journal/uid.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECE (INT64_C(16) << 20) /* number of bytes of a body that one call reads */
#define UNASKED "the store sent rows that were not requested"

struct reader {
    struct link *link;          /* owned */
    bool (*asked_before)(void); /* callback before each request; may be NULL */
    struct buf host, user; /* owned; regular expressions that select sessions; empty: any session */
    /* owned; arguments of an SQL function, each with a NUL */
    struct buf first, before, name, vault, session;
    struct array sessions; /* owned; ids of sessions, as an argument of an SQL function */
    struct buf error;      /* owned; the last error; empty: use the error of the link */
};

/* Appends the regular expression of PostgreSQL for a name or a glob. */
static void add_glob_as_regex(struct buf *b, const char *glob)
{
    buf_addc(b, '^');
    for (; *glob != '\0'; glob++) {
        if (*glob == '*')
            buf_adds(b, ".*");
        else if (*glob == '?')
            buf_addc(b, '.');
        else if (*glob == '!' && b->n > 0 && b->p[b->n - 1] == '[')
            buf_addc(b, '^'); /* [!…] of a glob is [^…] in a regular expression */
        else if (strchr("[]-", *glob) != NULL)
            /* a class of characters is the same in a glob and in a regular expression */
            buf_addc(b, *glob);
        else if (strchr("\\^$.|()+{}", *glob) != NULL)
            buf_printf(b, "\\%c", *glob);
        else
            buf_addc(b, *glob);
    }
    buf_addc(b, '$');
}

/* ---- calls ---- */

static int reader_convert_to_store_error(int st)
{
    return st == 0 || st == MI_ENOMEM ? st : MI_ESTORE;
}

static int reader_fail(struct reader *r, const char *why)
{
    buf_clear(&r->error);
    buf_adds(&r->error, why);
    return MI_ESTORE;
}

/* Adds a text argument. Copies the text to `b`, because the link borrows its arguments. */
static void reader_add_text_argument(struct reader *r, struct buf *b, struct slice text)
{
    buf_clear(b);
    buf_slice_add(b, text);
    link_add_text_argument(r->link, text.p != NULL ? buf_str(b) : NULL);
}

static void reader_add_bool(struct reader *r, bool v)
{
    link_add_text_argument(r->link, v ? "t" : "f");
}

static void reader_add_session(struct reader *r, struct slice vault, struct slice session)
{
    reader_add_text_argument(r, &r->vault, vault);
    reader_add_text_argument(r, &r->session, session);
}

static void reader_add_sessions(struct reader *r, const struct remote_ask *ask)
{
    array_begin(&r->sessions, ARRAY_TEXT);
    array_add(&r->sessions, ask->session);
    for (size_t i = 0; i < ask->more_n; i++)
        array_add(&r->sessions, ask->more[i]);
    link_add_array_argument(r->link, &r->sessions);
}

static void reader_add_range_arguments(struct reader *r, const struct remote_ask *ask)
{
    reader_add_session(r, ask->vault, ask->session);
    link_add_int_argument(r->link, ask->from);
    link_add_int_argument(r->link, ask->to);
    reader_add_bool(r, ask->backwards);
}

static void reader_add_filter(struct reader *r)
{
    link_add_text_argument(r->link, r->host.n > 0 ? buf_str(&r->host) : NULL);
    link_add_text_argument(r->link, r->user.n > 0 ? buf_str(&r->user) : NULL);
}

/* Sets the arguments of the request. Returns the name of the SQL function. */
static const char *add_request_arguments(struct reader *r, const struct remote_ask *ask)
{
    link_begin_call(r->link);
    switch (ask->table) {
    case REMOTE_SESSIONS:
        reader_add_filter(r);
        reader_add_text_argument(r, &r->name, ask->name);
        if (ask->number != 0)
            link_add_int_argument(r->link, ask->number);
        else
            link_add_text_argument(r->link, NULL);
        reader_add_text_argument(r, &r->first, ask->first);
        reader_add_text_argument(r, &r->before, ask->before);
        reader_add_bool(r, ask->backwards);
        link_add_int_argument(r->link, ask->rows);
        return "read_sessions_2";
    case REMOTE_MESSAGES:
        reader_add_range_arguments(r, ask);
        reader_add_bool(r, ask->bodies);
        link_add_int_argument(r->link, ask->rows);
        link_add_int_argument(r->link, REMOTE_BYTES);
        return "read_messages_2";
    case REMOTE_EVENTS:
        reader_add_range_arguments(r, ask);
        link_add_int_argument(r->link, ask->rows);
        return "read_events";
    case REMOTE_SUMMARIES:
        reader_add_sessions(r, ask);
        return "read_summaries";
    case REMOTE_CALLS:
        reader_add_sessions(r, ask);
        link_add_int_argument(r->link, ask->from);
        link_add_int_argument(r->link, ask->to);
        reader_add_bool(r, ask->backwards);
        link_add_int_argument(r->link, ask->rows);
        return "read_calls";
    default:
        reader_add_text_argument(r, &r->first, ask->first);
        return "read_seals";
    }
}

static int reader_select_rows(struct reader *r, const char *function, const char *more)
{
    if (r->asked_before != NULL && r->asked_before())
        return reader_fail(r, "reading was stopped before the store had answered");
    int st = link_connect(r->link);
    return st == 0 ? link_select_from_function(r->link, function, more) : st;
}

/* Calls an SQL function whose rows have this number of columns. If the connection has ended,
 * connects and calls again once. */
static int reader_call_function(struct reader *r, const char *function, const char *more,
                                size_t columns)
{
    buf_clear(&r->error);
    int st = reader_select_rows(r, function, more);
    if (st == TARGET_LOST && link_has_ended(r->link))
        st = reader_select_rows(r, function, more);
    if (st == 0 && (size_t)link_count_columns(r->link) != columns)
        return reader_fail(
            r, "the store has functions of another version; run `mcp-interposer ship init` "
               "on it");
    return reader_convert_to_store_error(st);
}

/* ---- rows ---- */

/* Whether a uid was requested, and follows the uid of the previous row ({NULL, 0}: there is no
 * previous row). */
static bool uid_is_requested_and_in_order(const struct remote_ask *ask, struct slice uid,
                                          struct slice before)
{
    bool asked = uid.n == UID_LEN && (ask->first.p == NULL || slice_cmp(uid, ask->first) >= 0) &&
                 (ask->before.p == NULL || slice_cmp(uid, ask->before) < 0);
    int order = before.p != NULL ? slice_cmp(uid, before) : 0;
    return asked && (before.p == NULL || (ask->backwards ? order < 0 : order > 0));
}

/* Whether the seq of a message, the id of an event or the number of a leaf was requested, and
 * follows that of the previous row (NULL: there is no previous row). */
static bool row_key_is_expected(const struct remote_ask *ask, int64_t key, const int64_t *before)
{
    bool asked = ask->table == REMOTE_LEAVES || (key >= ask->from && key <= ask->to);
    return asked && (before == NULL || (ask->backwards ? key < *before : key > *before));
}

/* Whether a row of a call was requested, and is in order after the previous row. Column 0 of a row
 * is the index of the session, column 1 is seq. */
static bool call_row_is_expected(struct reader *r, const struct remote_ask *ask, int row)
{
    int64_t place = link_get_int(r->link, row, 0), seq = link_get_int(r->link, row, 1);
    int64_t last = row > 0 ? link_get_int(r->link, row - 1, 0) : 0, before = 0;
    if (place < last || place > (int64_t)ask->more_n)
        return false;
    if (row > 0 && place == last) {
        before = link_get_int(r->link, row - 1, 1);
        if (ask->backwards ? seq >= before : seq <= before)
            return false;
    }
    return seq > 0 && (place > 0 || (seq >= ask->from && seq <= ask->to));
}

/* Whether row number `row` of the result was requested. A wrong row must be rejected here: SQLite
 * does not check rows, and the next page begins after the last row. */
static bool reader_row_is_wanted(struct reader *r, const struct remote_ask *ask, int row)
{
    if (row >= ask->rows)
        return false;
    if (ask->table == REMOTE_CALLS)
        return call_row_is_expected(r, ask, row);
    if (ask->table == REMOTE_SUMMARIES) {
        int64_t place = link_get_int(r->link, row, 0),
                before = row > 0 ? link_get_int(r->link, row - 1, 0) : -1;
        return place > before && place <= (int64_t)ask->more_n;
    }
    if (ask->table == REMOTE_SESSIONS) {
        struct slice before = {0};
        if (row > 0)
            before = link_get_slice(r->link, row - 1, REMOTE_SESSION_UID);
        return uid_is_requested_and_in_order(ask, link_get_slice(r->link, row, REMOTE_SESSION_UID),
                                             before);
    }
    int64_t before = row > 0 ? link_get_int(r->link, row - 1, 0) : 0;
    return row_key_is_expected(ask, link_get_int(r->link, row, 0), row > 0 ? &before : NULL);
}

/* Returns how many columns of a row precede the columns that remote_shape lists. */
static int count_leading_columns(enum remote_table table)
{
    return table == REMOTE_CALLS || table == REMOTE_SUMMARIES ? 1 : 0;
}

static int reader_deliver_row(struct reader *r, const struct remote_ask *ask, int row,
                              remote_row_fn fn, void *fn_ctx)
{
    const char *type = remote_shape[ask->table].cells;
    struct cell cell[REMOTE_CELLS_MAX];
    int more = count_leading_columns(ask->table);
    if (!reader_row_is_wanted(r, ask, row))
        return reader_fail(r, UNASKED);
    for (int i = 0; i < more || type[i - more] != '\0'; i++) {
        struct slice v = link_get_slice(r->link, row, i);
        cell[i] = (struct cell){.type = CELL_NULL};
        if (v.p != NULL && (i < more || type[i - more] == 'i'))
            cell[i] = (struct cell){.type = CELL_INT, .number = link_get_int(r->link, row, i)};
        else if (v.p != NULL)
            cell[i] = (struct cell){.type = CELL_TEXT, .text = v};
    }
    return fn(fn_ctx, cell);
}

static int read_rows(void *ctx, const struct remote_ask *ask, remote_row_fn fn, void *fn_ctx)
{
    static const char *const key[REMOTE_TABLES] = {"uid COLLATE \"C\"", "seq",  "id", "n",
                                                   "place, seq",        "place"};
    struct reader *r = ctx;
    char more[96];
    const char *function = add_request_arguments(r, ask);
    snprintf(more, sizeof more, " ORDER BY %s%s LIMIT %lld", key[ask->table],
             ask->backwards ? " DESC" : "", (long long)ask->rows);
    int st = reader_call_function(r, function, more,
                                  strlen(remote_shape[ask->table].cells) +
                                      (size_t)count_leading_columns(ask->table));
    for (int i = 0; st == 0 && i < link_count_rows(r->link); i++)
        st = reader_deliver_row(r, ask, i, fn, fn_ctx);
    return st;
}

static int reader_has_several_vaults(void *ctx, bool *ret)
{
    struct reader *r = ctx;
    link_begin_call(r->link);
    reader_add_filter(r);
    link_add_int_argument(r->link, 2);
    int st = reader_call_function(r, "read_vaults", "", 1);
    *ret = st == 0 && link_count_rows(r->link) > 1;
    return st;
}

/* ---- the search ---- */

/* The position of a message in the results of a search. */
struct place {
    struct slice uid;
    int64_t seq;
};

static bool message_sorts_before(struct place a, struct place b)
{
    int order = slice_cmp(a.uid, b.uid);
    return order < 0 || (order == 0 && a.seq < b.seq);
}

static int reader_search_messages(void *ctx, const struct remote_words *ask, remote_row_fn fn,
                                  void *fn_ctx)
{
    struct reader *r = ctx;
    struct place last = {ask->last, ask->before};
    link_begin_call(r->link);
    reader_add_text_argument(r, &r->first, ask->first);
    reader_add_text_argument(r, &r->before, ask->last);
    link_add_int_argument(r->link, ask->before);
    link_add_text_argument(r->link, ask->match);
    link_add_int_argument(r->link, ask->rows);
    int st = reader_call_function(r, "read_search",
                                  " ORDER BY session_uid COLLATE \"C\" DESC, seq DESC LIMIT $5", 2);
    for (int i = 0; st == 0 && i < link_count_rows(r->link); i++) {
        struct place at = {link_get_slice(r->link, i, 0), link_get_int(r->link, i, 1)};
        if (at.uid.n != UID_LEN || !message_sorts_before(at, last) ||
            slice_cmp(at.uid, ask->first) < 0 || i >= ask->rows)
            return reader_fail(r, UNASKED);
        const struct cell cell[] = {{.type = CELL_TEXT, .text = at.uid},
                                    {.type = CELL_INT, .number = at.seq}};
        st = fn(fn_ctx, cell);
        last = at;
    }
    return st;
}

/* ---- bodies ---- */

/* Reads at most n bytes of a body, beginning at offset `at`. */
static int read_body_range(struct reader *r, size_t at, size_t n, struct buf *ret)
{
    link_add_int_argument(r->link, (int64_t)at);
    link_add_int_argument(r->link, (int64_t)n);
    int st = reader_call_function(r, "read_body", "", 1);
    if (st < 0)
        return st;
    if (link_get_slice(r->link, 0, 0).p == NULL)
        return reader_fail(r, "the store does not have this body");
    st = link_get_bytes(r->link, 0, 0, n, ret);
    return st == MI_EINVAL ? reader_fail(r, "the store sent another body than the requested one")
                           : st;
}

static int read_body(void *ctx, struct slice vault, struct slice session, int64_t seq, size_t max,
                     struct buf *ret)
{
    struct reader *r = ctx;
    size_t begin = ret->n, got = 1;
    int st = 0;
    while (st == 0 && got > 0 && ret->n - begin < max) {
        size_t at = ret->n - begin, n = size_min(max - at, (size_t)PIECE);
        link_begin_call(r->link);
        reader_add_session(r, vault, session);
        link_add_int_argument(r->link, seq);
        st = read_body_range(r, at, n, ret);
        /* if the store sends fewer bytes than requested, the piece is the last one */
        got = ret->n - begin - at < n ? 0 : n;
    }
    return st;
}

/* ---- opening ---- */

const char *reader_get_error_text(struct reader *r)
{
    return r->error.n > 0 && !r->error.failed ? buf_str(&r->error) : link_error_text(r->link);
}

static const char *reader_get_error_by_context(void *ctx)
{
    return reader_get_error_text(ctx);
}

int reader_open(struct reader **ret, const char *url, const char *host, const char *user,
                bool (*before)(void), bool (*during)(void))
{
    struct reader *r = calloc(1, sizeof *r);
    *ret = NULL;
    if (r == NULL)
        return MI_ENOMEM;
    if (host != NULL)
        add_glob_as_regex(&r->host, host);
    if (user != NULL)
        add_glob_as_regex(&r->user, user);
    if (r->host.failed || r->user.failed || link_allocate(&r->link, url, during) < 0) {
        reader_close(r);
        return MI_ENOMEM;
    }
    *ret = r;
    r->asked_before = before;
    link_allow_only_reads(r->link);
    link_set_denied_hint(r->link,
                         "; this role needs the right to read, which an administrator of the "
                         "store gives: GRANT mcp_interposer_reader, or "
                         "mcp_interposer.add_reader()");
    return reader_convert_to_store_error(link_connect(r->link));
}

void reader_close(struct reader *r)
{
    if (r == NULL)
        return;
    link_free(r->link);
    struct buf *b[] = {&r->host, &r->user,  &r->first,   &r->before,
                       &r->name, &r->vault, &r->session, &r->error};
    for (size_t i = 0; i < MI_COUNT(b); i++)
        buf_close(b[i]);
    array_close(&r->sessions);
    free(r);
}

static void close_reader(void *ctx)
{
    reader_close(ctx);
}

struct remote_store reader_make_remote_store(struct reader *r)
{
    return (struct remote_store){.ctx = r,
                                 .read = read_rows,
                                 .body = read_body,
                                 .several = reader_has_several_vaults,
                                 .search = reader_search_messages,
                                 .error = reader_get_error_by_context,
                                 .close = close_reader};
}
