/* scrub_session.c - replaces secrets in a session: in its row, its messages and its events. */
#include "base/grow.h"
#include "base/os/file.h"
#include "journal/uid.h"
#include "vault/search/index.h"
#include "vault/store/schema.h"
#include "vault/upkeep/scrub/database.h"
#include "vault/upkeep/scrub/scrub_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- large bodies: the session's file in VAULT/Bodies ---- */

static int scrub_fail_with_bodies_error(struct scrub *s, const char *what)
{
    return scrub_fail(s, what, VAULT_BODIES);
}

/* Opens the session's file of large bodies. Returns 0, MI_ENOENT (there is no such file) or
 * MI_EIO. */
static int scrub_open_bodies(struct scrub *s)
{
    if (s->bodies_fd >= 0)
        return 0;
    int dir = vault_dir_open_sub(s->dir.fd, VAULT_BODIES, false);
    if (dir >= 0)
        s->bodies_fd = vault_dir_open_file(dir, s->uid, O_RDWR);
    int e = errno;
    if (dir >= 0)
        close(dir);
    errno = e;
    if (s->bodies_fd >= 0)
        return 0;
    return e == ENOENT ? MI_ENOENT : scrub_fail_with_bodies_error(s, "open a file in");
}

/* Adds a range of the file of large bodies to s->ranges. A row refers to the range, so the range
 * must not be overwritten. */
static int scrub_add_used_body_range(struct scrub *s, int64_t offset, int64_t length)
{
    if (s->d.db == NULL)
        return 0;
    if (!GROW(s->ranges, s->ranges_n, s->ranges_cap))
        return MI_ENOMEM;
    s->ranges[s->ranges_n++] = (struct scrub_range){offset, offset + length + 1};
    return 0;
}

static int scrub_write_to_bodies_file(struct scrub *s, const char *p, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t done = pwrite(s->bodies_fd, p, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return scrub_fail_with_bodies_error(s, "write to a file in");
        p += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

/* Writes a body to the end of the file, syncs it before a row refers to it, and adds its range to
 * s->ranges. */
static int scrub_append_body(struct scrub *s, struct slice body, int64_t *ret_offset)
{
    int st = scrub_open_bodies(s);
    if (st < 0)
        return st == MI_ENOENT ? scrub_fail_with_bodies_error(s, "open a file in") : st;
    off_t end = lseek(s->bodies_fd, 0, SEEK_END);
    if (end < 0)
        return scrub_fail_with_bodies_error(s, "read a file in");
    st = scrub_write_to_bodies_file(s, body.p, body.n, end);
    if (st == 0)
        st = scrub_write_to_bodies_file(s, "\n", 1, end + (int64_t)body.n);
    if (st == 0 && file_sync_data(s->bodies_fd) < 0)
        st = scrub_fail_with_bodies_error(s, "write to a file in");
    if (st == 0)
        st = scrub_add_used_body_range(s, end, (int64_t)body.n);
    *ret_offset = end;
    return st;
}

static int compare_range_offsets(const void *a, const void *b)
{
    const struct scrub_range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int scrub_overwrite_with_zeros(struct scrub *s, int64_t from, int64_t to)
{
    static const char zeros[64 << 10];
    int st = 0;
    while (st == 0 && (from = file_find_next_data(s->bodies_fd, from)) < to) {
        size_t n = size_min(sizeof zeros, (size_t)(to - from));
        st = scrub_write_to_bodies_file(s, zeros, n, from);
        from += (int64_t)n;
    }
    return st;
}

/* Overwrites everything in the file that is outside of s->ranges with zeros. */
static int scrub_zero_unused_body_bytes(struct scrub *s)
{
    struct stat file;
    int64_t at = 0;
    int st = scrub_open_bodies(s);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (fstat(s->bodies_fd, &file) != 0)
        return scrub_fail_with_bodies_error(s, "read a file in");
    if (s->ranges_n > 0)
        qsort(s->ranges, s->ranges_n, sizeof *s->ranges, compare_range_offsets);
    for (size_t i = 0; st == 0 && i < s->ranges_n; i++) {
        if (s->ranges[i].from > at)
            st = scrub_overwrite_with_zeros(s, at, s->ranges[i].from);
        if (s->ranges[i].to > at)
            at = s->ranges[i].to;
    }
    if (st == 0 && file.st_size > at)
        st = scrub_overwrite_with_zeros(s, at, file.st_size);
    if (st == 0 && file_sync_data(s->bodies_fd) < 0)
        st = scrub_fail_with_bodies_error(s, "write to a file in");
    return st;
}

/* ---- messages ---- */

/* Replaces secrets in the method and the target of a message, and of its call. */
static int scrub_method_and_target(struct scrub *s, const struct query_message *m)
{
    struct slice method, target, now[2] = {m->method, m->target};
    struct buf first = {0};
    size_t n = 0, more = 0;
    struct scrub_hit hit = {.session_id = s->session_id, .seq = m->seq, .where = "method"};
    int st = scrub_text(s, m->method, SCRUB_TEXT, NULL, hit, &method, &n);
    if (st == 0 && method.p != NULL) {
        buf_slice_add(&first, method);
        now[0] = buf_slice(&first);
    }
    hit.where = "target";
    if (st == 0)
        st = scrub_text(s, m->target, SCRUB_TEXT, NULL, hit, &target, &more);
    if (st == 0 && target.p != NULL)
        now[1] = target;
    if (st == 0 && first.failed)
        st = MI_ENOMEM;
    if (st == 0 && s->d.db != NULL && n + more > 0) {
        const struct cell value[] = {db_int(schema_message_id(s->session_id, (uint64_t)m->seq)),
                                     db_text(now[0]), db_text(now[1]), db_int(0)};
        /* change the call before the message: if the process is killed after the first change, the
         * next run still finds the secret in the message */
        st = scrub_run_change_statement(s, S_CALL, value, MI_COUNT(value));
        if (st == 0)
            st = scrub_change_record(s, S_MESSAGE, RESTATE_MESSAGE, m->seq, value, MI_COUNT(value));
    }
    buf_close(&first);
    return st;
}

/* Stores a sanitized body. n: number of secrets that were replaced in it. */
static int scrub_replace_body(struct scrub *s, const struct query_message *m, struct slice body,
                              size_t n)
{
    int64_t id = schema_message_id(s->session_id, (uint64_t)m->seq), offset = 0;
    int st = m->is_large ? scrub_append_body(s, body, &offset) : 0;
    if (st < 0)
        return st;
    if (m->is_large)
        return scrub_change_record(
            s, S_LARGE, RESTATE_MESSAGE, m->seq,
            DB_WITH(db_int(id), db_int(offset), db_int((int64_t)body.n), db_int((int64_t)n)));
    return scrub_change_record(s, S_BODY, RESTATE_MESSAGE, m->seq,
                               DB_WITH(db_int(id), db_text(body), db_int((int64_t)n)));
}

static int scrub_body(struct scrub *s, const struct query_message *m)
{
    bool noise = m->kind == KIND_NOISE, err = m->kind == KIND_STDERR;
    struct scrub_hit hit = {.session_id = s->session_id,
                            .seq = m->seq,
                            .where = noise ? "noise"
                                     : err ? "stderr"
                                           : "body"};
    struct slice body = m->body, clean;
    size_t n;
    int st = 0;
    if (m->is_large) {
        buf_clear(&s->body);
        st = query_body(s->q, slice_of(s->uid), m, (size_t)m->body_length, &s->body);
        body = buf_slice(&s->body);
    }
    if (st == MI_EIO || st == MI_ESTORE) {
        buf_clear(&s->error);
        buf_adds(&s->error, query_error(s->q));
    }
    if (st == 0)
        st = scrub_text(s, body, noise || err ? SCRUB_LINE : SCRUB_MESSAGE, &s->lines[err], hit,
                        &clean, &n);
    if (st == 0 && clean.p != NULL && s->d.db != NULL)
        return scrub_replace_body(s, m, clean, n);
    if (st == 0 && m->is_large)
        st = scrub_add_used_body_range(s, m->body_offset, m->body_length);
    return st;
}

static bool scrub_on_message(void *ctx, const struct query_message *m)
{
    struct scrub *s = ctx;
    s->status = scrub_method_and_target(s, m);
    if (s->status == 0)
        s->status = scrub_body(s, m);
    return s->status == 0;
}

static bool scrub_on_event(void *ctx, const struct query_event *e)
{
    struct scrub *s = ctx;
    struct slice clean;
    size_t n;
    struct scrub_hit hit = {.session_id = s->session_id, .where = "event"};
    s->status = scrub_text(s, e->detail, SCRUB_VALUE, NULL, hit, &clean, &n);
    if (s->status == 0 && clean.p != NULL && s->d.db != NULL) {
        s->status = scrub_change_record(s, S_EVENT, RESTATE_EVENT, e->id,
                                        DB_WITH(db_int(e->id), db_text(clean)));
    }
    return s->status == 0;
}

/* ---- the session ---- */

static int scrub_session_row(struct scrub *s, const struct query_session *row)
{
    struct slice now[] = {
        row->name,        row->command,        row->client_name, row->client_version,
        row->server_name, row->server_version, row->cwd};
    struct buf text[MI_COUNT(now)] = {{0}};
    struct scrub_hit hit = {.session_id = s->session_id, .where = "session"};
    size_t all = 0;
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(now); i++) {
        struct slice clean;
        size_t n;
        st = scrub_text(s, now[i], i == 1 ? SCRUB_VALUE : SCRUB_TEXT, NULL, hit, &clean, &n);
        all += n;
        if (st == 0 && clean.p != NULL) {
            buf_slice_add(&text[i], clean);
            now[i] = buf_slice(&text[i]);
            st = text[i].failed ? MI_ENOMEM : 0;
        }
    }
    if (st == 0 && s->d.db != NULL && all > 0) {
        struct cell value[1 + MI_COUNT(now)] = {db_int(s->session_id)};
        for (size_t i = 0; i < MI_COUNT(now); i++)
            value[1 + i] = db_text(now[i]);
        st = scrub_change_record(s, S_SESSION, RESTATE_SESSION, 0, value, MI_COUNT(value));
    }
    for (size_t i = 0; i < MI_COUNT(now); i++)
        buf_close(&text[i]);
    return st;
}

/* Adds the active rules to the rules in the session's row. The texts of the session have then been
 * sanitized with the old rules and with the active rules, and a replay applies all of these
 * rules. */
static int scrub_add_active_rules(struct scrub *s, const struct query_session *row)
{
    struct redact *both = NULL;
    struct buf mine = {0}, rules = {0};
    struct slice old = row->redact_rules.p != NULL ? row->redact_rules : slice_of("{}");
    buf_clear(&s->error);
    redact_write_rules(s->rules, &mine);
    int st = mine.failed ? MI_ENOMEM : redact_open_rules(&both, old, &s->error);
    if (st == 0)
        st = redact_add_rules(both, buf_slice(&mine), &s->error);
    if (st == 0)
        redact_write_rules(both, &rules);
    if (st == 0 && rules.failed)
        st = MI_ENOMEM;
    if (st == 0)
        st = scrub_change_record(s, S_RULES, RESTATE_SESSION, 0,
                                 DB_WITH(db_int(s->session_id), db_text(buf_slice(&rules))));
    redact_close(both);
    buf_close(&mine);
    buf_close(&rules);
    return st;
}

static int scrub_session_rows(struct scrub *s)
{
    struct query_session row;
    int st = query_session_by_id(s->q, s->session_id, &row);
    if (st == 0)
        st = scrub_session_row(s, &row);
    if (st == 0)
        st = query_timeline(s->q, s->session_id, 1, INT64_MAX, scrub_on_message, scrub_on_event, s);
    if (st < 0 && s->error.n == 0)
        buf_adds(&s->error, query_error(s->q));
    if (st == 0)
        st = s->status;
    if (st == 0 && s->d.db != NULL && s->found > 0) {
        st = query_session_by_id(s->q, s->session_id, &row);
        if (st == 0)
            st = scrub_add_active_rules(s, &row);
    }
    return st;
}

int scrub_session(struct scrub *s, int64_t id, const char *uid)
{
    s->session_id = id;
    s->uid = uid;
    s->status = 0;
    s->found = s->ranges_n = 0;
    memset(s->lines, 0, sizeof s->lines);
    buf_clear(&s->error);
    if (!uid_is_valid(slice_of(uid))) { /* check the uid, because it is used as a file name */
        buf_printf(&s->error, "session %lld has no valid UID: another program has changed it",
                   (long long)id);
        return MI_EINVAL;
    }
    int st = scrub_session_rows(s);
    if (st < 0)
        scrub_roll_back(s);
    if (st == 0 && s->d.db != NULL)
        st = scrub_commit(s);
    if (st == 0 && s->d.db != NULL)
        st = scrub_zero_unused_body_bytes(s);
    if (st == 0 && s->d.db != NULL && s->found > 0 &&
        search_delete_index(query_vault(s->q), id) < 0)
        st = scrub_fail(s, "remove the index of", VAULT_SEARCH);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
    s->bodies_fd = -1;
    return st;
}
