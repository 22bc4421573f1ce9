#include "record/process/orphans.h"

#include "base/clock.h"
#include "base/log.h"
#include "journal/journal_file.h"
#include "record/process/store.h"
#include "redact/sanitizer.h"
#include "vault/store/dir.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
    const char *vault;
    void (*between)(void *ctx);
    void *ctx;
    int64_t busy_since_us; /* time since which the database has been locked; 0: it is not locked */
    bool said;             /* a warning about the wait for the database was logged */
    bool unusable; /* the database is still locked or cannot be opened, so nothing more is stored */
    size_t left;   /* number of journals that are not stored because `unusable` is true */
};

struct orphan {
    struct search *search;
    struct ring ring;
    struct session_start start;
    struct store *store;
    struct redact *rules; /* owned: sanitizer with the active rules and the rules of the session */
};

static bool paths_lead_to_same_vault(const char *vault, struct slice of)
{
    struct stat a, b;
    char *other = strndup(of.p, of.n);
    bool same = other != NULL &&
                (strcmp(vault, other) == 0 || (stat(vault, &a) == 0 && stat(other, &b) == 0 &&
                                               a.st_ino == b.st_ino && a.st_dev == b.st_dev));
    free(other);
    return same;
}

static int open_orphan_redaction_rules(struct orphan *o)
{
    struct buf error = {0};
    struct redact *active = redact_get_current_sanitizer();
    int st = active != NULL ? redact_open_copy_of_rules(&o->rules, active, &error) : MI_ENOMEM;
    if (st == 0 && o->start.redact_rules.p != NULL)
        st = redact_add_rules(o->rules, o->start.redact_rules, &error);
    if (st < 0)
        log_warn("a journal of a killed session is not stored, because its redaction rules are "
                 "invalid: %s",
                 buf_str(&error));
    buf_close(&error);
    return st;
}

/* Called when the database is locked. Returns false if the waits for the lock have already taken
 * ORPHANS_WAIT_US, counted over all journals. */
static bool may_wait_for_lock(struct search *s)
{
    int64_t now = clock_mono_us();
    if (s->busy_since_us == 0)
        s->busy_since_us = now;
    if (!s->said && s->between == NULL && now - s->busy_since_us > ORPHANS_SAY_US) {
        s->said = true;
        log_warn("killed sessions left messages; waiting to store them: another process has locked "
                 "the database: vault=%s pid=%d",
                 s->vault, (int)vault_dir_find_writer_pid(s->vault));
    }
    s->unusable = now - s->busy_since_us >= ORPHANS_WAIT_US;
    return !s->unusable;
}

/* Stores all entries, then ends the session. Returns false if that is not possible now. */
static bool store_and_end_orphan_session(struct orphan *o)
{
    for (;;) {
        size_t n = 0;
        struct redact *active = redact_swap_current_rules(o->rules);
        enum store_result result = store_batch(o->store, &o->ring, &n);
        redact_swap_current_rules(active);
        if (result == STORE_DAMAGED || (result == STORE_DONE && n == 0))
            result = store_end_session(o->store, &o->ring);
        if (o->search->between != NULL)
            o->search->between(o->search->ctx);
        if (result == STORE_BUSY) {
            if (!may_wait_for_lock(o->search))
                return false;
            continue;
        }
        o->search->busy_since_us = 0;
        if (result == STORE_DONE && n == 0)
            return true;
        if (result != STORE_DONE) {
            o->search->unusable = store_get_vault_path(o->store) == NULL;
            return false;
        }
    }
}

/* Whether the journal in the file is unfinished, and so old that no process is still making it. */
static bool journal_is_unfinished(int fd)
{
    uint32_t magic = 0; /* written last */
    struct stat st;
    return fstat(fd, &st) == 0 && pread(fd, &magic, sizeof magic, 0) >= 0 && magic == 0 &&
           clock_wall_us() - (int64_t)st.st_mtime * 1000000 > ORPHANS_UNFINISHED_US;
}

/* Stores an orphan. The journal is locked for this process. */
static void store_orphan_session(struct search *s, const struct journal_file *f)
{
    struct orphan o = {.search = s};
    if (ring_open(&o.ring, f->fd) < 0) {
        if (journal_is_unfinished(f->fd))
            journal_file_remove(f);
        return;
    }
    bool done = false;
    if (form_read_session_start(ring_get_session_start(&o.ring), &o.start) == 0 &&
        paths_lead_to_same_vault(s->vault, o.start.vault) && open_orphan_redaction_rules(&o) == 0 &&
        store_open(&o.store, &o.start, NULL, NULL) == 0) {
        if (!s->unusable) {
            store_take_over_journal(o.store, &o.ring);
            done = store_and_end_orphan_session(&o);
        }
        s->left += !done && s->unusable;
    }
    store_close(o.store);
    ring_close(&o.ring);
    redact_close(o.rules);
    if (done)
        journal_file_remove(f);
}

static bool orphans_store_if_abandoned(void *ctx, const struct journal_file *f)
{
    struct search *s = ctx;
    struct journal_file own;
    struct stat st;
    if (journal_file_is_locked(f, JOURNAL_WRITER) || journal_file_is_locked(f, JOURNAL_READER) ||
        journal_file_open(&own, f->uid) < 0)
        return true;
    /* If the file has no link, another process has just stored and removed the journal. */
    if (!journal_file_is_locked(&own, JOURNAL_WRITER) && fstat(own.fd, &st) == 0 && st.st_nlink > 0)
        store_orphan_session(s, &own);
    journal_file_close(&own);
    return true;
}

void orphans_store_all(const char *vault, void (*between)(void *ctx), void *ctx)
{
    struct search s = {.vault = vault, .between = between, .ctx = ctx};
    if (journal_file_visit_all(orphans_store_if_abandoned, &s) < 0)
        log_debug("the journals of killed sessions cannot be listed");
    if (s.left > 0 && s.said)
        log_warn("killed sessions are not stored yet, so this command does not show them: "
                 "sessions=%zu; the next command tries again",
                 s.left);
}
