#include "record/process/escalation.h"

#include "record/process/escalation_text.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <unistd.h>

/* ---- the count ------------------------------------------------------------------------------ */

/* Adds the waiting occurrences to the row, and writes the total to the file. Without the database,
 * the total covers this session only. The directory is locked. MI_ENOENT: the row or the file does
 * not exist any more. */
static int store_waiting_problem_count(struct escalation_memory *s, int dir, struct writer *w)
{
    char file[ESCALATION_FILE_MAX];
    struct escalation_row row = {.count = (int64_t)(s->counted + s->waiting),
                                 .last_at_us = s->last_us};
    int st = w != NULL && s->id != 0
                 ? escalation_row_count_problem(w, s->id, s->waiting, s->last_us, &row, file)
                 : MI_ESTORE;
    if (st == 0) {
        s->counted = (uint64_t)row.count;
        s->waiting = 0;
    }
    return st == MI_ENOENT ? st : escalation_update_file(dir, s->file, &row);
}

/* Opens and locks the directory, and counts the waiting occurrences. MI_ENOENT: the row or the
 * file does not exist any more, or the directory cannot be opened. */
static int write_occurrence_count(struct escalation_memory *s, int vault_fd, struct writer *w)
{
    int dir = vault_dir_open_sub(vault_fd, VAULT_ESCALATIONS, false);
    if (dir < 0)
        return MI_ENOENT;
    if (w != NULL)
        writer_set_lock_timeout(w, ESCALATION_WAIT_US);
    /* Without the lock, the count is written with the next occurrence or at the end of the
     * session. */
    int st = escalation_lock(dir) ? store_waiting_problem_count(s, dir, w) : 0;
    close(dir);
    return st;
}

/* ---- problems ------------------------------------------------------------------------------- */

struct names {
    struct buf server, tool, method; /* owned; sanitized */
};

/* Makes the row of a new problem, without its file. *ret borrows the texts of `n`. Returns
 * 0 or MI_ENOMEM. */
static int make_problem_row(const struct escalation *e, struct names *n, struct escalation_row *ret)
{
    escalation_append_name(&n->server, e->server != NULL ? slice_of(e->server) : (struct slice){0});
    escalation_append_name(&n->tool, e->tool);
    escalation_append_name(&n->method, e->method);
    *ret = (struct escalation_row){
        .cause = e->cause,
        .server = slice_of(buf_str(&n->server)),
        .tool = n->tool.n > 0 ? buf_slice(&n->tool) : (struct slice){0},
        .method = n->method.n > 0 ? buf_slice(&n->method) : (struct slice){0},
        .first_at_us = e->at_us,
        .last_at_us = e->at_us,
        .count = 1,
    };
    return n->server.failed || n->tool.failed || n->method.failed ? MI_ENOMEM : 0;
}

static uint64_t hash_problem_key(const struct escalation_row *p)
{
    struct slice call = p->tool.n > 0 ? p->tool : p->method;
    const struct slice parts[] = {slice_of(escalation_cause_name(p->cause)), p->server,
                                  slice_of(p->tool.n > 0 ? "t" : "m"), call};
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < MI_COUNT(parts); i++)
        for (size_t k = 0; k <= parts[i].n; k++) /* adds a 0 after each text, to separate them */
            h = (h ^ (k < parts[i].n ? (unsigned char)parts[i].p[k] : 0)) * 1099511628211u;
    return h != 0 ? h : 1;
}

static struct escalation_memory *find_problem_slot(struct escalations *m, uint64_t key)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key == key)
            return &m->slot[i];
    return NULL;
}

/* Returns a slot for a new problem: the least recently used one. */
static struct escalation_memory *reuse_slot_of_oldest_problem(struct escalations *m, int vault_fd,
                                                              struct writer *w)
{
    struct escalation_memory *old = &m->slot[0];
    for (size_t i = 1; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].last_us < old->last_us)
            old = &m->slot[i];
    if (old->key != 0 && old->waiting > 0)
        /* an error is ignored: the stored count then stays too low by the waiting occurrences */
        (void)write_occurrence_count(old, vault_fd, w);
    return old;
}

/* Counts another occurrence of the problem in a slot. MI_ENOENT: the file of the problem does not
 * exist any more. */
static int count_problem_occurrence(struct escalation_memory *s, int vault_fd, struct writer *w,
                                    int64_t at_us)
{
    s->waiting++;
    s->last_us = at_us;
    if (at_us >= s->written_us && at_us - s->written_us < ESCALATION_QUIET_US)
        return 0;
    s->written_us = at_us;
    return write_occurrence_count(s, vault_fd, w);
}

/* Finds a recent file about the problem and counts the occurrence there. The directory is locked.
 * *ret_new: a killed process has made the file for this very occurrence, which is not counted
 * again. MI_ENOENT: there is no such file. */
static int count_occurrence_in_recent_file(struct escalation_memory *s, int dir, struct writer *w,
                                           const struct escalation_row *p, const char *recent,
                                           const struct escalation *e, bool *ret_new)
{
    struct escalation_row row;
    int64_t at_us = e->at_us;
    int st = w != NULL ? escalation_row_find_similar(w, p, at_us - ESCALATION_AGAIN_US,
                                                     at_us + ESCALATION_AGAIN_US,
                                                     ESCALATION_FILES_MAX, &s->id)
                       : MI_ESTORE;
    if (st == 0)
        st = escalation_row_count_problem(w, s->id, 0, at_us, &row, s->file);
    *ret_new =
        st == 0 && row.first_at_us == at_us && escalation_file_has_occurrence(dir, s->file, e);
    if (st == 0 && !*ret_new)
        st = escalation_row_count_problem(w, s->id, 1, at_us, &row, s->file);
    if (st == 0) {
        s->first_us = row.first_at_us;
        s->counted = (uint64_t)row.count;
        return escalation_update_file(dir, s->file, &row);
    }
    if (st == MI_ENOENT || p->method.n > 0 || recent[0] == '\0')
        return MI_ENOENT;
    /* The database cannot be used. A problem of a call gets a new file, and so does a problem
     * without a recent file. Otherwise the recent file has the same cause and server, and is used
     * for this problem as well. The count in that file is not updated. */
    memcpy(s->file, recent, sizeof s->file);
    s->first_us = at_us;
    s->counted = 1;
    return 0;
}

static int record_new_problem(struct escalation_memory *s, int vault_fd, struct writer *w,
                              const struct escalation *e, const struct escalation_row *p,
                              bool *ret_new)
{
    char suffix[ESCALATION_SUFFIX_MAX], recent[ESCALATION_FILE_MAX] = {0};
    int dir = vault_dir_open_sub(vault_fd, VAULT_ESCALATIONS, true);
    if (dir < 0)
        return MI_EIO;
    *s = (struct escalation_memory){.written_us = e->at_us, .last_us = e->at_us, .counted = 1};
    *ret_new = false;
    escalation_make_file_suffix(e, suffix);
    if (w != NULL)
        writer_set_lock_timeout(w, ESCALATION_WAIT_US);
    int st = MI_ENOENT;
    if (escalation_lock(dir)) {
        escalation_find_recent_file(dir, suffix, e->at_us, recent);
        st = count_occurrence_in_recent_file(s, dir, w, p, recent, e, ret_new);
    }
    if (st == MI_ENOENT) {
        struct escalation_row row = *p;
        st = escalation_make_file(dir, e, suffix, s->file);
        row.file = slice_of(s->file);
        s->first_us = e->at_us;
        s->counted = 1;
        s->id = 0;
        if (st == 0 && w != NULL && escalation_row_add(w, &row, &s->id) < 0)
            s->id = 0; /* without the database, the problem is counted in this session only */
        *ret_new = true;
    }
    if (st == 0)
        s->key = hash_problem_key(p);
    int error = errno;
    close(dir);
    errno = error;
    return st;
}

int escalation_write(struct escalations *m, int vault_fd, struct writer *w,
                     const struct escalation *e, struct buf *ret_path, bool *ret_new)
{
    struct names names = {0};
    struct escalation_row p;
    bool is_new = false;
    int st = make_problem_row(e, &names, &p);
    struct escalation_memory *s = st == 0 ? find_problem_slot(m, hash_problem_key(&p)) : NULL;
    if (st == 0)
        st = MI_ENOENT;
    if (s != NULL && e->at_us - s->first_us < ESCALATION_AGAIN_US)
        st = count_problem_occurrence(s, vault_fd, w, e->at_us);
    if (st == MI_ENOENT) {
        if (s == NULL)
            s = reuse_slot_of_oldest_problem(m, vault_fd, w);
        st = record_new_problem(s, vault_fd, w, e, &p, &is_new);
    }
    buf_close(&names.server);
    buf_close(&names.tool);
    buf_close(&names.method);
    if (st < 0)
        return st;
    buf_printf(ret_path, VAULT_ESCALATIONS "/%s", s->file);
    *ret_new = is_new;
    return ret_path->failed ? MI_ENOMEM : 0;
}

void escalations_close(struct escalations *m, int vault_fd, struct writer *w)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key != 0 && m->slot[i].waiting > 0)
            (void)write_occurrence_count(&m->slot[i], vault_fd, w);
    *m = (struct escalations){0};
}
