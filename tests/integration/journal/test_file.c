/* The files of journals: which directory is used, what happens to hostile files, who holds which lock, the listing. */
#include "journal/journal_file.h"

#include "base/clock.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define SKIPPED 77
#define DEADLINE_US 20000000

static char base[PATH_MAX];     /* a directory on tmpfs, of this test */
static char journals[PATH_MAX]; /* below it, not made */

static bool is_tmpfs(const char *path)
{
    struct statfs fs;
    return statfs(path, &fs) == 0 && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

static int setup(void **state)
{
    (void)state;
    if (!is_tmpfs("/dev/shm"))
        return 0; /* each test is skipped */
    strcpy(base, "/dev/shm/mi-test-XXXXXX");
    assert_non_null(mkdtemp(base));
    assert_true(snprintf(journals, sizeof journals, "%s/journals", base) > 0);
    journal_file_set_dir(journals);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    journal_file_set_dir(NULL);
    char command[PATH_MAX + 16];
    if (base[0] == '\0')
        return 0;
    assert_true(snprintf(command, sizeof command, "rm -rf '%s'", base) > 0);
    return system(command) == 0 ? 0 : -1;
}

static void need_tmpfs(void)
{
    if (base[0] == '\0') {
        print_message("/dev/shm is not on tmpfs\n");
        skip();
    }
}

static void make_uid(char *uid, int64_t at_us)
{
    assert_int_equal(uid_make(at_us, uid), 0);
}

static struct journal_file make(char *uid)
{
    struct journal_file f;
    struct buf why = {0};
    make_uid(uid, clock_wall_us());
    assert_int_equal(journal_file_create(&f, uid, &why), 0);
    assert_string_equal(buf_str(&why), "");
    assert_true(f.has_name);
    buf_close(&why);
    return f;
}

static const char *path_of(const char *uid)
{
    static char path[2 * PATH_MAX];
    assert_true(snprintf(path, sizeof path, "%s/%s", journals, uid) > 0);
    return path;
}

/* A journal without a name is made, and the reason has this text. It works like any other. */
static void check_unnamed(const char *reason)
{
    char uid[UID_LEN + 1];
    struct journal_file f, reader;
    struct buf why = {0};
    make_uid(uid, clock_wall_us());
    assert_int_equal(journal_file_create(&f, uid, &why), 0);
    assert_false(f.has_name);
    if (strstr(buf_str(&why), reason) == NULL)
        print_error("'%s' is not in '%s'\n", reason, buf_str(&why));
    assert_non_null(strstr(buf_str(&why), reason));
    struct stat st;
    assert_int_equal(fstat(f.fd, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(pwrite(f.fd, "x", 1, 0), 1);
    assert_int_equal(journal_file_reopen(&reader, &f), 0);
    assert_false(reader.has_name);
    assert_true(journal_file_is_locked(&f, JOURNAL_READER));
    assert_true(journal_file_is_locked(&reader, JOURNAL_WRITER));
    char c;
    assert_int_equal(pread(reader.fd, &c, 1, 0), 1);
    journal_file_remove(&f);
    journal_file_close(&reader);
    journal_file_close(&f);
    buf_clear(&why);
    journal_file_find_problem(&why);
    assert_non_null(strstr(buf_str(&why), reason));
    buf_close(&why);
}

/* ---- the directory ---- */

static void test_file_missing_directory_is_made_private(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1];
    mode_t old = umask(0777);
    struct journal_file f = make(uid);
    umask(old);
    struct stat st;
    assert_int_equal(stat(journals, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(path_of(uid), &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0600);
    assert_int_equal(st.st_size, 0);
    assert_int_equal(fcntl(f.fd, F_GETFD), FD_CLOEXEC);
    int dir = journal_file_open_dir();
    assert_true(dir >= 0);
    assert_int_equal(fcntl(dir, F_GETFD), FD_CLOEXEC);
    close(dir);
    journal_file_remove(&f);
    assert_int_equal(access(path_of(uid), F_OK), -1);
    journal_file_close(&f);
    journal_file_close(&f);
    assert_int_equal(f.fd, -1);
}

static void test_file_default_directory_is_named_after_the_user(void **state)
{
    (void)state;
    journal_file_set_dir(NULL);
    struct buf b = {0}, want = {0};
    journal_file_append_dir(&b);
    buf_printf(&want, "/dev/shm/mcp-interposer-%u", (unsigned)geteuid());
    assert_string_equal(buf_str(&b), buf_str(&want));
    buf_close(&b);
    buf_close(&want);
}

static void test_file_relative_path_and_slashes_at_the_end(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1], here[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(base), 0);
    journal_file_set_dir("journals//");
    assert_int_equal(chdir(here), 0);
    struct buf b = {0};
    journal_file_append_dir(&b);
    assert_string_equal(buf_str(&b), journals);
    buf_close(&b);
    struct journal_file f = make(uid);
    journal_file_close(&f);
}

static void test_file_too_long_path_is_not_used(void **state)
{
    (void)state;
    static char path[PATH_MAX + 2];
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    journal_file_set_dir(path);
    check_unnamed("too long");
    assert_int_equal(journal_file_open_dir(), -1);
}

static void test_file_directory_that_cannot_be_made_is_not_used(void **state)
{
    (void)state;
    need_tmpfs();
    char path[2 * PATH_MAX];
    assert_true(snprintf(path, sizeof path, "%s/missing/journals", base) > 0);
    journal_file_set_dir(path);
    check_unnamed("cannot make");
    assert_int_equal(journal_file_open_dir(), -1);
}

static void test_file_directory_of_another_user_is_not_used(void **state)
{
    (void)state;
    need_tmpfs();
    if (geteuid() == 0) {
        assert_int_equal(mkdir(journals, 0700), 0);
        assert_int_equal(chown(journals, 12345, (gid_t)-1), 0);
    } else {
        journal_file_set_dir("/dev/shm");
    }
    check_unnamed("belongs to another user");
}

static void test_file_directory_that_others_can_enter_is_not_used(void **state)
{
    (void)state;
    need_tmpfs();
    static const mode_t modes[] = {0755, 0770, 0701, 0500, 0777};
    assert_int_equal(mkdir(journals, 0700), 0);
    for (size_t i = 0; i < MI_COUNT(modes); i++) {
        assert_int_equal(chmod(journals, modes[i]), 0);
        check_unnamed("instead of 0700");
        struct stat st;
        assert_int_equal(stat(journals, &st), 0);
        assert_int_equal(st.st_mode & 0777, modes[i]);
    }
}

static void test_file_symbolic_link_to_a_directory_is_not_followed(void **state)
{
    (void)state;
    need_tmpfs();
    char target[2 * PATH_MAX], slash[PATH_MAX + 1];
    assert_true(snprintf(target, sizeof target, "%s/target", base) > 0);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, journals), 0);
    check_unnamed("is a symbolic link");
    assert_true(snprintf(slash, sizeof slash, "%s/", journals) > 0);
    journal_file_set_dir(slash);
    check_unnamed("is a symbolic link");
    assert_int_equal(rmdir(target), 0); /* it is empty */
}

static void test_file_instead_of_the_directory_is_not_used(void **state)
{
    (void)state;
    need_tmpfs();
    int fd = open(journals, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "kept", 4), 4);
    close(fd);
    check_unnamed("Not a directory");
    struct stat st;
    assert_int_equal(stat(journals, &st), 0);
    assert_int_equal(st.st_size, 4);
}

static void test_file_directory_on_a_disk_is_not_used(void **state)
{
    (void)state;
    static const char *const places[] = {"/tmp", "/var/tmp", "."};
    char path[64] = "";
    for (size_t i = 0; path[0] == '\0' && i < MI_COUNT(places); i++) {
        assert_true(snprintf(path, sizeof path, "%s/mi-test-XXXXXX", places[i]) > 0);
        if (is_tmpfs(places[i]) || mkdtemp(path) == NULL)
            path[0] = '\0';
    }
    if (path[0] == '\0') {
        print_message("every writable directory is on tmpfs\n");
        skip();
    }
    journal_file_set_dir(path);
    check_unnamed("is not on tmpfs");
    assert_int_equal(rmdir(path), 0); /* it is empty */
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return written;
}

static bool mount_tmpfs(const char *options)
{
    bool root = geteuid() == 0;
    char uids[64], gids[64];
    if (snprintf(uids, sizeof uids, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid()) < 0 ||
        snprintf(gids, sizeof gids, "%u %u 1", (unsigned)getegid(), (unsigned)getegid()) < 0 ||
        unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) != 0)
        return false;
    if (!root &&
        (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", uids) ||
         !write_text("/proc/self/gid_map", gids)))
        return false;
    return mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", base, "tmpfs", 0, options) == 0;
}

/* Makes a journal while `base` is a tmpfs with these options, in a process of its own. reason: of a journal without a
 * name; NULL: it has one. */
static void check_small_tmpfs(const char *options, const char *reason)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* without asserts: a failed one would continue with the next test */
        char uid[UID_LEN + 1];
        struct journal_file f;
        struct buf why = {0};
        if (!mount_tmpfs(options))
            _exit(SKIPPED);
        if (uid_make(clock_wall_us(), uid) < 0 || journal_file_create(&f, uid, &why) < 0)
            _exit(1);
        if (f.has_name != (reason == NULL) ||
            strstr(buf_str(&why), reason != NULL ? reason : "") == NULL) {
            fprintf(stderr, "%s: %s\n", options, buf_str(&why));
            _exit(1);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
        print_message("mounting a file system is not permitted\n");
        skip();
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_file_full_tmpfs_is_not_used(void **state)
{
    (void)state;
    need_tmpfs();
    check_small_tmpfs("size=1m", "is full");
    check_small_tmpfs("size=64m,nr_inodes=2", "No space left on device");
}

static void test_file_small_and_unlimited_tmpfs_are_used(void **state)
{
    (void)state;
    need_tmpfs();
    check_small_tmpfs("size=9m", NULL);
    check_small_tmpfs("size=0", NULL);
}

/* ---- hostile files of the journal's name ---- */

static void check_taken_name(void (*take)(const char *path), mode_t type)
{
    char uid[UID_LEN + 1];
    struct journal_file f, other;
    struct buf why = {0};
    struct stat before, after;
    f = make(uid); /* makes the directory */
    journal_file_remove(&f);
    journal_file_close(&f);
    make_uid(uid, clock_wall_us());
    take(path_of(uid));
    assert_int_equal(lstat(path_of(uid), &before), 0);
    assert_int_equal(before.st_mode & S_IFMT, type);
    assert_int_equal(journal_file_create(&f, uid, &why), 0);
    assert_false(f.has_name);
    assert_non_null(strstr(buf_str(&why), "File exists"));
    journal_file_remove(&f);
    if (type != S_IFREG)
        assert_int_equal(journal_file_open(&other, uid), MI_EIO);
    assert_int_equal(lstat(path_of(uid), &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
    journal_file_close(&f);
    buf_close(&why);
}

static void take_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "kept", 4), 4);
    close(fd);
}

static char victim[2 * PATH_MAX];

static void take_link(const char *path)
{
    assert_true(snprintf(victim, sizeof victim, "%s/victim", base) > 0);
    take_file(victim);
    assert_int_equal(symlink(victim, path), 0);
}

static void take_dangling_link(const char *path)
{
    assert_true(snprintf(victim, sizeof victim, "%s/nothing", base) > 0);
    assert_int_equal(symlink(victim, path), 0);
}

static void take_directory(const char *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void take_fifo(const char *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void test_file_existing_file_of_the_name_is_not_touched(void **state)
{
    (void)state;
    need_tmpfs();
    check_taken_name(take_file, S_IFREG);
}

static void test_file_link_of_the_name_is_not_followed(void **state)
{
    (void)state;
    need_tmpfs();
    check_taken_name(take_link, S_IFLNK);
    struct stat st;
    assert_int_equal(stat(victim, &st), 0);
    assert_int_equal(st.st_size, 4);
    check_taken_name(take_dangling_link, S_IFLNK);
    assert_int_equal(lstat(victim, &st), -1);
}

static void test_file_directory_or_fifo_of_the_name_is_left_alone(void **state)
{
    (void)state;
    need_tmpfs();
    check_taken_name(take_directory, S_IFDIR);
    check_taken_name(take_fifo, S_IFIFO);
}

/* ---- opening and removing ---- */

static void test_file_opened_twice_is_the_same_file(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1], c;
    struct journal_file w = make(uid), r, second;
    assert_int_equal(pwrite(w.fd, "x", 1, 0), 1);
    assert_int_equal(journal_file_open(&r, uid), 0);
    assert_string_equal(r.uid, uid);
    assert_true(r.has_name);
    assert_int_equal(pread(r.fd, &c, 1, 0), 1);
    assert_int_equal(journal_file_open(&second, uid), MI_EFULL);
    assert_int_equal(second.fd, -1);
    assert_int_equal(journal_file_reopen(&second, &w), MI_EFULL);
    assert_int_equal(second.fd, -1);
    journal_file_close(&r);
    assert_int_equal(journal_file_open(&r, uid), 0);
    journal_file_close(&r);
    struct journal_file name_only = w;
    name_only.fd = -1;
    assert_int_equal(journal_file_reopen(&r, &name_only), 0);
    journal_file_remove(&name_only);
    journal_file_close(&r);
    assert_int_equal(journal_file_open(&r, uid), MI_ENOENT);
    assert_int_equal(journal_file_reopen(&r, &name_only), MI_ENOENT);
    assert_int_equal(journal_file_reopen(&r, &w), 0); /* it needs no name */
    journal_file_close(&r);
    journal_file_close(&w);
}

static void test_file_missing_directory_has_no_journals(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1];
    struct journal_file f;
    make_uid(uid, clock_wall_us());
    assert_int_equal(journal_file_open(&f, uid), MI_ENOENT);
    assert_int_equal(access(journals, F_OK), -1); /* it is not made */
}

static void test_file_that_replaced_ours_is_not_removed(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1];
    struct journal_file f = make(uid);
    assert_int_equal(unlink(path_of(uid)), 0);
    take_file(path_of(uid));
    journal_file_remove(&f);
    assert_int_equal(access(path_of(uid), F_OK), 0);
    journal_file_close(&f);
}

/* ---- locks and processes ---- */

static bool await_free(const struct journal_file *f, enum journal_side side)
{
    int64_t end = clock_mono_us() + DEADLINE_US;
    while (journal_file_is_locked(f, side))
        if (clock_mono_us() > end)
            return false;
        else
            usleep(1000);
    return true;
}

static void await_byte(int fd)
{
    char c;
    assert_int_equal(read(fd, &c, 1), 1);
}

static _Noreturn void rest(int say)
{
    (void)!write(say, "", 1);
    for (;;)
        pause();
}

struct family {
    pid_t writer; /* a process that made a journal */
    pid_t reader; /* its child; 0: none */
    int from;     /* pipe */
    char uid[UID_LEN + 1];
};

/* What the recorder does after it was forked: its own description, and nothing of the writer's. */
static void become_reader(struct journal_file *w, int say)
{
    struct journal_file own;
    prctl(PR_SET_PDEATHSIG, 0);
    if (journal_file_reopen(&own, w) < 0)
        _exit(1);
    journal_file_close(w);
    rest(say);
}

/* dontfork: the mapping is not inherited, as in ring_create(). */
static struct family start(bool reader, bool dontfork)
{
    struct family x = {0};
    int to[2], pids[2];
    make_uid(x.uid, clock_wall_us());
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(pids, O_CLOEXEC), 0);
    fflush(NULL);
    x.writer = fork();
    assert_true(x.writer >= 0);
    if (x.writer == 0) {
        struct journal_file w;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (journal_file_create(&w, x.uid, NULL) < 0 || !w.has_name || ftruncate(w.fd, 8192) != 0)
            _exit(1);
        void *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, w.fd, 0);
        if (map == MAP_FAILED || (dontfork && madvise(map, 8192, MADV_DONTFORK) != 0))
            _exit(1);
        pid_t child = reader ? fork() : 0;
        if (reader && child == 0)
            become_reader(&w, to[1]);
        (void)!write(pids[1], &child, sizeof child);
        rest(to[1]);
    }
    close(to[1]);
    close(pids[1]);
    x.from = to[0];
    assert_int_equal(read(pids[0], &x.reader, sizeof x.reader), sizeof x.reader);
    close(pids[0]);
    await_byte(x.from);
    if (reader)
        await_byte(x.from);
    return x;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    (void)waitpid(pid, NULL, 0); /* ECHILD: not a child of this process */
}

static struct journal_file look_at(const char *uid)
{
    struct journal_file f = {.has_name = true};
    memcpy(f.uid, uid, sizeof f.uid);
    f.fd = open(path_of(uid), O_RDWR | O_CLOEXEC);
    assert_true(f.fd >= 0);
    return f;
}

static void test_file_lock_is_held_while_the_process_lives(void **state)
{
    (void)state;
    need_tmpfs();
    struct family x = start(false, true);
    struct journal_file f = look_at(x.uid);
    assert_true(journal_file_is_locked(&f, JOURNAL_WRITER));
    assert_false(journal_file_is_locked(&f, JOURNAL_READER));
    end(x.writer);
    assert_true(await_free(&f, JOURNAL_WRITER));
    journal_file_close(&f);
    close(x.from);
}

static void test_file_recorder_does_not_keep_the_lock_of_a_killed_writer(void **state)
{
    (void)state;
    need_tmpfs();
    struct family x = start(true, true);
    struct journal_file f = look_at(x.uid), other;
    assert_true(journal_file_is_locked(&f, JOURNAL_WRITER));
    assert_true(journal_file_is_locked(&f, JOURNAL_READER));
    assert_int_equal(journal_file_open(&other, x.uid), MI_EFULL);
    end(x.writer);
    assert_true(await_free(&f, JOURNAL_WRITER));
    assert_true(journal_file_is_locked(&f, JOURNAL_READER)); /* the child still runs */
    assert_int_equal(kill(x.reader, 0), 0);
    end(x.reader);
    assert_true(await_free(&f, JOURNAL_READER));
    journal_file_close(&f);
    close(x.from);
}

static void test_file_inherited_mapping_keeps_the_lock(void **state)
{
    (void)state;
    need_tmpfs();
    /* why ring_create() uses MADV_DONTFORK */
    struct family x = start(true, false);
    struct journal_file f = look_at(x.uid);
    end(x.writer);
    assert_true(journal_file_is_locked(&f, JOURNAL_WRITER));
    end(x.reader);
    assert_true(await_free(&f, JOURNAL_WRITER));
    journal_file_close(&f);
    close(x.from);
}

/* ---- the listing ---- */

struct seen {
    char uid[300][UID_LEN + 1];
    size_t n, stop_at;
    bool remove;
};

static bool note(void *ctx, const struct journal_file *f)
{
    struct seen *s = ctx;
    struct stat st;
    assert_true(s->n < MI_COUNT(s->uid));
    assert_int_equal(fstat(f->fd, &st), 0);
    assert_int_equal(st.st_size, 4096);
    assert_true(f->has_name);
    memcpy(s->uid[s->n++], f->uid, sizeof f->uid);
    if (s->remove)
        journal_file_remove(f);
    return s->n != s->stop_at;
}

/* A journal of a dead session. */
static void leave(char *uid, int64_t at_us, off_t size)
{
    struct journal_file f;
    make_uid(uid, at_us);
    assert_int_equal(journal_file_create(&f, uid, NULL), 0);
    assert_true(f.has_name);
    assert_int_equal(ftruncate(f.fd, size), 0);
    journal_file_close(&f);
}

static void test_file_each_lists_the_oldest_first(void **state)
{
    (void)state;
    need_tmpfs();
    static char uid[200][UID_LEN + 1]; /* more than are sorted at a time */
    static struct seen s;
    for (size_t i = 0; i < MI_COUNT(uid); i++) {
        size_t k = i * 77 % MI_COUNT(uid);
        leave(uid[k], 1700000000000000 + (int64_t)k * 1000, 4096);
    }
    s = (struct seen){0};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, MI_COUNT(uid));
    for (size_t i = 0; i < s.n; i++)
        assert_string_equal(s.uid[i], uid[i]);
    s = (struct seen){.stop_at = 70};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, 70);
    s = (struct seen){.remove = true};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, MI_COUNT(uid));
    s = (struct seen){0};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, 0);
}

static void test_file_each_ignores_everything_that_is_not_a_journal(void **state)
{
    (void)state;
    need_tmpfs();
    char uid[UID_LEN + 1], other[UID_LEN + 1];
    static struct seen s;
    leave(uid, 1700000000000000, 4096);
    take_file(path_of("README"));
    take_file(path_of("lower-case-0123456789abcde"));
    static void (*const takes[])(const char *path) = {take_link, take_directory, take_fifo};
    for (size_t i = 0; i < MI_COUNT(takes); i++) {
        make_uid(other, 1700000000000000);
        takes[i](path_of(other));
    }
    s = (struct seen){0};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.uid[0], uid);
}

static void test_file_each_without_a_directory_lists_nothing(void **state)
{
    (void)state;
    need_tmpfs();
    static struct seen s;
    s = (struct seen){0};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(access(journals, F_OK), -1);
    assert_int_equal(mkdir(journals, 0755), 0);
    assert_int_equal(chmod(journals, 0755), 0);
    char uid[UID_LEN + 1];
    make_uid(uid, clock_wall_us());
    take_file(path_of(uid));
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, 0);
}

static void test_file_each_removes_old_empty_files_only(void **state)
{
    (void)state;
    need_tmpfs();
    char young[UID_LEN + 1], old[UID_LEN + 1], held[UID_LEN + 1];
    static struct seen s;
    struct timespec past[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};
    leave(young, clock_wall_us(), 0);
    leave(old, clock_wall_us(), 0);
    assert_int_equal(utimensat(AT_FDCWD, path_of(old), past, 0), 0);
    struct journal_file f = make(held);
    assert_int_equal(futimens(f.fd, past), 0);
    s = (struct seen){0};
    assert_int_equal(journal_file_visit_all(note, &s), 0);
    assert_int_equal(s.n, 0);
    assert_int_equal(access(path_of(young), F_OK), 0);
    assert_int_equal(access(path_of(old), F_OK), -1);
    assert_int_equal(access(path_of(held), F_OK), 0);
    journal_file_close(&f);
}

static void test_file_problem_is_empty_and_leaves_nothing(void **state)
{
    (void)state;
    need_tmpfs();
    struct buf b = {0};
    journal_file_find_problem(&b);
    assert_string_equal(buf_str(&b), "");
    buf_close(&b);
    assert_int_equal(rmdir(journals), 0); /* it is empty */
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_file_missing_directory_is_made_private),
        TEST(test_file_default_directory_is_named_after_the_user),
        TEST(test_file_relative_path_and_slashes_at_the_end),
        TEST(test_file_too_long_path_is_not_used),
        TEST(test_file_directory_that_cannot_be_made_is_not_used),
        TEST(test_file_directory_of_another_user_is_not_used),
        TEST(test_file_directory_that_others_can_enter_is_not_used),
        TEST(test_file_symbolic_link_to_a_directory_is_not_followed),
        TEST(test_file_instead_of_the_directory_is_not_used),
        TEST(test_file_directory_on_a_disk_is_not_used),
        TEST(test_file_full_tmpfs_is_not_used),
        TEST(test_file_small_and_unlimited_tmpfs_are_used),
        TEST(test_file_existing_file_of_the_name_is_not_touched),
        TEST(test_file_link_of_the_name_is_not_followed),
        TEST(test_file_directory_or_fifo_of_the_name_is_left_alone),
        TEST(test_file_opened_twice_is_the_same_file),
        TEST(test_file_missing_directory_has_no_journals),
        TEST(test_file_that_replaced_ours_is_not_removed),
        TEST(test_file_lock_is_held_while_the_process_lives),
        TEST(test_file_recorder_does_not_keep_the_lock_of_a_killed_writer),
        TEST(test_file_inherited_mapping_keeps_the_lock),
        TEST(test_file_each_lists_the_oldest_first),
        TEST(test_file_each_ignores_everything_that_is_not_a_journal),
        TEST(test_file_each_without_a_directory_lists_nothing),
        TEST(test_file_each_removes_old_empty_files_only),
        TEST(test_file_problem_is_empty_and_leaves_nothing),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
