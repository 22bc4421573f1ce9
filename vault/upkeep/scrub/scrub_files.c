/* scrub_files.c - replaces secrets in log files, in escalations and in the table `escalations`. */
#include "vault/upkeep/scrub/scrub_text.h"

#include "base/clock.h"
#include "vault/store/bodies.h"
#include "vault/store/connect.h"
#include "vault/upkeep/scrub/database.h"
#include "vault/upkeep/scrub/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIP ".new-" /* prefix of incomplete files, as in record/process/escalation.c */
#define FOLDER_LOGS VAULT_LOGS "/" VAULT_ACTIONS

/* A folder whose files are searched. */
struct lines {
    struct scrub *s;
    const char *folder;
    int dir_fd; /* owned */
    enum scrub_kind kind;
    const char *uid; /* uid of the session to search; NULL: all sessions */
};

/* A file being searched, and its replacement. */
struct copy {
    FILE *in, *out; /* `in`: the file; `out`: its replacement, NULL until a secret is replaced */
    char name[272], wip[288], path[320];
};

/* ---- the table `escalations` ---- */

enum { NAMES = 3 }; /* number of columns with names: server, tool, method */

static int scrub_escalation_row(struct scrub *s, sqlite3_stmt *q)
{
    struct scrub_hit hit = {.where = "escalation"};
    struct slice now[NAMES], clean;
    struct buf text[NAMES] = {{0}};
    size_t all = 0, n = 0;
    int st = 0;
    for (int i = 0; i < NAMES && st == 0; i++) {
        const char *old = (const char *)sqlite3_column_text(q, i + 1);
        now[i] = old != NULL ? slice_of(old) : (struct slice){0};
        st = scrub_text(s, now[i], SCRUB_TEXT, NULL, hit, &clean, &n);
        all += n;
        if (st == 0 && clean.p != NULL) {
            buf_slice_add(&text[i], clean);
            now[i] = buf_slice(&text[i]);
            st = text[i].failed ? MI_ENOMEM : 0;
        }
    }
    if (st == 0 && all > 0) {
        st = scrub_run_change_statement(s, S_ESCALATION,
                                        DB_WITH(db_int(sqlite3_column_int64(q, 0)), db_text(now[0]),
                                                db_text(now[1]), db_text(now[2])));
    }
    for (int i = 0; i < NAMES; i++)
        buf_close(&text[i]);
    return st;
}

/* Replaces secrets in the names of the table `escalations`. A run without changes skips the table,
 * because the files in VAULT/Escalations have the same names. Returns 0, MI_ESTORE or MI_ENOMEM. */
static int scrub_escalations(struct scrub *s)
{
    sqlite3_stmt *q;
    int rc = SQLITE_ROW;
    if (s->d.db == NULL)
        return 0;
    int st = db_begin_query(&s->d, S_ESCALATIONS, &q, NULL, 0);
    if (st < 0)
        return st;
    /* a damaged file may return the same row again and again, so the ids must increase */
    for (int64_t last = INT64_MIN; st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW;) {
        int64_t id = sqlite3_column_int64(q, 0);
        st = id > last ? scrub_escalation_row(s, q) : db_fail_damaged(&s->d);
        last = id;
    }
    /* reset the statement before the commit, because an open SELECT would hold the old snapshot */
    int ended = db_finish_statement(&s->d, q, rc);
    st = st == 0 ? ended : st;
    if (st == 0)
        st = scrub_commit(s);
    if (st < 0)
        scrub_roll_back(s);
    return st;
}

/* ---- files of lines ---- */

static FILE *open_stream(int dir_fd, const char *name, int flags, const char *mode)
{
    int fd = vault_dir_open_file(dir_fd, name, flags);
    FILE *f = fd >= 0 ? fdopen(fd, mode) : NULL;
    if (f == NULL && fd >= 0)
        close(fd);
    return f;
}

/* Starts the replacement with the first `upto` bytes of the file. */
static int begin_replacement_file(struct lines *l, struct copy *c, long upto)
{
    char block[64 << 10];
    snprintf(c->wip, sizeof c->wip, WIP "%s", c->name);
    /* an interrupted run may have left this file */
    (void)unlinkat(l->dir_fd, c->wip, 0);
    c->out = open_stream(l->dir_fd, c->wip, O_WRONLY | O_CREAT | O_EXCL, "w");
    if (c->out == NULL || fseek(c->in, 0, SEEK_SET) != 0)
        return scrub_fail(l->s, "write", c->path);
    while (upto > 0) {
        size_t n = fread(block, 1, size_min(sizeof block, (size_t)upto), c->in);
        if (n == 0 || fwrite(block, 1, n, c->out) != n)
            return scrub_fail(l->s, "copy", c->path);
        upto -= (long)n;
    }
    return 0;
}

/* Writes a line to the copy of the file. The copy is made at the first line with a secret. clean:
 * the sanitized line; {NULL, 0}: the line has no secret. at: offset of the line in the file. */
static int copy_or_replace_line(struct lines *l, struct copy *c, struct slice line,
                                struct slice clean, bool ended, long at)
{
    int st = 0;
    if (c->out == NULL && clean.p == NULL)
        return 0;
    if (c->out == NULL) {
        long next = ftell(c->in);
        st = next < 0 ? scrub_fail(l->s, "read", c->path) : begin_replacement_file(l, c, at);
        if (st == 0 && fseek(c->in, next, SEEK_SET) != 0)
            st = scrub_fail(l->s, "read", c->path);
    }
    struct slice text = clean.p != NULL ? clean : line;
    if (st == 0 &&
        (fwrite(text.p, 1, text.n, c->out) != text.n || (ended && fputc('\n', c->out) == EOF)))
        st = scrub_fail(l->s, "write", c->path);
    return st;
}

static int scrub_lines(struct lines *l, struct copy *c)
{
    struct redact_lines key = {0};
    char *text = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    int st = 0;
    long at = 0;
    while (st == 0 && (n = getline(&text, &cap, c->in)) > 0) {
        bool ended = text[n - 1] == '\n';
        struct slice line = {text, (size_t)n - ended}, clean = {0};
        struct scrub_hit hit = {.where = "line", .file = c->path, .line = ++number};
        size_t found;
        bool mine = l->uid == NULL || l->kind != SCRUB_VALUE ||
                    memmem(line.p, line.n, l->uid, strlen(l->uid)) != NULL;
        if (mine)
            st = scrub_text(l->s, line, l->kind, &key, hit, &clean, &found);
        if (st == 0 && l->s->d.db != NULL)
            st = copy_or_replace_line(l, c, line, clean, ended, at);
        at += n;
    }
    if (st == 0 && !feof(c->in))
        st = scrub_fail(l->s, "read", c->path);
    free(text);
    return st;
}

/* Replaces the file by its copy, and overwrites the bytes of the old file. */
static int replace_file_by_copy(struct lines *l, struct copy *c)
{
    static const char zeros[4096];
    struct stat file = {0};
    int old = vault_dir_open_file(l->dir_fd, c->name, O_WRONLY);
    int st = 0;
    if (old < 0 || fstat(old, &file) != 0 || fflush(c->out) != 0 || fsync(fileno(c->out)) != 0 ||
        renameat(l->dir_fd, c->wip, l->dir_fd, c->name) != 0 || fsync(l->dir_fd) != 0)
        st = scrub_fail(l->s, "replace", c->path);
    for (off_t at = 0; st == 0 && at < file.st_size;) {
        ssize_t n = pwrite(old, zeros, size_min(sizeof zeros, (size_t)(file.st_size - at)), at);
        if (n <= 0 && errno != EINTR)
            st = scrub_fail(l->s, "overwrite the old content of", c->path);
        at += n > 0 ? n : 0;
    }
    if (st == 0 && fsync(old) != 0)
        st = scrub_fail(l->s, "overwrite the old content of", c->path);
    if (old >= 0)
        close(old);
    return st;
}

/* Whether the front matter of an escalation names the session. */
static bool escalation_mentions_session(FILE *f, const char *uid)
{
    char head[4096];
    size_t n = fread(head, 1, sizeof head, f);
    rewind(f);
    return memmem(head, n, uid, strlen(uid)) != NULL;
}

static int scrub_file(struct lines *l, const char *name)
{
    struct copy c = {.in = open_stream(l->dir_fd, name, O_RDONLY, "r")};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.path, sizeof c.path, "%s/%s", l->folder, name);
    if (c.in == NULL)
        return errno == ENOENT ? 0 : scrub_fail(l->s, "open", c.path);
    struct stat file;
    int st = 0;
    /* reject a file with large holes, because its lines could need much memory */
    if (fstat(fileno(c.in), &file) != 0 ||
        !bodies_range_is_written(fileno(c.in), 0, file.st_size)) {
        errno = EFBIG;
        st = scrub_fail(l->s, "read", c.path);
    }
    rewind(c.in);
    if (st == 0 &&
        (l->uid == NULL || l->kind == SCRUB_VALUE || escalation_mentions_session(c.in, l->uid)))
        st = scrub_lines(l, &c);
    if (st == 0 && c.out != NULL)
        st = replace_file_by_copy(l, &c);
    if (c.out != NULL) {
        (void)fclose(c.out);
        if (st < 0)
            (void)unlinkat(l->dir_fd, c.wip, 0);
    }
    (void)fclose(c.in);
    return st;
}

/* Searches a file. A run with changes holds the lock that a proxy takes to update an escalation
 * (record/process/escalation.h). */
static int lock_and_scrub_file(struct lines *l, const char *name)
{
    bool changes = l->s->d.db != NULL;
    if (changes && flock(l->dir_fd, LOCK_EX) != 0)
        return scrub_fail(l->s, "lock", l->folder);
    int st = scrub_file(l, name);
    if (changes)
        (void)flock(l->dir_fd, LOCK_UN);
    return st;
}

/* Searches the files of a folder whose names end with `end` and do not begin with `but`. */
static int scrub_folder(struct lines *l, const char *end, const char *but)
{
    int copy = fcntl(l->dir_fd, F_DUPFD_CLOEXEC, 3);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    if (d == NULL) {
        if (copy >= 0)
            close(copy);
        return scrub_fail(l->s, "read", l->folder);
    }
    int st = 0;
    for (const struct dirent *e; st == 0 && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name), end_n = strlen(end);
        bool complete = e->d_name[0] != '.' && n > end_n && strcmp(e->d_name + n - end_n, end) == 0;
        if (complete && (but == NULL || strncmp(e->d_name, but, strlen(but)) != 0))
            st = lock_and_scrub_file(l, e->d_name);
    }
    closedir(d);
    return st;
}

int scrub_files(struct scrub *s, const char *uid, bool today)
{
    char day[CLOCK_TEXT_MAX];
    int logs = vault_dir_open_sub(s->dir.fd, VAULT_LOGS, false);
    int st = 0;
    struct lines l = {.s = s, .uid = uid, .folder = FOLDER_LOGS, .kind = SCRUB_VALUE};
    clock_utc_day(clock_wall_us(), day);
    buf_clear(&s->error);
    l.dir_fd = logs >= 0 ? vault_dir_open_sub(logs, VAULT_ACTIONS, false) : -1;
    if (logs >= 0)
        close(logs);
    if (l.dir_fd >= 0) {
        st = scrub_folder(&l, ".jsonl", today ? NULL : day);
        close(l.dir_fd);
    }
    l.folder = VAULT_ESCALATIONS;
    l.kind = SCRUB_LINE;
    l.dir_fd = st == 0 ? vault_dir_open_sub(s->dir.fd, VAULT_ESCALATIONS, false) : -1;
    if (l.dir_fd >= 0) {
        st = scrub_folder(&l, ".md", NULL);
        close(l.dir_fd);
    }
    return st == 0 ? scrub_escalations(s) : st;
}
