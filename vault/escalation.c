#include "vault/escalation.h"

#include "base/clock.h"
#include "base/text.h"
#include "vault/dir.h"
#include "vault/redact.h"
#include "vault/uid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 20) /* a larger one was not made by us, and its count stands still */
#define NAME_MAX_LEN 128           /* with the NUL: as in struct escalation_memory */
#define SERVER_MAX 64              /* bytes of a server's name in a file's */
#define TAIL_MAX (SERVER_MAX + 32)
#define STAMP_LEN 20           /* 20261121T101540.043Z */
#define VALUE_MAX 256          /* characters of a value in the front matter */
#define LONG ((size_t)1 << 20) /* a longer text is told of, not shown */
#define WIP ".new-"            /* what a file is called until it is whole */

static const struct {
    const char *name;
    const char *look; /* what a human should look at */
} causes[ESCALATION_CAUSES] = {
    [ESCALATION_HANG] =
        {"hang",
         "Does the server wait for something that never comes: a host on the network, a lock, an "
         "answer to a question that it asks on a terminal? The post-mortem says in what its "
         "process waited. If such calls simply take long, give them more time: `--timeout "
         "tool:NAME=5m`."},
    [ESCALATION_CRASH_LOOP] =
        {"crash-loop",
         "Start the server by hand with the command above and see what it prints; its last lines "
         "of stderr are below, as far as there were any. Clients hand down little more than HOME "
         "and PATH: what the server needs beyond these must stand in the client's configuration."},
    [ESCALATION_AUTH] =
        {"auth",
         "The server's credentials were refused. Renew them where the server takes them from, "
         "often `env` in the client's configuration, and restart it. Such calls are not sent again "
         "by the interposer."},
    [ESCALATION_RECORD_ERROR] =
        {"record-error",
         "Is the disk full, or the vault read-only or gone? What could not be recorded is told by "
         "`gap` events once recording works again. With `--on-record-error stop` a session ends "
         "rather than to go on without a record."},
};

const char *escalation_cause_name(enum escalation_cause cause)
{
    return causes[cause].name;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* What a text is says how secrets are looked for in it. */
enum text_kind { TEXT_PLAIN, TEXT_MESSAGE, TEXT_VALUE, TEXT_LINE };

struct text {
    struct slice s;
    enum text_kind kind;
    struct redact_lines *lines; /* of TEXT_LINE */
};

/* Those of a peer and of programs; TEXT_PLAIN may be our own words. */
static struct text plain(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_PLAIN};
}

static struct text message(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_MESSAGE};
}

static struct text value(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_VALUE};
}

static int sanitize(struct redact *r, struct text t, struct buf *out, size_t *ret_n)
{
    switch (t.kind) {
    case TEXT_MESSAGE:
        return redact_message(r, t.s, REDACT_CONTENT, out, ret_n);
    case TEXT_VALUE:
        return redact_value(r, t.s, out, ret_n);
    case TEXT_LINE:
        return redact_line(r, t.lines, t.s, out, ret_n);
    default:
        return redact_text(r, t.s, out, ret_n);
    }
}

/* The one door: every text that is written to a file comes through here. */
static void let_in(struct buf *b, struct text t)
{
    struct redact *r = redact_present();
    struct buf clean = {0};
    size_t n = 0;
    if (t.s.n > LONG)
        buf_printf(b, "[%zu bytes]", t.s.n);
    else if (r == NULL || sanitize(r, t, &clean, &n) < 0)
        b->failed = true;
    else
        buf_slice_add(b, n > 0 ? buf_slice(&clean) : t.s);
    buf_close(&clean);
}

/* A value of the front matter: a JSON string, which is a YAML string as well. */
static void add_value(struct buf *b, const char *key, struct slice text)
{
    struct buf clean = {0};
    if (text.p == NULL)
        return;
    let_in(&clean, plain(text));
    buf_printf(b, "%s: ", key);
    text_json_cut(b, buf_slice(&clean), VALUE_MAX);
    buf_addc(b, '\n');
    b->failed |= clean.failed;
    buf_close(&clean);
}

/* A paragraph. What Markdown would turn into a link, an image or HTML stays what it is. */
static void add_prose(struct buf *b, struct slice text)
{
    struct buf clean = {0}, visible = {0};
    if (text.n == 0)
        return;
    let_in(&clean, plain(text));
    text_visible(&visible, text_head(buf_slice(&clean), ESCALATION_TEXT_MAX));
    for (size_t i = 0; i < visible.n; i++) {
        if (strchr("\\<[`", visible.p[i]) != NULL)
            buf_addc(b, '\\');
        buf_addc(b, visible.p[i]);
    }
    buf_adds(b, "\n\n");
    b->failed |= clean.failed || visible.failed;
    buf_close(&clean);
    buf_close(&visible);
}

/* A line of code by its indentation: nothing in it can end it, or be more than text. */
static void add_code(struct buf *b, struct text text)
{
    struct buf clean = {0};
    let_in(&clean, text);
    struct slice head = text_head(buf_slice(&clean), ESCALATION_TEXT_MAX);
    buf_adds(b, "    ");
    text_visible(b, head);
    if (head.n < clean.n)
        buf_printf(b, "… [+%zu bytes]", clean.n - head.n);
    buf_addc(b, '\n');
    b->failed |= clean.failed;
    buf_close(&clean);
}

static void add_code_part(struct buf *b, const char *title, struct text text)
{
    if (text.s.n == 0)
        return;
    buf_printf(b, "%s:\n\n", title);
    add_code(b, text);
    buf_addc(b, '\n');
}

static struct slice text_of(const char *s)
{
    return s != NULL ? slice_of(s) : (struct slice){0};
}

/* ---- the file ------------------------------------------------------------------------------- */

static void add_time(struct buf *b, const char *key, int64_t wall_us)
{
    char text[CLOCK_TEXT_MAX];
    clock_utc_text(wall_us, text);
    buf_printf(b, "%s: \"%s\"\n", key, text);
}

/* The lines by which a file is known again. */
static void add_identity(struct buf *b, const struct escalation *e)
{
    buf_printf(b, "cause: %s\n", causes[e->cause].name);
    add_value(b, "server", text_of(e->server));
    if (e->tool.n > 0)
        add_value(b, "tool", e->tool);
    else if (e->method.n > 0)
        add_value(b, "method", e->method);
}

static void add_front_matter(struct buf *b, const struct escalation *e)
{
    buf_adds(b, "---\n");
    add_identity(b, e);
    if (e->tool.n > 0)
        add_value(b, "method", e->method);
    add_value(b, "session", text_of(e->session));
    if (e->seq != 0)
        buf_printf(b, "seq: %llu\n", (unsigned long long)e->seq);
    add_time(b, "first_at", e->at_us);
    add_time(b, "last_at", e->at_us);
    buf_adds(b, "count: 1\n");
    add_value(b, "action", text_of(e->action));
    buf_adds(b, "interposer: \"" MI_VERSION "\"\n---\n\n");
}

static void add_call(struct buf *b, const struct escalation *e)
{
    if (e->command == NULL && e->method.n == 0 && e->request.n == 0)
        return;
    buf_adds(b, e->method.n > 0 ? "## The call\n\n" : "## The server\n\n");
    if (e->method.n > 0) {
        struct buf line = {0};
        buf_slice_add(&line, e->method);
        if (e->tool.n > 0) {
            buf_addc(&line, ' ');
            buf_slice_add(&line, e->tool);
        }
        add_code(b, plain(buf_slice(&line)));
        buf_addc(b, '\n');
        b->failed |= line.failed;
        buf_close(&line);
    }
    add_code_part(b, "The server's command", value(text_of(e->command)));
    add_code_part(b, "The request", message(e->request));
    add_code_part(b, "The answer", message(e->answer));
}

static void add_look(struct buf *b, const struct escalation *e)
{
    buf_adds(b, "## What to look at\n\n");
    buf_adds(b, causes[e->cause].look);
    buf_adds(b, "\n\n");
    add_prose(b, e->look);
    if (e->session != NULL) {
        struct buf line = {0};
        buf_adds(b, "All of it, message by message:\n\n");
        buf_printf(&line, "mcp-interposer show %s", e->session);
        add_code(b, plain(buf_slice(&line)));
        buf_addc(b, '\n');
        b->failed |= line.failed;
        buf_close(&line);
    }
}

static void add_stderr(struct buf *b, const struct escalation *e)
{
    size_t first = e->stderr_n > ESCALATION_LINES_MAX ? e->stderr_n - ESCALATION_LINES_MAX : 0;
    if (e->stderr_n == 0)
        return;
    buf_adds(b, "## Last lines of the server's stderr\n\n");
    struct redact_lines lines = {0}; /* a private key may span several */
    for (size_t i = 0; i < e->stderr_n; i++) {
        struct buf before = {0};
        struct text t = {.s = e->stderr_lines[i], .kind = TEXT_LINE, .lines = &lines};
        if (i >= first)
            add_code(b, t);
        else
            let_in(&before, t);
        buf_close(&before);
    }
    buf_addc(b, '\n');
}

static void add_body(struct buf *b, const struct escalation *e)
{
    buf_printf(b, "# %s\n\n", causes[e->cause].name);
    if (e->happened.n > 0) {
        buf_adds(b, "## What happened\n\n");
        add_prose(b, e->happened);
    }
    add_call(b, e);
    if (e->done.n > 0) {
        buf_adds(b, "## What was done\n\n");
        add_prose(b, e->done);
    }
    add_look(b, e);
    if (e->post_mortem.n > 0 || e->post_mortem_json.n > 0) {
        buf_adds(b, "## Post-mortem\n\n");
        add_prose(b, e->post_mortem);
        if (e->post_mortem_json.n > 0) {
            add_code(b, value(e->post_mortem_json));
            buf_addc(b, '\n');
        }
    }
    add_stderr(b, e);
    if (e->last_to_server.n > 0 || e->last_to_client.n > 0) {
        buf_adds(b, "## Last messages\n\n");
        add_code_part(b, "To the server", message(e->last_to_server));
        add_code_part(b, "To the client", message(e->last_to_client));
    }
}

static void copy_text(char *to, size_t max, const char *text)
{
    size_t n = size_min(strlen(text), max - 1);
    memcpy(to, text, n);
    to[n] = '\0';
}

/* ---- names ---------------------------------------------------------------------------------- */

static void stamp_of(int64_t wall_us, char ret[STAMP_LEN + 1])
{
    struct tm tm;
    time_t s = (time_t)(wall_us / 1000000);
    char text[64] = "";
    if (gmtime_r(&s, &tm) != NULL) {
        size_t n = strftime(text, sizeof text, "%Y%m%dT%H%M%S", &tm);
        snprintf(text + n, sizeof text - n, ".%03dZ", (int)(wall_us / 1000 % 1000));
    }
    copy_text(ret, STAMP_LEN + 1, text);
}

/* The time in a name; 0: it has none. */
static int64_t stamp_time(const char *name)
{
    struct tm tm = {0};
    const char *end = strptime(name, "%Y%m%dT%H%M%S", &tm);
    if (end != name + 15 || *end != '.')
        return 0;
    return (int64_t)timegm(&tm) * 1000000 + strtol(end + 1, NULL, 10) * 1000;
}

/* "-hang-files.md": what follows the time. Letters, digits and a few marks stay, the rest is a `_`. */
static void tail_of(const struct escalation *e, char ret[TAIL_MAX])
{
    char server[SERVER_MAX + 1];
    size_t n = 0;
    for (const char *s = e->server != NULL ? e->server : ""; *s != '\0' && n < SERVER_MAX; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                     (*s >= '0' && *s <= '9') || *s == '.' || *s == '_' || *s == '-';
        server[n++] = plain ? *s : '_';
    }
    server[n] = '\0';
    snprintf(ret, TAIL_MAX, "-%s-%s.md", causes[e->cause].name, n > 0 ? server : "server");
}

static uint64_t key_of(const struct buf *identity)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < identity->n; i++)
        h = (h ^ (unsigned char)identity->p[i]) * 1099511628211u;
    return h != 0 ? h : 1;
}

/* ---- reading and writing in the directory --------------------------------------------------- */

static int write_all(int fd, const struct buf *b)
{
    for (size_t done = 0; done < b->n;) {
        ssize_t n = write(fd, b->p + done, b->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MI_EIO;
        done += (size_t)n;
    }
    return 0;
}

static int read_all(int dir, const char *name, struct buf *b)
{
    struct stat st;
    int fd = vault_dir_file(dir, name, O_RDONLY);
    if (fd < 0)
        return MI_EIO;
    b->max = FILE_MAX;
    ssize_t n = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= FILE_MAX && buf_room(b, (size_t)st.st_size)) {
        n = pread(fd, b->p, (size_t)st.st_size, 0);
        b->n = n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n > 0 ? 0 : MI_EIO;
}

/* A file under another name, whole and, if asked, on the disk. ret_name has NAME_MAX_LEN bytes. */
static int write_aside(int dir, const struct buf *b, bool sync, char *ret_name)
{
    char unique[UID_LEN + 1];
    if (uid_make(clock_wall_us(), unique) < 0)
        return MI_EIO;
    snprintf(ret_name, NAME_MAX_LEN, WIP "%s", unique);
    int fd = vault_dir_file(dir, ret_name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return MI_EIO;
    int st = write_all(fd, b);
    if (st == 0 && sync && fsync(fd) != 0)
        st = MI_EIO;
    int e = errno;
    if (close(fd) != 0 && st == 0) {
        st = MI_EIO;
        e = errno;
    }
    if (st < 0)
        unlinkat(dir, ret_name, 0);
    errno = e;
    return st;
}

/* To a name that nobody has. MI_EIO with EEXIST: somebody has it. */
static int put_in_place(int dir, const char *aside, const char *name)
{
    if (renameat2(dir, aside, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return MI_EIO;
    /* a file system that cannot: the lock on the directory keeps others of us away */
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return MI_EIO;
    }
    return renameat(dir, aside, dir, name) == 0 ? 0 : MI_EIO;
}

/* The lock goes with the descriptor. */
static bool lock(int dir)
{
    for (int64_t until = clock_mono_us() + ESCALATION_WAIT_US;;) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return true;
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_mono_us() >= until)
            return false;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- counting ------------------------------------------------------------------------------- */

/* The front matter of a file of ours, from its first line to the last before the second `---`. */
static struct slice front_matter(const struct buf *file)
{
    struct slice s = {file->p, file->n};
    if (!slice_begins(s, "---\n"))
        return (struct slice){0};
    const char *end = memmem(s.p + 3, s.n - 3, "\n---\n", 5);
    return end != NULL ? (struct slice){s.p + 4, (size_t)(end + 1 - s.p - 4)} : (struct slice){0};
}

/* The value on the line of this key, without the newline; {NULL, 0}: there is no such line. */
static struct slice value_of(struct slice front, const char *key)
{
    size_t n = strlen(key);
    if (front.p == NULL)
        return (struct slice){0};
    for (const char *p = front.p, *end = p + front.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        if ((size_t)(eol - p) >= n + 2 && memcmp(p, key, n) == 0 && memcmp(p + n, ": ", 2) == 0)
            return (struct slice){p + n + 2, (size_t)(eol - p) - n - 2};
        p = eol + 1;
    }
    return (struct slice){0};
}

/* Every line of identity is a line of the file, which is about no tool if identity is not. */
static bool is_about(const struct buf *file, struct slice identity)
{
    struct slice front = front_matter(file);
    if (front.p == NULL)
        return false;
    struct slice mine = value_of(identity, "tool"), its = value_of(front, "tool");
    if ((mine.p == NULL) != (its.p == NULL))
        return false;
    for (const char *p = identity.p, *end = p + identity.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)(eol + 1 - p);
        const char *found = memmem(front.p, front.n, p, n);
        if (found == NULL || (found > front.p && found[-1] != '\n'))
            return false;
        p = eol + 1;
    }
    return true;
}

/* The file anew, with these two values changed. */
static void count_up(struct buf *b, const struct buf *file, struct slice count, struct slice last,
                     uint64_t more, int64_t last_us)
{
    char text[CLOCK_TEXT_MAX];
    bool count_first = count.p < last.p;
    struct slice a = count_first ? count : last, z = count_first ? last : count;
    clock_utc_text(last_us, text);
    buf_add(b, file->p, (size_t)(a.p - file->p));
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == count_first)
            buf_printf(b, "%llu", strtoull(count.p, NULL, 10) + (unsigned long long)more);
        else
            buf_printf(b, "\"%s\"", text);
        const char *from = i == 0 ? a.p + a.n : z.p + z.n;
        const char *to = i == 0 ? z.p : file->p + file->n;
        buf_add(b, from, (size_t)(to - from));
    }
}

/* The directory is locked. MI_ENOENT: the file is gone, or no longer one of ours. */
static int bump(int dir, struct escalation_memory *s)
{
    struct buf file = {0}, anew = {0};
    char aside[NAME_MAX_LEN];
    int st = read_all(dir, s->name, &file) < 0 ? MI_ENOENT : 0;
    struct slice front = st == 0 ? front_matter(&file) : (struct slice){0};
    struct slice count = value_of(front, "count"), last = value_of(front, "last_at");
    if (count.p == NULL || last.p == NULL)
        st = MI_ENOENT;
    if (st == 0) {
        count_up(&anew, &file, count, last, s->waiting, s->last_us);
        st = anew.failed ? MI_ENOMEM : write_aside(dir, &anew, false, aside);
    }
    if (st == 0 && renameat(dir, aside, dir, s->name) != 0) {
        int e = errno;
        unlinkat(dir, aside, 0);
        errno = e;
        st = MI_EIO;
    }
    if (st == 0)
        s->waiting = 0;
    buf_close(&file);
    buf_close(&anew);
    return st;
}

static int write_count(struct escalation_memory *s, int vault_fd)
{
    int dir = vault_dir_sub(vault_fd, VAULT_ESCALATIONS, false);
    if (dir < 0)
        return MI_ENOENT;
    int st = lock(dir) ? bump(dir, s) : 0; /* else the next time, or at the end */
    close(dir);
    return st;
}

/* ---- looking for a file --------------------------------------------------------------------- */

struct search {
    int dir;
    struct slice identity;
    const char *tail;
    char from[STAMP_LEN + 1], to[STAMP_LEN + 1]; /* of files that are recent */
    size_t looked_n;
    char found[NAME_MAX_LEN], newest[NAME_MAX_LEN]; /* "": none */
};

/* Something that a kill in the middle of a write has left. */
static void clean_up(int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        clock_wall_us() / 1000000 - (int64_t)st.st_mtime > ESCALATION_AGAIN_US / 1000000)
        unlinkat(dir, name, 0);
}

static void look_at(struct search *s, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(name, WIP, strlen(WIP)) == 0) {
        clean_up(s->dir, name);
        return;
    }
    if (n >= NAME_MAX_LEN || n <= STAMP_LEN || strcmp(name + STAMP_LEN, s->tail) != 0 ||
        strncmp(name, s->from, STAMP_LEN) < 0 || strncmp(name, s->to, STAMP_LEN) > 0)
        return;
    s->looked_n++;
    if (strcmp(name, s->newest) > 0)
        copy_text(s->newest, sizeof s->newest, name);
    struct buf file = {0};
    if (strcmp(name, s->found) > 0 && s->looked_n <= (size_t)2 * ESCALATION_FILES_MAX &&
        read_all(s->dir, name, &file) == 0 && is_about(&file, s->identity))
        copy_text(s->found, sizeof s->found, name);
    buf_close(&file);
}

/* The recent file about the same, or the newest one when there are too many. false: make one. */
static bool search(int dir, const struct escalation *e, const char *tail, struct slice identity,
                   char *ret_name)
{
    struct search s = {.dir = dir, .identity = identity, .tail = tail};
    stamp_of(e->at_us - ESCALATION_AGAIN_US, s.from);
    stamp_of(e->at_us + ESCALATION_AGAIN_US, s.to); /* the clock may have been set back */
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        look_at(&s, entry->d_name);
    closedir(d);
    const char *name = s.found;
    if (name[0] == '\0' && s.looked_n >= ESCALATION_FILES_MAX)
        name = s.newest;
    copy_text(ret_name, NAME_MAX_LEN, name);
    return name[0] != '\0';
}

/* ---- the calls ------------------------------------------------------------------------------ */

static int make_file(int dir, const struct escalation *e, const char *tail, char *ret_name)
{
    struct buf b = {0};
    char aside[NAME_MAX_LEN], stamp[STAMP_LEN + 1];
    add_front_matter(&b, e);
    add_body(&b, e);
    int st = b.failed ? MI_ENOMEM : write_aside(dir, &b, true, aside);
    buf_close(&b);
    if (st < 0)
        return st;
    /* two of the same millisecond, about two tools, are told apart by another one */
    for (int i = 0; i < 1000; i++) {
        stamp_of(e->at_us + i * 1000, stamp);
        snprintf(ret_name, NAME_MAX_LEN, "%s%s", stamp, tail);
        st = put_in_place(dir, aside, ret_name);
        if (st == 0 || errno != EEXIST)
            break;
    }
    int error = errno;
    if (st < 0)
        unlinkat(dir, aside, 0);
    else if (fsync(dir) != 0)
        error = errno; /* it is there; whether a power cut would spare it is not known */
    errno = error;
    return st;
}

static struct escalation_memory *find(struct escalations *m, uint64_t key)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key == key)
            return &m->slot[i];
    return NULL;
}

/* A place for a new one: that of the one which has been silent for longest. */
static struct escalation_memory *take_slot(struct escalations *m, int vault_fd)
{
    struct escalation_memory *old = &m->slot[0];
    for (size_t i = 1; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].last_us < old->last_us)
            old = &m->slot[i];
    if (old->key != 0 && old->waiting > 0)
        (void)write_count(old, vault_fd); /* or its count stays behind by so many */
    return old;
}

/* Another one of a known matter. MI_ENOENT: the file is not there any more. */
static int again(struct escalation_memory *s, int vault_fd, int64_t at_us)
{
    s->waiting++;
    s->last_us = at_us;
    if (at_us >= s->written_us && at_us - s->written_us < ESCALATION_QUIET_US)
        return 0;
    s->written_us = at_us;
    return write_count(s, vault_fd);
}

static int begin(struct escalation_memory *s, int vault_fd, const struct escalation *e,
                 const struct buf *identity, bool *ret_new)
{
    char tail[TAIL_MAX];
    int dir = vault_dir_sub(vault_fd, VAULT_ESCALATIONS, true);
    if (dir < 0)
        return MI_EIO;
    tail_of(e, tail);
    *s = (struct escalation_memory){.written_us = e->at_us, .last_us = e->at_us, .waiting = 1};
    bool locked = lock(dir);
    int st = MI_ENOENT;
    *ret_new = false;
    if (locked && search(dir, e, tail, buf_slice(identity), s->name))
        st = bump(dir, s);
    if (st == MI_ENOENT) {
        st = make_file(dir, e, tail, s->name);
        s->waiting = 0;
        *ret_new = true;
    }
    if (st == 0) {
        s->key = key_of(identity);
        s->made_us = stamp_time(s->name);
    }
    int error = errno;
    close(dir);
    errno = error;
    return st;
}

int escalation_write(struct escalations *m, int vault_fd, const struct escalation *e,
                     struct buf *ret_path, bool *ret_new)
{
    struct buf identity = {0};
    bool is_new = false;
    add_identity(&identity, e);
    if (identity.failed) {
        buf_close(&identity);
        return MI_ENOMEM;
    }
    struct escalation_memory *s = find(m, key_of(&identity));
    int st = MI_ENOENT;
    if (s != NULL && e->at_us - s->made_us < ESCALATION_AGAIN_US)
        st = again(s, vault_fd, e->at_us);
    if (st == MI_ENOENT) {
        if (s == NULL)
            s = take_slot(m, vault_fd);
        st = begin(s, vault_fd, e, &identity, &is_new);
    }
    buf_close(&identity);
    if (st < 0)
        return st;
    buf_printf(ret_path, VAULT_ESCALATIONS "/%s", s->name);
    *ret_new = is_new;
    return ret_path->failed ? MI_ENOMEM : 0;
}

void escalations_close(struct escalations *m, int vault_fd)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key != 0 && m->slot[i].waiting > 0)
            (void)write_count(&m->slot[i], vault_fd);
    *m = (struct escalations){0};
}
