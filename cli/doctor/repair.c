/* repair.c - `doctor --repair`: reads what can be read from damaged databases that were put aside,
 * and imports it into the vault.
 *
 * Each session becomes an imported session, with an event `imported` that names the file. A session
 * is not imported again if everything that can be read of it was imported before. The damaged files
 * are not changed: the database is read through a hard link in a directory `.repair-PID` of the
 * vault or, if the header of the database is destroyed, from a copy.
 *
 * Blocks    on the disk until everything is read. */
#include "cli/doctor/checks.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/os/file.h"
#include "vault/cassette/import.h"
#include "vault/query/reader.h"
#include "vault/store/damaged_db.h"
#include "vault/store/writer.h"
#include "wire/json/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BODY_MAX ((size_t)1 << 30)
/* the highest message number that is tried if the last number of a session cannot be read */
#define GUESS_MAX (INT64_C(1) << 20)
/* number of messages that are read at once; a power of 8 */
#define SPAN 512
#define HEADER 100 /* bytes of the header of a database; see sqlite.org/fileformat2.html */
/* offset in the header of the number that SQLite calls version-valid-for; the page count in the
 * header is valid only if this number equals the change counter */
#define VALID_FOR 92
/* offset in the header at which the fields about the list of unused pages begin */
#define FREE_LIST 32

/* A database that is repaired. */
struct repair {
    struct doctor *d;
    const char *name;
    int dir;         /* descriptor of the vault's directory */
    int own;         /* descriptor of the directory with the links */
    char path[4200]; /* the path of the directory with the links */
    struct query *q;
    int64_t *id; /* owned; the ids of the sessions */
    size_t n, cap;
    int64_t sessions, messages; /* number of sessions and messages that were imported */
    int64_t before;             /* number of sessions that an earlier repair had imported */
    int64_t lost;               /* sessions, messages and ranges that cannot be read, in total */
    struct buf why;             /* owned; why the first session, message or range cannot be read */
    /* The next members are about the session that is repaired now: */
    struct import *import;
    char uid[UID_LEN + 1];
    int64_t last;     /* number of the last message that was read */
    int64_t got;      /* number of messages that were imported */
    struct buf large; /* owned; body of a large message */
    int status;       /* result of the import */
};

static void count_unreadable_item(struct repair *p, const char *why)
{
    p->lost++;
    if (p->why.n == 0)
        buf_adds(&p->why, why);
}

/* ---- the links ---- */

/* Copies a sparse file: holes are not filled. */
static bool copy_sparse_file(int from, int to)
{
    char part[65536];
    struct stat st;
    int64_t at = 0;
    if (fstat(from, &st) != 0 || ftruncate(to, st.st_size) != 0)
        return false;
    while ((at = file_find_next_data(from, at)) < st.st_size) {
        ssize_t n = pread(from, part, sizeof part, at);
        if (n <= 0 || pwrite(to, part, (size_t)n, at) != n)
            return n == 0;
        at += n;
    }
    return true;
}

static void repair_unlink_database(const struct repair *p)
{
    static const char *const files[] = {VAULT_DB, VAULT_DB "-wal", VAULT_DB "-shm"};
    for (size_t i = 0; i < MI_COUNT(files); i++)
        (void)!unlinkat(p->own, files[i], 0);
}

/* Reads the header of a new, empty database. The header in the file of the vault's own database may
 * be outdated, because a newer header may be in the write-ahead log. */
static bool make_database_header(const struct repair *p, char *ret, struct buf *error)
{
    struct vault_dir dir = {.fd = -1};
    struct writer *w = NULL;
    bool done = vault_dir_open(&dir, p->path, false, error) == 0 &&
                writer_open(&w, &dir, false, error) == 0;
    writer_close(w); /* closing moves the write-ahead log into the database file */
    int fd = done ? vault_dir_open_file(p->own, VAULT_DB, O_RDONLY) : -1;
    done = fd >= 0 && pread(fd, ret, HEADER, 0) == HEADER;
    if (fd >= 0)
        close(fd);
    repair_unlink_database(p);
    vault_dir_close(&dir);
    memset(ret + FREE_LIST, 0, 8);
    /* makes SQLite use the size of the file, not the size in the header */
    memset(ret + VALID_FOR, 0xff, 4);
    return done;
}

/* Copies the damaged database, whose header is destroyed, and gives the copy another header. */
static bool copy_database_with_header(const struct repair *p, const char *header)
{
    int from = vault_dir_open_file(p->dir, p->name, O_RDONLY);
    int to = vault_dir_open_file(p->own, VAULT_DB, O_RDWR | O_CREAT | O_EXCL);
    bool done = from >= 0 && to >= 0 && copy_sparse_file(from, to) &&
                pwrite(to, header, HEADER, 0) == HEADER;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return done;
}

static bool file_has_database_header(const struct repair *p)
{
    char magic[16];
    int fd = vault_dir_open_file(p->dir, p->name, O_RDONLY);
    bool has = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic &&
               memcmp(magic, "SQLite format 3", sizeof magic) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

static void link_or_unlink_bodies(const struct repair *p, bool link)
{
    int from = vault_dir_open_sub(p->dir, VAULT_BODIES, false);
    int to = vault_dir_open_sub(p->own, VAULT_BODIES, link);
    int again = link ? from : to;
    again = again >= 0 ? openat(again, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        (void)!(link ? linkat(from, e->d_name, to, e->d_name, 0) : unlinkat(to, e->d_name, 0));
    }
    if (d != NULL)
        closedir(d);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
}

/* Makes the directory `.repair-PID` with links to the files of the damaged database. Returns false
 * on failure; then `error` has the reason, or `error` is empty and errno has the reason. */
static bool make_link_directory(struct repair *p, struct buf *error)
{
    char wal[DAMAGED_NAME_MAX + 8], own[32], header[HEADER];
    bool has_header = file_has_database_header(p);
    snprintf(own, sizeof own, ".repair-%ld", (long)getpid());
    snprintf(wal, sizeof wal, "%s-wal", p->name);
    int n = snprintf(p->path, sizeof p->path, "%s/%s", p->d->vault, own);
    if (n < 0 || (size_t)n >= sizeof p->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    if ((p->own = vault_dir_open_sub(p->dir, own, true)) < 0)
        return false;
    if (!has_header && !make_database_header(p, header, error))
        return false;
    /* an error is ignored: a vault may have no write-ahead log */
    (void)!linkat(p->dir, wal, p->own, VAULT_DB "-wal", 0);
    link_or_unlink_bodies(p, true);
    return has_header ? linkat(p->dir, p->name, p->own, VAULT_DB, 0) == 0
                      : copy_database_with_header(p, header);
}

static void remove_link_directory(const struct repair *p)
{
    if (p->own < 0)
        return;
    link_or_unlink_bodies(p, false);
    repair_unlink_database(p);
    (void)!unlinkat(p->own, VAULT_BODIES, AT_REMOVEDIR);
    close(p->own);
    (void)!rmdir(p->path);
}

/* ---- one session ---- */

static bool is_valid_message(const struct query_message *m)
{
    struct json_scan scan;
    if (m->kind == KIND_UNKNOWN)
        return false;
    return m->body.p == NULL || m->kind == KIND_NOISE || m->kind == KIND_STDERR ||
           json_scan(m->body, NULL, NULL, &scan) == 0;
}

static bool import_message_for_repair(void *ctx, const struct query_message *stored)
{
    struct repair *p = ctx;
    struct query_message m = *stored;
    p->last = m.seq;
    if (m.is_large) {
        buf_clear(&p->large);
        bool read = query_body(p->q, slice_of(p->uid), &m, BODY_MAX, &p->large) == 0;
        m.body = read ? buf_slice(&p->large) : (struct slice){0};
        m.is_large = false;
        if (!read)
            count_unreadable_item(p, query_error(p->q));
    }
    if (!is_valid_message(&m)) {
        count_unreadable_item(p, "a message is not valid JSON");
        return true;
    }
    p->status = import_message(p->import, &m);
    p->got += p->status == 0;
    return p->status == 0;
}

/* Reads the messages of a session in ranges of numbers. If a range cannot be read, reads smaller
 * ranges, down to a single number. After each range that can be read, the next range is larger,
 * because up to 2^36 unused numbers may follow. If a single number cannot be read, skips it. If the
 * next attempts fail as well, skips 2, 4, 8, … numbers. */
static void repair_read_messages(struct repair *p, int64_t id)
{
    int64_t from = 1, span = INT64_MAX, step = 1, last = 0, t_us;
    if (query_last_message(p->q, id, &last, &t_us) < 0) {
        count_unreadable_item(p, query_error(p->q));
        last = GUESS_MAX;
    }
    while (from <= last && p->status == 0) {
        int64_t to = span <= last - from ? from + span - 1 : last;
        p->last = from - 1;
        if (query_timeline(p->q, id, from, to, import_message_for_repair, NULL, p) == 0) {
            from = to + 1;
            span = span < INT64_MAX / 8 ? span * 8 : INT64_MAX;
            step = 1;
        } else if (p->last >= from) {
            from = p->last + 1;
        } else if (span > 1) {
            span = span > SPAN ? SPAN : span / 8;
        } else {
            if (step == 1)
                count_unreadable_item(p, query_error(p->q));
            from += step;
            step *= 2;
        }
    }
}

static int repair_one_session(struct repair *p, int64_t id, struct buf *error)
{
    struct query_session s;
    struct buf origin = {0};
    if (query_session_by_id(p->q, id, &s) < 0) {
        count_unreadable_item(p, query_error(p->q));
        return 0;
    }
    int st = import_open(&p->import, p->d->vault, error);
    if (st < 0)
        return st;
    snprintf(p->uid, sizeof p->uid, "%.*s", (int)size_min(s.uid.n, UID_LEN), s.uid.p);
    p->got = 0;
    p->status = import_session(p->import, &s, NULL);
    struct json_out j = json_out_to(&origin);
    json_out_object(&j, NULL);
    json_out_str(&j, "origin", p->name);
    json_out_str(&j, "uid", p->uid);
    json_out_end(&j);
    if (origin.n > 2 && !origin.failed)
        import_set_event_members(p->import, (struct slice){origin.p + 1, origin.n - 2});
    if (p->status == 0)
        repair_read_messages(p, id);
    if (p->status == 0)
        p->status = import_commit(p->import);
    if (p->status < 0)
        buf_adds(error, import_error_text(p->import));
    p->sessions += p->status == 0;
    p->messages += p->status == 0 ? p->got : 0;
    p->before += p->status > 0;
    import_close(p->import);
    buf_close(&origin);
    return p->status < 0 ? p->status : 0;
}

/* ---- one database ---- */

static bool collect_session_for_repair(void *ctx, const struct query_session *s)
{
    struct repair *p = ctx;
    if (!GROW(p->id, p->n, p->cap))
        return false;
    p->id[p->n++] = s->id;
    return true;
}

static void report_repair_result(struct repair *p, int st, struct buf *error)
{
    char remedy[4400];
    snprintf(remedy, sizeof remedy, "sqlite3 '%s/%s' .recover | sqlite3 recovered.db may find more",
             p->d->vault, p->name);
    if (st < 0)
        doctor_report_fault(p->d, "repair", remedy, "%s: %s", p->name,
                            st == MI_ENOMEM ? "out of memory" : buf_str(error));
    else if (p->lost > 0)
        doctor_report_fault(
            p->d, "repair", remedy,
            "%s: %lld sessions with %lld messages are in the vault now, %lld sessions were in the "
            "vault already; something is missing in %lld places: %s",
            p->name, (long long)p->sessions, (long long)p->messages, (long long)p->before,
            (long long)p->lost, buf_str(&p->why));
    else
        doctor_report_note(p->d, "repair",
                           "%s: %lld sessions with %lld messages are in the vault now, %lld "
                           "sessions were in the vault already; nothing is missing",
                           p->name, (long long)p->sessions, (long long)p->messages,
                           (long long)p->before);
}

static void repair_database(void *ctx, const char *name)
{
    struct repair *of = ctx;
    struct repair p = {.d = of->d, .name = name, .dir = of->dir, .own = -1};
    struct buf error = {0};
    int st = 0;
    if (!make_link_directory(&p, &error)) {
        if (error.n == 0)
            buf_printf(&error, "cannot be linked or copied: %s", strerror(errno));
        st = MI_EIO;
    }
    if (st == 0)
        st = query_open(&p.q, p.path, &error);
    if (st == 0 && query_sessions(p.q, 0, collect_session_for_repair, &p) < 0)
        count_unreadable_item(&p, query_error(p.q));
    while (st == 0 && p.n > 0) /* the oldest session is last in p.id and is repaired first */
        st = repair_one_session(&p, p.id[--p.n], &error);
    query_close(p.q);
    remove_link_directory(&p);
    report_repair_result(&p, st, &error);
    free(p.id);
    buf_close(&p.why);
    buf_close(&p.large);
    buf_close(&error);
}

void doctor_repair(struct doctor *d)
{
    struct repair p = {.d = d, .dir = open(d->vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (p.dir < 0)
        return;
    if (damaged_db_count(p.dir, NULL) == 0)
        doctor_report_note(d, "repair", "no database was put aside");
    damaged_db_visit_all(p.dir, repair_database, &p);
    close(p.dir);
}
