#include "vault/scrub_inner.h"

#include "vault/connect.h"
#include "vault/dir.h"
#include "vault/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES_MAX 32 /* rules that are told apart in one text */

/* ---- opening ---- */

int scrub_fail_sql(struct scrub *s)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot change %s/" VAULT_DB ": %s", query_vault(s->q),
               sqlite3_errmsg(s->db));
    return MI_ESTORE;
}

int scrub_fail(struct scrub *s, const char *what, const char *name)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot %s %s/%s: %s", what, query_vault(s->q), name, strerror(errno));
    return MI_EIO;
}

static int connect_to(struct scrub *s)
{
    char path[PATH_MAX];
    if (!connect_path(s->dir.path, path)) {
        errno = ENOENT;
        return scrub_fail(s, "open", VAULT_DB);
    }
    int rc = connect_open(&s->db, path, SQLITE_OPEN_READWRITE, SCRUB_WAIT_MS);
    if (s->db == NULL)
        return MI_ENOMEM;
    if (rc != SQLITE_OK || schema_ready(s->db) < 0 ||
        sqlite3_exec(s->db,
                     "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;"
                     " PRAGMA temp_store = MEMORY",
                     NULL, NULL, NULL) != SQLITE_OK)
        return scrub_fail_sql(s);
    for (int i = 0; i < S_COUNT; i++)
        if (sqlite3_prepare_v3(s->db, scrub_sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->s[i],
                               NULL) != SQLITE_OK)
            return scrub_fail_sql(s);
    return 0;
}

int scrub_open(struct scrub **ret, struct query *q, bool apply, scrub_fn fn, void *ctx,
               struct buf *error)
{
    struct scrub *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    *s = (struct scrub){.q = q, .fn = fn, .ctx = ctx, .bodies_fd = -1, .rules = redact_present()};
    s->dir.fd = -1;
    int st = s->rules == NULL ? MI_ENOMEM : vault_dir_open(&s->dir, query_vault(q), false, error);
    if (st == 0 && apply) {
        st = connect_to(s);
        if (st < 0)
            buf_adds(error, st == MI_ENOMEM ? "no memory" : buf_str(&s->error));
    }
    if (st < 0) {
        scrub_close(s);
        return st;
    }
    *ret = s;
    return 0;
}

void scrub_close(struct scrub *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(s->s[i]);
    sqlite3_close(s->db);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
    vault_dir_close(&s->dir);
    buf_close(&s->clean);
    buf_close(&s->second);
    buf_close(&s->body);
    buf_close(&s->names);
    buf_close(&s->error);
    free(s->ranges);
    free(s);
}

const char *scrub_error(struct scrub *s)
{
    return s->error.n > 0 ? buf_str(&s->error) : "no memory";
}

/* ---- what was found ---- */

struct names {
    struct slice name[NAMES_MAX];
    long count[NAMES_MAX];
    size_t n;
};

static void count_marks(struct names *names, struct slice text, long by)
{
    static const char mark[] = "[redacted:";
    const char *p = text.p, *end = text.p + text.n;
    while (p < end && (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)) != NULL) {
        p += sizeof mark - 1;
        size_t n = 0, i = 0;
        while (p + n < end && n < REDACT_MARK_MAX && p[n] != ']')
            n++;
        struct slice name = {p, n};
        if (p + n == end || p[n] != ']')
            continue;
        while (i < names->n && !slice_eq(names->name[i], name))
            i++;
        if (i == NAMES_MAX)
            continue;
        if (i == names->n) {
            names->name[names->n] = name;
            names->count[names->n++] = 0;
        }
        names->count[i] += by;
    }
}

void scrub_rules(struct buf *b, struct slice before, struct slice after)
{
    struct names names = {.n = 0};
    bool first = true;
    count_marks(&names, after, 1);
    count_marks(&names, before, -1);
    for (size_t i = 0; i < names.n; i++) {
        if (names.count[i] <= 0)
            continue;
        buf_adds(b, first ? "" : ", ");
        buf_slice_add(b, names.name[i]);
        if (names.count[i] > 1)
            buf_printf(b, " %ld", names.count[i]);
        first = false;
    }
}

/* Lines of a log may be JSON that is no message: both are looked for, as when they came. */
static int clean_line(struct scrub *s, struct slice text, struct redact_lines *lines, size_t *ret_n)
{
    size_t n = 0, more = 0;
    int st = 0;
    if (text.n > 0 && text.p[0] == '{')
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->second, &n);
    if (n > 0)
        text = buf_slice(&s->second);
    if (st == 0)
        st = redact_line(s->rules, lines, text, &s->clean, &more);
    if (st == 0 && more == 0 && n > 0) {
        buf_clear(&s->clean);
        buf_slice_add(&s->clean, text);
        st = s->clean.failed ? MI_ENOMEM : 0;
    }
    *ret_n = n + more;
    return st;
}

int scrub_text(struct scrub *s, struct slice text, enum scrub_kind kind, struct redact_lines *lines,
               struct scrub_hit hit, struct slice *ret, size_t *ret_n)
{
    size_t n = 0;
    int st = 0;
    *ret = (struct slice){0};
    *ret_n = 0;
    if (text.n == 0)
        return 0;
    if (kind == SCRUB_MESSAGE)
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->clean, &n);
    else if (kind == SCRUB_VALUE)
        st = redact_value(s->rules, text, &s->clean, &n);
    else if (kind == SCRUB_TEXT)
        st = redact_text(s->rules, text, &s->clean, &n);
    else
        st = clean_line(s, text, lines, &n);
    if (st < 0 || n == 0)
        return st;
    buf_clear(&s->names);
    scrub_rules(&s->names, text, buf_slice(&s->clean));
    if (s->names.failed)
        return MI_ENOMEM;
    hit.rules = buf_slice(&s->names);
    hit.n = n;
    s->found += n;
    s->fn(s->ctx, &hit);
    *ret = buf_slice(&s->clean);
    *ret_n = n;
    return 0;
}

/* ---- the end ---- */

/* The log holds pages as they were, until it is cut off. */
static int empty_log(struct scrub *s)
{
    sqlite3_stmt *q = NULL;
    bool busy = true;
    if (sqlite3_prepare_v2(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        busy = sqlite3_column_int(q, 0) != 0;
    int st = sqlite3_finalize(q) == SQLITE_OK ? 0 : scrub_fail_sql(s);
    if (st == 0 && busy) {
        buf_clear(&s->error);
        buf_printf(&s->error,
                   "the write-ahead log of %s/" VAULT_DB " still holds the old text, for somebody "
                   "reads the database; close it there, and run this again",
                   query_vault(s->q));
        st = MI_ESTORE;
    }
    return st;
}

int scrub_finish(struct scrub *s, bool rebuild)
{
    if (s->db == NULL)
        return 0;
    /* a temporary copy of all of it would not fit into memory */
    if (rebuild &&
        sqlite3_exec(s->db, "PRAGMA temp_store = FILE; VACUUM", NULL, NULL, NULL) != SQLITE_OK)
        return scrub_fail_sql(s);
    return empty_log(s);
}
