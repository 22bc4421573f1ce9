/* walk.c - reads the events and messages of a session, and compares each with its commitment. */
#include "vault/audit/session_audit.h"

#include "base/grow.h"
#include "vault/store/bodies.h"
#include "vault/store/commitment.h"
#include "vault/store/connect.h"
#include "vault/store/schema.h"
#include "vault/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* maximum number of bytes of large bodies that one transaction reads */
#define PAGE_BYTES ((uint64_t)16 << 20)

void session_audit_add_fault(struct session_audit *c, enum session_fault_class class,
                             const struct audit_wrong *w)
{
    if (class >= c->class)
        return;
    c->class = class;
    c->wrong = *w;
}

void walk_add_commitment(struct session_audit *c, const struct digest *first)
{
    session_tree_add_record(&c->places, first);
    for (; c->seal_at < c->seal_n && c->seal[c->seal_at].records <= (int64_t)c->places.n;
         c->seal_at++) {
        struct digest root = session_tree_compute_root(&c->places);
        if (c->seal[c->seal_at].records != (int64_t)c->places.n ||
            !digest_eq(&root, &c->seal[c->seal_at].root))
            SESSION_AUDIT_ADD_FAULT(
                c, SESSION_FAULT_TREE, AUDIT_EXCHANGED, "",
                "the session's first %lld records are not those that were sealed",
                (long long)c->seal[c->seal_at].records);
    }
}

/* Reads salt and commitment of a row. false: the row has none. */
static bool session_audit_read_commitment(struct session_audit *c, sqlite3_stmt *q, int i,
                                          const char *record, struct salt *salt,
                                          struct digest *stored)
{
    if (commitment_read_salt(q, i, salt) && commitment_read_digest(q, i + 1, stored))
        return true;
    memset(salt, 0, sizeof *salt);
    memset(stored, 0, sizeof *stored);
    SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_RECORD, AUDIT_CHANGED, record,
                            "the record has no salt or no commitment");
    return false;
}

static void walk_compare_digest(struct session_audit *c, const char *record,
                                const struct digest *is, const struct digest *stored)
{
    if (!digest_eq(is, stored))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_RECORD, AUDIT_CHANGED, record,
                                "the record does not agree with its commitment");
}

/* ---- events --------------------------------------------------------------------------------- */

static int session_audit_check_event(struct session_audit *c, sqlite3_stmt *q)
{
    char record[32];
    struct salt salt;
    struct digest stored;
    struct slice kind = connect_column(q, EVENT_SALT + 3);
    bool placed = sqlite3_column_type(q, EVENT_PLACE) == SQLITE_INTEGER;
    int64_t place = sqlite3_column_int64(q, EVENT_PLACE);
    if (!GROW(c->event, c->event_n, c->event_cap))
        return MI_ENOMEM;
    snprintf(record, sizeof record, placed ? "event %lld" : "event", (long long)place);
    if (!placed || place < 1 || (c->event_n > 0 && place <= c->event[c->event_n - 1].place)) {
        c->displaced = true;
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_MOVED, AUDIT_MOVED, record,
                                "the record has an impossible place");
    }
    if (session_audit_read_commitment(c, q, EVENT_SALT, record, &salt, &stored)) {
        struct digest is = commitment_compute_from_row(q, EVENT_SALT + 2, BUNDLE_EVENT, &salt);
        walk_compare_digest(c, record, &is, &stored);
    }
    c->event[c->event_n++] = (struct session_audit_event){
        place, old_commitments_find_first(&c->old_commitments, record, &stored)};
    c->gaps |= kind.p != NULL && slice_is(kind, "gap");
    if (kind.p != NULL && slice_is(kind, EVENT_FINDING_ADDED)) {
        int st =
            findings_add_from_event_detail(&c->findings, place, connect_column(q, EVENT_SALT + 4));
        if (st == MI_EINVAL)
            SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_REDACTION, AUDIT_CHANGED, record,
                                    "the record does not say which finding was added");
        return st == MI_EINVAL ? 0 : st;
    }
    return 0;
}

/* Reads one page of rows with statement i, and calls take() for each row. *last: id of the last row
 * that was read; *ret_n: number of rows of the page. */
static int walk_read_page(struct session_audit *c, enum snapshot_sql i, int64_t *last,
                          size_t *ret_n, int (*take)(struct session_audit *c, sqlite3_stmt *q))
{
    sqlite3_stmt *q;
    uint64_t before = c->bytes;
    int rc = SQLITE_DONE, st = db_begin(&c->source->d);
    if (st < 0)
        return st;
    *ret_n = 0;
    st = snapshot_begin_query(c->source, i, c->id, *last, &q);
    if (st == 0) {
        while (st == 0 && c->bytes - before < PAGE_BYTES && (rc = sqlite3_step(q)) == SQLITE_ROW) {
            int64_t id = sqlite3_column_int64(q, 0);
            st = id > *last ? 0 : db_fail_damaged(&c->source->d);
            *last = id;
            ++*ret_n;
            if (st == 0)
                st = take(c, q);
        }
        int done = db_finish_statement(&c->source->d, q, rc);
        st = st < 0 ? st : done;
    }
    st = db_end(&c->source->d, st);
    if (c->progress != NULL)
        c->progress(c->ctx, *ret_n, c->bytes - before);
    return st;
}

int session_audit_check_events(struct session_audit *c)
{
    int64_t last = INT64_MIN;
    size_t n = 1;
    int st = 0;
    while (st == 0 && n > 0)
        st = walk_read_page(c, SNAPSHOT_EVENTS, &last, &n, session_audit_check_event);
    findings_sort(&c->findings);
    return st;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* Opens the session's file in Bodies/. MI_EINVAL: there is no such regular file. */
static int open_session_bodies_file(struct session_audit *c)
{
    struct stat st;
    int dir = vault_dir_open_sub(c->source->dir_fd, VAULT_BODIES, false);
    if (dir >= 0) {
        c->body_fd = vault_dir_open_file(dir, c->uid, O_RDONLY | O_NONBLOCK);
        int e = errno;
        close(dir);
        errno = e;
    }
    if (c->body_fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? MI_EINVAL : MI_EIO;
    return fstat(c->body_fd, &st) != 0 ? MI_EIO : S_ISREG(st.st_mode) ? 0 : MI_EINVAL;
}

static int walk_hash_body_of_file(struct session_audit *c, struct record *r, int64_t offset,
                                  int64_t length)
{
    static char part[256 << 10];
    record_add_length(r, (uint64_t)length);
    while (length > 0) {
        ssize_t n = pread(c->body_fd, part, size_min(sizeof part, (size_t)length), offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 || errno == EINVAL || errno == EISDIR ? MI_EINVAL : MI_EIO;
        record_add_bytes(r, (struct slice){part, (size_t)n});
        c->bytes += (uint64_t)n;
        offset += n;
        length -= n;
    }
    return 0;
}

/* Adds a large body to the record. MI_EINVAL: the session's file does not have the body. */
static int walk_add_large_body(struct session_audit *c, struct record *r, int64_t offset,
                               int64_t length)
{
    struct slice uid = slice_of(c->uid);
    struct stat file;
    int st = offset < 0 || length < 0 || !uid_is_valid(uid) ? MI_EINVAL : 0;
    if (st == 0 && c->body_fd < 0)
        st = open_session_bodies_file(c);
    if (st == 0 && fstat(c->body_fd, &file) != 0)
        st = MI_EIO;
    /* Large bodies must not overlap, so the sum of their lengths must not exceed the file's
     * size. */
    if (st == 0 && (offset > file.st_size || length > file.st_size - offset ||
                    length > file.st_size - c->body_bytes ||
                    !bodies_range_is_written(c->body_fd, offset, length)))
        st = MI_EINVAL;
    if (st == 0)
        c->body_bytes += length;
    if (st == 0)
        st = walk_hash_body_of_file(c, r, offset, length);
    if (st == MI_EIO)
        buf_printf(c->source->d.error, "cannot read %s/" VAULT_BODIES "/%s: %s", c->source->path,
                   c->uid, strerror(errno));
    return st;
}

/* Computes the commitment of a message from its row and its body. */
static int walk_hash_message(struct session_audit *c, sqlite3_stmt *q, int64_t seq,
                             const char *record, const struct salt *salt, struct digest *ret)
{
    enum { FIRST = MESSAGE_SALT + 2, BODY = FIRST + COMMITMENT_MESSAGE_N };
    struct record r;
    struct slice finding = connect_column(q, FIRST + COMMITMENT_MESSAGE_FINDING);
    bool large = sqlite3_column_type(q, MESSAGE_LENGTH) != SQLITE_NULL;
    int st = 0;
    if (!findings_remove_added_names(&c->findings, seq, &finding))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_REDACTION, AUDIT_CHANGED, record,
                                "the message's finding does not end with what was added later");
    if (large == (sqlite3_column_type(q, MESSAGE_OFFSET) == SQLITE_NULL) ||
        (large && sqlite3_column_type(q, BODY) != SQLITE_NULL))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ROW, AUDIT_CHANGED, record,
                                "the record does not say where its body is");
    record_begin_digest(&r, salt, "message");
    commitment_add_columns(&r, q, FIRST, COMMITMENT_MESSAGE_FINDING);
    record_add_text(&r, finding);
    if (large) {
        st = walk_add_large_body(c, &r, sqlite3_column_int64(q, MESSAGE_OFFSET),
                                 sqlite3_column_int64(q, MESSAGE_LENGTH));
        if (st == MI_EINVAL)
            SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ROW, AUDIT_CHANGED, record,
                                    "the message's body is missing in " VAULT_BODIES "/%s", c->uid);
    } else {
        commitment_add_columns(&r, q, BODY, 1);
        c->bytes += (uint64_t)sqlite3_column_bytes(q, BODY);
    }
    commitment_add_columns(
        &r, q, FIRST + COMMITMENT_MESSAGE_TAIL,
        commitment_count_tail_columns(q, FIRST + COMMITMENT_MESSAGE_TAIL, BUNDLE_MESSAGE));
    record_finish_digest(&r, ret);
    return st == MI_EINVAL ? 0 : st;
}

/* Adds the message to `calls`, whose messages must be in the order of seq. The rows are sorted by
 * id, so seq is taken from the id: the column `seq` may be forged. */
static int walk_add_message_to_calls(struct session_audit *c, sqlite3_stmt *q)
{
    enum { FIRST = MESSAGE_SALT + 2, ERROR = FIRST + BUNDLE_MESSAGE_error_code };
    enum row_kind kind =
        value_find_by_word(&row_kinds, connect_column(q, FIRST + BUNDLE_MESSAGE_kind));
    struct call_message m = {
        .seq = sqlite3_column_int64(q, MESSAGE_ID) & SCHEMA_SEQ_MAX,
        .t_us = sqlite3_column_int64(q, FIRST + BUNDLE_MESSAGE_t_us),
        .size = sqlite3_column_int64(q, FIRST + BUNDLE_MESSAGE_size),
        .request_seq = sqlite3_column_int64(q, FIRST + BUNDLE_MESSAGE_request_seq),
        .direction = value_find_by_word(&row_directions,
                                        connect_column(q, FIRST + BUNDLE_MESSAGE_direction)),
        .origin =
            value_find_by_word(&row_origins, connect_column(q, FIRST + BUNDLE_MESSAGE_origin)),
        .kind = kind,
        .action =
            value_find_by_word(&row_actions, connect_column(q, FIRST + BUNDLE_MESSAGE_action)),
        .has_error_code = sqlite3_column_type(q, ERROR) != SQLITE_NULL,
        .error_code = sqlite3_column_int64(q, ERROR),
        .method = connect_column(q, FIRST + BUNDLE_MESSAGE_method),
        .target = connect_column(q, FIRST + BUNDLE_MESSAGE_target),
        .rpc_id = connect_column(q, FIRST + BUNDLE_MESSAGE_rpc_id),
        .finding = connect_column(q, FIRST + BUNDLE_MESSAGE_finding),
        .result = CONTEXT_NO_RESULT,
    };
    return call_audit_add_message(&c->calls, &m);
}

static int session_audit_check_message(struct session_audit *c, sqlite3_stmt *q)
{
    char record[32];
    struct salt salt;
    struct digest stored, is;
    int64_t seq = sqlite3_column_int64(q, MESSAGE_SALT + 2);
    int st = 0;
    snprintf(record, sizeof record, "message %lld", (long long)seq);
    if (sqlite3_column_int64(q, MESSAGE_OWNER) != c->id || seq < 0 || seq > SCHEMA_SEQ_MAX ||
        sqlite3_column_int64(q, MESSAGE_ID) != schema_message_id(c->id, (uint64_t)seq))
        SESSION_AUDIT_ADD_FAULT(c, SESSION_FAULT_ROW, AUDIT_CHANGED, record,
                                "the record has the id of another message");
    if (session_audit_read_commitment(c, q, MESSAGE_SALT, record, &salt, &stored)) {
        st = walk_hash_message(c, q, seq, record, &salt, &is);
        if (st == 0)
            walk_compare_digest(c, record, &is, &stored);
    }
    if (c->gap == 0 && seq != c->last_seq + 1)
        c->gap = c->last_seq + 1;
    c->last_seq = seq;
    c->messages++;
    struct digest first = old_commitments_find_first(&c->old_commitments, record, &stored);
    while (c->event_at < c->event_n && c->event[c->event_at].place == (int64_t)c->places.n)
        walk_add_commitment(c, &c->event[c->event_at++].first);
    walk_add_commitment(c, &first);
    return st == 0 ? walk_add_message_to_calls(c, q) : st;
}

int session_audit_check_messages(struct session_audit *c)
{
    int64_t last = schema_message_id(c->id, 0) - 1;
    size_t n = 1;
    int st = 0;
    while (st == 0 && n > 0) {
        st = walk_read_page(c, SNAPSHOT_MESSAGES, &last, &n, session_audit_check_message);
        if (st == 0)
            st = call_audit_compare_finished_calls(&c->calls, c->source);
    }
    while (c->event_at < c->event_n && c->event[c->event_at].place == (int64_t)c->places.n)
        walk_add_commitment(c, &c->event[c->event_at++].first);
    return st;
}
