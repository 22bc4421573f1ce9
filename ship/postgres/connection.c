/* connection.c - the connection; only this file and hosts.c use libpq. */
#include "ship/postgres/connection.h"

#include "base/chars.h"
#include "base/clock.h"
#include "base/log.h"
#include "ship/postgres/address.h"
#include "ship/postgres/hosts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* Maximum number of attempts for statements that end in a deadlock. PostgreSQL detects a deadlock
 * after one second. */
#define RUN_TRIES 20
#define SLICE_MS 200 /* maximum time between two calls of `stop` while a function waits */

struct link {
    char *url;   /* owned */
    PGconn *c;   /* owned; the connection; NULL: not connected */
    PGresult *r; /* owned; result of the last SQL function, or of the last statement */
    bool (*stop)(void);
    bool only_reads;
    /* `ended`: the last failure was the end of the connection; `deadlocked`: it was a deadlock */
    bool ended, deadlocked;
    const char *if_denied; /* borrowed; the text of link_set_denied_hint(); may be NULL */
    int64_t until_us;
    struct buf error; /* owned */
    int n;
    Oid type[LINK_ARGUMENTS];
    const char *value[LINK_ARGUMENTS];
    int length[LINK_ARGUMENTS], form[LINK_ARGUMENTS];
    char number[LINK_ARGUMENTS][24];
    bool bad; /* an argument could not be built */
};

/* ---- waiting ---- */

static int link_set_error(struct link *l, int status, const char *text)
{
    l->ended = status == TARGET_LOST;
    l->deadlocked = false;
    if (text == NULL || text[0] == '\0')
        text = "the connection has ended";
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    buf_clear(&l->error);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\t') /* libpq begins lines of explanation with a tab */
            buf_adds(&l->error, "- ");
        else
            buf_addc(&l->error, text[i] == '\n' ? ' ' : text[i]);
    return status;
}

const char *link_error_text(struct link *l)
{
    return l->error.n > 0 && !l->error.failed ? buf_str(&l->error) : "out of memory";
}

/* Waits until the socket is ready. TARGET_LOST: the socket was not ready at until_us. */
static int link_wait_socket(struct link *l, short events, int64_t until_us)
{
    for (;;) {
        int64_t now = clock_mono_us();
        if ((l->stop != NULL && l->stop()) || (l->until_us != 0 && now >= l->until_us))
            return TARGET_STOPPED;
        if (now >= until_us) {
            char text[300];
            const char *host = PQhost(l->c);
            snprintf(text, sizeof text, "no answer from the server%s%s", host != NULL ? " at " : "",
                     host != NULL ? host : "");
            int st = link_set_error(l, TARGET_LOST, text);
            l->ended = false;
            return st;
        }
        struct pollfd p = {PQsocket(l->c), events, 0};
        int n = poll(&p, 1, SLICE_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return link_set_error(l, TARGET_LOST, strerror(errno));
    }
}

/* Logs notices, which libpq would print unchanged. */
static void link_log_notice(void *ctx, const char *text)
{
    static const char warning[] = "WARNING:  ";
    (void)ctx;
    if (strncmp(text, warning, sizeof warning - 1) == 0)
        log_warn("the server says: %s", text + sizeof warning - 1);
    else
        log_info("the server says: %s", text);
}

/* Waits until l->c is connected, or has failed. */
static int link_connect_to_host(struct link *l, int64_t timeout_us)
{
    int64_t until_us = clock_mono_us() + timeout_us;
    PostgresPollingStatusType poll_for =
        PQstatus(l->c) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
    int st = 0;
    (void)PQsetNoticeProcessor(l->c, link_log_notice, NULL);
    while (st == 0 && poll_for != PGRES_POLLING_OK && poll_for != PGRES_POLLING_FAILED) {
        st = link_wait_socket(l, poll_for == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_us);
        if (st == 0)
            poll_for = PQconnectPoll(l->c);
    }
    if (st == 0 && poll_for == PGRES_POLLING_FAILED) {
        /* The error consists of PQerrorMessage() and a hint. */
        (void)link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
        if (PQconnectionNeedsPassword(l->c))
            buf_adds(&l->error, ": put the password into ~/.pgpass or a service file");
        st = TARGET_LOST;
    }
    if (st == 0 && PQsetnonblocking(l->c, 1) != 0)
        st = link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
    return st;
}

/* Tries one address after the other until an address is connected. If all fail, their errors are
 * joined. */
static int link_connect_to_any_host(struct link *l, const struct hosts *h)
{
    struct buf errors = {0};
    int st = TARGET_LOST;
    for (int i = 0; i < h->n && st == TARGET_LOST; i++) {
        PQfinish(l->c);
        l->c = hosts_start_connecting(h, i);
        st = l->c != NULL ? link_connect_to_host(l, h->timeout_us) : MI_ENOMEM;
        if (st == TARGET_LOST)
            buf_printf(&errors, "%s%s", i > 0 ? "; " : "", link_error_text(l));
    }
    if (st == TARGET_LOST && !errors.failed)
        (void)link_set_error(l, st, buf_str(&errors));
    buf_close(&errors);
    return st;
}

int link_connect(struct link *l)
{
    const char *names[ADDRESS_DEFAULTS + 4] = {NULL}, *values[ADDRESS_DEFAULTS + 4] = {NULL};
    /* Options that follow dbname override those of the URL. */
    const char *const more[][2] = {{"application_name", "mcp-interposer-ship"},
                                   {"dbname", l->url},
                                   {"client_encoding", "UTF8"}};
    struct hosts hosts;
    if (l->c != NULL)
        return 0;
    for (size_t i = 0; i < ADDRESS_DEFAULTS + MI_COUNT(more); i++) {
        const char *const *o =
            i < ADDRESS_DEFAULTS ? address_defaults[i] : more[i - ADDRESS_DEFAULTS];
        names[i] = o[0];
        values[i] = l->only_reads && strcmp(o[0], "target_session_attrs") == 0 ? "any" : o[1];
    }
    l->c = PQconnectStartParams(names, values, 1);
    if (l->c == NULL)
        return MI_ENOMEM;
    int st = hosts_open(&hosts, l->c);
    if (st == 0)
        st = hosts.n == 1 ? link_connect_to_host(l, hosts.timeout_us)
                          : link_connect_to_any_host(l, &hosts);
    hosts_close(&hosts);
    if (st < 0)
        link_disconnect(l);
    return st;
}

bool link_has_lost_connection(struct link *l)
{
    struct pollfd p = {l->c != NULL ? PQsocket(l->c) : -1, POLLIN, 0};
    while (p.fd >= 0 && poll(&p, 1, 0) > 0)
        if (PQconsumeInput(l->c) == 0)
            break;
    return l->c != NULL && PQstatus(l->c) != CONNECTION_OK;
}

bool link_has_ended(const struct link *l)
{
    return l->ended;
}

void link_disconnect(struct link *l)
{
    PQclear(l->r);
    l->r = NULL;
    PQfinish(l->c);
    l->c = NULL;
}

int link_allocate(struct link **ret, const char *url, bool (*stop)(void))
{
    struct link *l = calloc(1, sizeof *l);
    if (l != NULL)
        l->url = strdup(url);
    if (l == NULL || l->url == NULL) {
        free(l);
        return MI_ENOMEM;
    }
    l->stop = stop;
    *ret = l;
    return 0;
}

void link_free(struct link *l)
{
    if (l == NULL)
        return;
    link_disconnect(l);
    buf_close(&l->error);
    free(l->url);
    free(l);
}

void link_set_denied_hint(struct link *l, const char *what_to_do)
{
    l->if_denied = what_to_do;
}

void link_allow_only_reads(struct link *l)
{
    l->only_reads = true;
}

void link_set_deadline(struct link *l, int64_t mono_us)
{
    l->until_us = mono_us;
}

/* ---- calls ---- */

/* Converts an error of the server to a status. */
static int convert_sqlstate_to_status(const char *state)
{
    static const struct {
        const char *state; /* SQLSTATE of an error, or its first characters */
        int status;
    } table[] = {
        {"MI002", TARGET_AGAIN},
        {"MI004", TARGET_AGAIN},
        {"MI003", TARGET_DIFFERS},
        /* codes of the errors: no such function, no permission */
        {"MI", TARGET_REFUSED},
        {"42", TARGET_REFUSED},
        {"3F", TARGET_REFUSED},
        {"22", TARGET_REFUSED},
        {"23", TARGET_REFUSED},
        {"P0", TARGET_REFUSED},
    };
    for (size_t i = 0; state != NULL && i < MI_COUNT(table); i++)
        if (strncmp(state, table[i].state, strlen(table[i].state)) == 0)
            return table[i].status;
    return TARGET_LOST;
}

static int link_result_status(struct link *l)
{
    ExecStatusType s = PQresultStatus(l->r);
    if (s == PGRES_TUPLES_OK || s == PGRES_COMMAND_OK)
        return 0;
    const char *state = PQresultErrorField(l->r, PG_DIAG_SQLSTATE);
    const char *text = PQresultErrorField(l->r, PG_DIAG_MESSAGE_PRIMARY);
    int st = convert_sqlstate_to_status(state);
    link_set_error(l, st, text != NULL ? text : PQresultErrorMessage(l->r));
    /* The connection has ended if the server stops (57P01) or a router has lost a shard (08006).
     * Other errors would occur again. */
    l->ended &= state == NULL || strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0;
    l->deadlocked = state != NULL && strcmp(state, "40P01") == 0;
    bool no_schema = state != NULL && (strcmp(state, "3F000") == 0 || strcmp(state, "42883") == 0 ||
                                       strcmp(state, "42P01") == 0);
    if (no_schema)
        buf_adds(&l->error,
                 "; run `mcp-interposer ship init` on the database, or use the version of "
                 "mcp-interposer-ship that made its schema");
    else if (state != NULL && strcmp(state, "42501") == 0 && l->if_denied != NULL)
        buf_adds(&l->error, l->if_denied);
    else if (state != NULL && strcmp(state, "55P03") == 0)
        buf_adds(&l->error,
                 ": another connection has an open transaction; find it in pg_stat_activity");
    return st;
}

/* Reads all results of the SQL function or of the statements, until until_us at most. Stores in
 * l->r the last result, or the first error. */
static int link_await_results(struct link *l, int64_t until_us)
{
    int st = 0, left;
    while (st == 0 && (left = PQflush(l->c)) != 0) {
        if (left < 0)
            return link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
        st = link_wait_socket(l, POLLIN | POLLOUT, until_us);
        if (st == 0 && PQconsumeInput(l->c) == 0)
            st = link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
    }
    while (st == 0) {
        if (PQisBusy(l->c)) {
            st = link_wait_socket(l, POLLIN, until_us);
            if (st == 0 && PQconsumeInput(l->c) == 0)
                st = link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
            continue;
        }
        PGresult *r = PQgetResult(l->c);
        if (r == NULL)
            break;
        PQclear(l->r);
        l->r = r;
        int status = link_result_status(l);
        if (status < 0)
            return status;
    }
    return st == 0 && l->r == NULL ? link_set_error(l, TARGET_LOST, PQerrorMessage(l->c)) : st;
}

/* Ends the call of an SQL function, or the run of statements. After an error, closes the
 * connection, because its state is unknown. */
static int link_finish_call(struct link *l, bool sent, int64_t until_us)
{
    int st = sent ? link_await_results(l, until_us)
                  : link_set_error(l, TARGET_LOST, PQerrorMessage(l->c));
    if (st < 0)
        link_disconnect(l);
    return st;
}

/* Frees the last result. Returns false, with the error in *ret, if nothing can be sent to the
 * server. */
static bool link_prepare_call(struct link *l, int *ret)
{
    PQclear(l->r);
    l->r = NULL;
    *ret = l->c == NULL ? link_set_error(l, TARGET_LOST, "not connected") : l->bad ? MI_ENOMEM : 0;
    return *ret == 0;
}

void link_begin_call(struct link *l)
{
    l->n = 0;
    l->bad = false;
}

static void link_add_argument(struct link *l, Oid type, const char *value, size_t length, int form)
{
    if (l->n == LINK_ARGUMENTS || length > INT32_MAX) {
        l->bad = true;
        return;
    }
    l->type[l->n] = type;
    l->value[l->n] = value;
    l->length[l->n] = (int)length;
    l->form[l->n++] = form;
}

void link_add_int_argument(struct link *l, int64_t v)
{
    char *number = l->number[l->n < LINK_ARGUMENTS ? l->n : 0];
    snprintf(number, sizeof l->number[0], "%lld", (long long)v);
    link_add_argument(l, 0, number, 0, 0);
}

void link_add_text_argument(struct link *l, const char *v)
{
    link_add_argument(l, 0, v, 0, 0);
}

void link_add_bytes_argument(struct link *l, struct slice v)
{
    link_add_argument(l, ARRAY_BYTES, v.p != NULL ? v.p : "", v.n, 1);
}

void link_add_array_argument(struct link *l, struct array *a)
{
    struct slice bytes = array_finish(a);
    l->bad |= bytes.p == NULL;
    link_add_argument(l, array_type_oid(a->type), bytes.p, bytes.n, 1);
}

int link_select_from_function(struct link *l, const char *function, const char *more)
{
    struct buf sql = {0};
    int st;
    if (!link_prepare_call(l, &st))
        return st;
    buf_printf(&sql, "SELECT * FROM mcp_interposer.%s(", function);
    for (int i = 0; i < l->n; i++)
        buf_printf(&sql, "%s$%d", i > 0 ? "," : "", i + 1);
    buf_printf(&sql, ")%s", more);
    const char *text = buf_str(&sql);
    if (sql.failed) {
        buf_close(&sql);
        return MI_ENOMEM;
    }
    bool sent = PQsendQueryParams(l->c, text, l->n, l->type, l->value, l->length, l->form, 0) == 1;
    buf_close(&sql);
    /* Batches of a device have about the same size, so they have a time limit. A query of a user
     * may take long: it has no time limit, but a signal ends it. */
    int64_t until_us = clock_mono_us() + LINK_REPLY_S * INT64_C(1000000);
    return link_finish_call(l, sent, l->only_reads ? INT64_MAX : until_us);
}

int link_call_function(struct link *l, const char *function)
{
    return link_select_from_function(l, function, "");
}

static int link_run_sql_once(struct link *l, const char *sql)
{
    int st;
    link_begin_call(l);
    return link_prepare_call(l, &st) ? link_finish_call(l, PQsendQuery(l->c, sql) == 1, INT64_MAX)
                                     : st;
}

int link_run_sql(struct link *l, const char *sql)
{
    int st = link_run_sql_once(l, sql);
    for (int i = 1; st < 0 && l->deadlocked && i < RUN_TRIES; i++) {
        st = link_connect(l);
        if (st == 0)
            st = link_run_sql_once(l, sql);
    }
    return st;
}

/* ---- results ---- */

int link_count_rows(const struct link *l)
{
    return PQntuples(l->r);
}

int link_count_columns(const struct link *l)
{
    return PQnfields(l->r);
}

static bool link_has_cell(const struct link *l, int row, int column)
{
    return row < PQntuples(l->r) && column < PQnfields(l->r);
}

const char *link_get_text(const struct link *l, int row, int column)
{
    return link_has_cell(l, row, column) ? PQgetvalue(l->r, row, column) : "";
}

struct slice link_get_slice(const struct link *l, int row, int column)
{
    if (!link_has_cell(l, row, column) || PQgetisnull(l->r, row, column))
        return (struct slice){0};
    return (struct slice){PQgetvalue(l->r, row, column), (size_t)PQgetlength(l->r, row, column)};
}

int64_t link_get_int(const struct link *l, int row, int column)
{
    return strtoll(link_get_text(l, row, column), NULL, 10);
}

int link_get_bytes(const struct link *l, int row, int column, size_t max, struct buf *ret)
{
    struct slice text = link_get_slice(l, row, column);
    size_t n = text.n / 2;
    if (text.n % 2 != 0 || n < 1 || text.p[0] != '\\' || text.p[1] != 'x' || n - 1 > max)
        return MI_EINVAL;
    if (!buf_reserve(ret, n))
        return MI_ENOMEM;
    for (size_t i = 1; i < n; i++) {
        int high = char_hex_lower_value(text.p[2 * i]),
            low = char_hex_lower_value(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return MI_EINVAL;
        ret->p[ret->n + i - 1] = (char)(high << 4 | low);
    }
    ret->n += n - 1;
    return 0;
}

bool link_get_hash(const struct link *l, int row, int column, uint8_t ret[32])
{
    struct buf bytes = {0};
    bool is_hash = link_get_bytes(l, row, column, 32, &bytes) == 0 && bytes.n == 32;
    if (is_hash)
        memcpy(ret, bytes.p, 32);
    buf_close(&bytes);
    return is_hash;
}
