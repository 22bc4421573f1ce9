#include "cli/frame/journals.h"

#include "base/clock.h"
#include "journal/entry_form.h"
#include "journal/journal_file.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROWS_STEP 16
#define SETTLE_STEP_MS 5

struct search {
    struct journals *list;
    const char *vault;
    struct stat vault_stat;
    bool vault_exists, failed;
};

/* Whether the path is the directory of the vault. Compares device and inode, because a directory
 * can have several paths. */
static bool is_path_of_vault(const struct search *s, struct slice path)
{
    char text[4200];
    struct stat st;
    if (slice_is(path, s->vault))
        return true;
    int n = snprintf(text, sizeof text, "%.*s", (int)size_min(path.n, sizeof text), path.p);
    return s->vault_exists && n > 0 && (size_t)n < sizeof text && stat(text, &st) == 0 &&
           st.st_dev == s->vault_stat.st_dev && st.st_ino == s->vault_stat.st_ino;
}

static void journals_fill_in_journal_view(struct journal_view *v, const struct journal_file *f,
                                          const struct ring *r, const struct session_start *start)
{
    struct ring_shared *s = r->shared;
    *v = (struct journal_view){.started_wall_us = start->started_wall_us};
    memcpy(v->uid, f->uid, sizeof v->uid);
    snprintf(v->name, sizeof v->name, "%.*s", (int)size_min(start->name.n, sizeof v->name),
             start->name.n > 0 ? start->name.p : "");
    v->writer = journal_file_is_locked(f, JOURNAL_WRITER);
    v->reader = journal_file_is_locked(f, JOURNAL_READER);
    v->recorder = (pid_t)atomic_load(&s->reader_pid);
    v->stored = atomic_load(&s->tail);
    v->unstored = ring_count_unread_bytes(r);
    v->trouble = (enum ring_trouble)atomic_load(&s->trouble);
    v->confined = atomic_load(&s->confined);
    v->filtered = atomic_load(&s->filtered) == 1;
    v->denied = atomic_load(&s->denied.n);
    v->last_denied = atomic_load(&s->denied.last);
}

static struct journal_view *reserve_journal_row(struct journals *l)
{
    if (l->n % ROWS_STEP == 0) {
        struct journal_view *more = realloc(l->row, (l->n + ROWS_STEP) * sizeof *more);
        if (more == NULL)
            return NULL;
        l->row = more;
    }
    return &l->row[l->n];
}

/* Opens a journal. Returns 0 if the journal was opened and its start was read. */
static int open_ring(struct ring *r, const struct journal_file *f, struct session_start *start)
{
    int st = ring_open(r, f->fd);
    return st == 0 ? form_read_session_start(ring_get_session_start(r), start) : st;
}

/* Whether the journal is damaged. st: result of open_ring(). A locked journal does not count as
 * damaged, because the proxy locks the journal of a new session before it writes anything. */
static bool is_journal_damaged(const struct journal_file *f, int st)
{
    return st == MI_EINVAL && !journal_file_is_locked(f, JOURNAL_WRITER) &&
           !journal_file_is_locked(f, JOURNAL_READER);
}

static bool is_vault_writable(const char *vault)
{
    char db[4200];
    struct stat st;
    if (stat(vault, &st) != 0 || !S_ISDIR(st.st_mode) || access(vault, W_OK | X_OK) != 0)
        return false;
    int n = snprintf(db, sizeof db, "%s/" VAULT_DB, vault);
    return n < 0 || (size_t)n >= sizeof db || stat(db, &st) != 0 ||
           (S_ISREG(st.st_mode) && access(db, W_OK) == 0);
}

/* If no process can store the journal in its vault now, counts the journal and returns true. */
static bool count_stranded_journal(struct stranded *x, const struct journal_file *f,
                                   const struct ring *r, const struct session_start *start)
{
    char vault[4096];
    int n = snprintf(vault, sizeof vault, "%.*s", (int)size_min(start->vault.n, sizeof vault),
                     start->vault.p);
    if (n < 0 || (size_t)n >= sizeof vault || journal_file_is_locked(f, JOURNAL_WRITER) ||
        journal_file_is_locked(f, JOURNAL_READER) || is_vault_writable(vault))
        return false;
    if (x->n++ == 0)
        snprintf(x->vault, sizeof x->vault, "%.*s", (int)sizeof x->vault - 1, vault);
    x->bytes += ring_count_unread_bytes(r);
    return true;
}

static bool journals_add(void *ctx, const struct journal_file *f)
{
    struct search *s = ctx;
    struct ring r;
    struct session_start start;
    int st = open_ring(&r, f, &start);
    if (st == 0 && !count_stranded_journal(&s->list->stranded, f, &r, &start) &&
        is_path_of_vault(s, start.vault)) {
        struct journal_view *v = reserve_journal_row(s->list);
        if (v != NULL) {
            journals_fill_in_journal_view(v, f, &r, &start);
            s->list->n++;
        } else {
            s->failed = true;
        }
    }
    s->list->unreadable += is_journal_damaged(f, st);
    ring_close(&r);
    return !s->failed && s->list->n < JOURNALS_MAX;
}

int journals_open(struct journals *ret, const char *vault)
{
    *ret = (struct journals){.n = 0};
    struct search s = {.list = ret, .vault = vault};
    s.vault_exists = stat(vault, &s.vault_stat) == 0;
    int st = journal_file_visit_all(journals_add, &s);
    if (s.failed)
        st = MI_ENOMEM;
    if (st == MI_ENOENT)
        st = 0;
    if (st < 0)
        journals_close(ret);
    return st;
}

void journals_close(struct journals *j)
{
    free(j->row);
    *j = (struct journals){.n = 0};
}

/* What journals_remove() has removed. */
struct removal {
    size_t unreadable;
    struct stranded stranded;
};

static bool remove_journal_if_useless(void *ctx, const struct journal_file *f)
{
    struct removal *x = ctx;
    struct stranded stranded = x->stranded;
    struct ring r;
    struct session_start start;
    /* the file is locked, so that no other process starts to read the journal */
    struct journal_file own;
    int st = open_ring(&r, f, &start);
    bool unreadable = is_journal_damaged(f, st);
    if ((unreadable || (st == 0 && count_stranded_journal(&stranded, f, &r, &start))) &&
        journal_file_open(&own, f->uid) == 0) {
        if (!journal_file_is_locked(&own, JOURNAL_WRITER)) {
            journal_file_remove(&own);
            x->unreadable += unreadable;
            if (!unreadable)
                x->stranded = stranded;
        }
        journal_file_close(&own);
    }
    ring_close(&r);
    return true;
}

int journals_remove(size_t *ret_unreadable, struct stranded *ret_stranded)
{
    struct removal x = {.unreadable = 0};
    int st = journal_file_visit_all(remove_journal_if_useless, &x);
    *ret_unreadable = x.unreadable;
    *ret_stranded = x.stranded;
    return st;
}

const struct journal_view *journals_find(const struct journals *j, const char *uid)
{
    for (size_t i = 0; i < j->n; i++)
        if (strcmp(j->row[i].uid, uid) == 0)
            return &j->row[i];
    return NULL;
}

/* ---- waiting for a recorder ---- */

struct awaited {
    struct journal_view *v;
    uint64_t wanted; /* the wait ends when all rows up to this position are stored */
    bool found;      /* the journal still exists */
};

static bool refresh_awaited_journal(void *ctx, const struct journal_file *f)
{
    struct awaited *w = ctx;
    struct ring r;
    struct session_start start;
    if (strcmp(f->uid, w->v->uid) != 0)
        return true;
    if (ring_open(&r, f->fd) == 0 &&
        form_read_session_start(ring_get_session_start(&r), &start) == 0) {
        journals_fill_in_journal_view(w->v, f, &r, &start);
        w->found = true;
    }
    ring_close(&r);
    return false;
}

bool journals_wait_until_stored(struct journal_view *v, int64_t limit_ms)
{
    struct awaited w = {.v = v, .wanted = v->stored + v->unstored};
    int64_t end_us = clock_mono_us() + limit_ms * 1000;
    while (v->stored < w.wanted || !v->reader) {
        w.found = false;
        if (journal_file_visit_all(refresh_awaited_journal, &w) < 0 || !w.found)
            return true; /* the journal was removed */
        if (clock_mono_us() > end_us)
            return v->stored >= w.wanted && v->reader;
        nanosleep(&(struct timespec){0, SETTLE_STEP_MS * 1000000}, NULL);
    }
    return true;
}
