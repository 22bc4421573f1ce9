#include "record/process/store_state.h"

#include "base/random.h"
#include "vault/store/bodies.h"

#include <stdlib.h>

/* ---- opening and closing -------------------------------------------------------------------- */

static char *copy_slice(struct slice s)
{
    return strndup(s.p != NULL ? s.p : "", s.n);
}

int store_open(struct store **ret, const struct session_start *start,
               const struct store_calls *calls, void *ctx)
{
    struct store *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    *s = (struct store){.start = start,
                        .ctx = ctx,
                        .uid = copy_slice(start->uid),
                        .vault = copy_slice(start->vault),
                        .name = copy_slice(start->name),
                        .command = copy_slice(start->command),
                        .host = copy_slice(start->host),
                        .dir.fd = -1,
                        .log.fd = -1,
                        .escalated_at = RING_NONE};
    if (calls != NULL)
        s->calls = *calls;
    if (s->uid == NULL || s->vault == NULL || s->name == NULL || s->command == NULL ||
        s->host == NULL) {
        store_close(s);
        return MI_ENOMEM;
    }
    struct hash_key key;
    no_progress_open(&s->progress, random_fill(&key, sizeof key) == 0 ? &key : NULL);
    log_directory_open(&s->log, s->uid, s->name);
    s->log.level = start->level;
    *ret = s;
    return 0;
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    store_close_writer(s);
    vault_dir_close(&s->dir);
    log_directory_close(&s->log);
    buf_close(&s->text);
    buf_close(&s->escalated);
    free(s->uid);
    free(s->vault);
    free(s->name);
    free(s->command);
    free(s->host);
    free(s);
}

/* ---- batches -------------------------------------------------------------------------------- */

void store_take_over_journal(struct store *s, struct ring *r)
{
    struct ring_shared *k = r->shared;
    uint64_t trying = atomic_load(&k->trying);
    if (trying != RING_NONE) {
        bool again = trying == atomic_load(&k->killed_by);
        atomic_store(&k->kills, again ? atomic_load(&k->kills) + 1 : 1);
        atomic_store(&k->killed_by, trying);
        atomic_store(&k->trying, RING_NONE);
    }
    if (ring_release_records(r))
        store_run_change_callback(s);
}

/* Begins a transaction. If the next entry is an escalation, its file is written first, with
 * transactions of its own. Returns 0, an error of ring_read_next_record(), or an error of the
 * writer. */
static int begin_or_defer_transaction(struct store *s, struct ring *r)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    int st = ring_read_next_record(r, &kind, &bytes, &at);
    if (st < 0)
        return st;
    if (kind == ENTRY_ESCALATION)
        entries_write_escalation(s, r->shared, bytes, at);
    r->at = at;      /* ring_read_next_record() must return the same entry again */
    if (s->troubled) /* do not sanitize if nothing can be stored */
        return writer_begin(s->w, STORE_WAIT_US);
    writer_defer_transaction(s->w, STORE_WAIT_US);
    return 0;
}

static int store_entries_of_batch(struct store *s, struct ring *r, size_t *ret_n)
{
    size_t sum = 0;
    size_t rows = ((size_t)(STORE_ROWS - 1) >> s->portion) + 1, most = STORE_BYTES >> s->portion;
    uint64_t killed_by = atomic_load(&r->shared->killed_by);
    if (killed_by != RING_NONE && r->at <= killed_by)
        /* Any entry of the killed process's transaction may have killed it, so each is stored
         * alone. */
        rows = 1;
    for (size_t n = 0; n < rows && sum < most; n++) {
        uint32_t kind;
        struct slice bytes;
        uint64_t at;
        if (ring_read_next_record(r, &kind, &bytes, &at) < 0)
            break; /* the journal is damaged: the next batch reports it */
        if (kind == ENTRY_ESCALATION && n > 0) {
            r->at = at;
            break;
        }
        int st = entries_add(s, r->shared, kind, bytes, at);
        if (st < 0)
            return st;
        sum += bytes.n;
        *ret_n = n + 1;
    }
    return writer_store_journal_position(s->w, s->session_id, r->at);
}

/* Notes which large bodies the transaction has written, for store_write_bodies_to_disk(). */
static void remember_written_bodies_range(struct store *s)
{
    int64_t from, to;
    if (!writer_take_new_bodies_range(s->w, &from, &to))
        return;
    if (s->bodies_to != from)
        s->bodies_from = from;
    s->bodies_to = to;
}

enum store_result store_batch(struct store *s, struct ring *r, size_t *ret_n)
{
    size_t n = 0;
    *ret_n = 0;
    if (ring_count_unread_bytes(r) == 0 && s->resumed)
        return STORE_DONE;
    enum store_result ready = store_open_and_add_session(s, r);
    if (ready != STORE_DONE)
        return ready;
    int st = begin_or_defer_transaction(s, r);
    if (st == MI_ENOENT)
        return STORE_DONE;
    if (st == MI_EPROTO)
        return STORE_DAMAGED;
    /* If the transaction fails, the same entries are read again, so s->progress is restored from
     * this copy. */
    struct no_progress before = s->progress;
    s->stuck_n = 0;
    if (st == 0)
        st = store_entries_of_batch(s, r, &n);
    store_call_test_hook("filled");
    if (st == 0)
        st = writer_commit(s->w);
    atomic_store(&r->shared->trying, RING_NONE);
    if (st < 0) {
        s->progress = before;
        return store_handle_failure(s, r, st);
    }
    store_call_test_hook("committed");
    entries_escalate_no_progress(s);
    log_directory_flush(&s->log, s->dir.fd);
    store_call_test_hook("logged");
    if (ring_release_records(r))
        store_run_change_callback(s);
    store_call_test_hook("released");
    remember_written_bodies_range(s);
    *ret_n = n;
    return store_report_success(s, r);
}

/* ---- queries and upkeep --------------------------------------------------------------------- */

const char *store_get_vault_path(const struct store *s)
{
    return s->w != NULL ? s->dir.path : NULL;
}

int store_get_vault_fd(const struct store *s)
{
    return s->dir.fd;
}

const char *store_get_server_name(const struct store *s)
{
    return s->name;
}

const char *store_get_session_uid(const struct store *s)
{
    return s->uid;
}

int64_t store_count_wal_pages(const struct store *s)
{
    return s->w != NULL ? writer_get_wal_pages(s->w) : 0;
}

bool store_checkpoint_wal(struct store *s)
{
    return s->w != NULL && writer_checkpoint_wal(s->w) == 0;
}

bool store_fill_calls(struct store *s, struct call_fill *f, bool *ret_more)
{
    *ret_more = true;
    if (s->w == NULL)
        return false;
    int st = call_fill_add_next_rows(f, s->w, STORE_WAIT_US, ret_more);
    if (st < 0 && (st == MI_ENOMEM || !writer_is_busy(s->w)))
        /* no more steps before the next search for dead sessions (upkeep.h) */
        *ret_more = false;
    return st == 0;
}

bool store_write_bodies_to_disk(struct store *s)
{
    int64_t n = s->bodies_to - s->bodies_from;
    if (n <= 0 || s->w == NULL)
        return false;
    n = n < STORE_WRITE_OUT ? n : STORE_WRITE_OUT;
    bodies_write_to_disk(s->dir.path, s->uid, s->bodies_from, s->bodies_from + n);
    s->bodies_from += n;
    return true;
}
