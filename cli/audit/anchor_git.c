/* anchor_git.c - appends notes to a file in a git work tree, and commits it with git. */
#include "cli/audit/anchor.h"

#include "base/os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 4096 /* maximum bytes stored of git's output */
#define ARGS_MAX 24

extern char **environ;

/* Removes GIT_* from the environment. If this process was started by git, for example by a hook,
 * these variables name another repository. */
static void unset_git_variables(void)
{
    for (char **e = environ; *e != NULL;) {
        char name[64];
        size_t n = strcspn(*e, "=");
        if (strncmp(*e, "GIT_", 4) != 0 || n >= sizeof name) {
            e++;
            continue;
        }
        memcpy(name, *e, n);
        name[n] = '\0';
        if (unsetenv(name) != 0)
            e++;
    }
}

struct streams {
    int null, out; /* descriptors of /dev/null and of the pipe for git's output */
};

static int anchor_git_redirect_stdio(const void *ctx)
{
    const struct streams *s = ctx;
    return dup2(s->null, STDIN_FILENO) < 0 || dup2(s->out, STDOUT_FILENO) < 0 ||
                   dup2(s->out, STDERR_FILENO) < 0
               ? errno
               : 0;
}

static void read_output(int fd, struct buf *out)
{
    char part[1024];
    for (ssize_t n; (n = read(fd, part, sizeof part)) > 0 || (n < 0 && errno == EINTR);)
        if (n > 0 && out->n < OUTPUT_MAX)
            buf_add(out, part, (size_t)n);
}

static bool wait_for_git_success(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Appends the lines of a text as one line, separated by "; ". */
static void append_lines_as_one_line(struct buf *b, struct slice text)
{
    const char *before = "";
    while (text.n > 0) {
        struct slice line = slice_take_line(&text);
        if (line.n == 0)
            continue;
        buf_adds(b, before);
        buf_slice_add(b, line);
        before = "; ";
    }
}

/* Runs git in `dir` without a shell, hooks and prompts, and stores its output in `out`. Returns 0,
 * MI_EIO or MI_ENOMEM. */
static int anchor_git_run_command(const struct anchoring *a, const char *dir,
                                  const char *const *args, struct buf *out)
{
    static const char *const before[] = {"git",
                                         "-c",
                                         "core.hooksPath=/dev/null",
                                         "-c",
                                         "core.fsmonitor=false",
                                         "-c",
                                         "commit.gpgSign=false",
                                         "-C"};
    char *argv[ARGS_MAX] = {NULL};
    union {
        const char *in;
        char *out;
    } word; /* casts const away: spawn() does not change the words */
    size_t n = 0;
    for (size_t i = 0; i < MI_COUNT(before); i++)
        argv[n++] = (word.in = before[i], word.out);
    argv[n++] = (word.in = dir, word.out);
    for (size_t i = 0; args[i] != NULL; i++)
        argv[n++] = (word.in = args[i], word.out);
    int fd[2];
    struct streams s = {.null = open("/dev/null", O_RDWR | O_CLOEXEC)};
    pid_t pid;
    buf_clear(out);
    if (s.null < 0 || pipe(fd) < 0) {
        buf_printf(a->error, "cannot run git: %s", strerror(errno));
        if (s.null >= 0)
            close(s.null);
        return MI_EIO;
    }
    (void)fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    s.out = fd[1];
    int st = spawn(argv, NULL, anchor_git_redirect_stdio, &s, &pid);
    if (st < 0)
        buf_printf(a->error, "cannot run git: %s",
                   errno == ENOENT ? "git is not installed" : strerror(errno));
    close(s.null);
    close(fd[1]);
    if (st == 0) {
        read_output(fd[0], out);
        if (!wait_for_git_success(pid)) {
            buf_printf(a->error, "git %s in %s failed: ", args[0], dir);
            append_lines_as_one_line(a->error, buf_slice(out));
            st = MI_EIO;
        }
    }
    close(fd[0]);
    return out->failed ? MI_ENOMEM : st;
}

void anchor_git_append_file_name(struct buf *b, struct slice origin)
{
    for (size_t i = 0; i < origin.n; i++)
        buf_addc(b, origin.p[i] == '/' ? '-' : origin.p[i]);
    buf_adds(b, ".note");
}

static int git_commit_file(const struct anchoring *a, const char *dir, const char *file)
{
    struct buf out = {0}, message = {0};
    buf_printf(&message, "Checkpoint of %" PRIu64 " leaves of %.*s", a->c.size, (int)a->c.origin.n,
               a->c.origin.p);
    const char *const add[] = {"add", "-f", "--", file, NULL};
    const char *const status[] = {"status", "--porcelain", "--", file, NULL};
    const char *const commit[] = {"commit",          "-q", "--no-verify", "-m",
                                  buf_str(&message), "--", file,          NULL};
    int st = anchor_git_run_command(a, dir, add, &out);
    if (st == 0)
        st = anchor_git_run_command(a, dir, status, &out);
    if (st == 0 && out.n > 0) /* the file has changes to commit */
        st = anchor_git_run_command(a, dir, commit, &out);
    if (message.failed)
        st = MI_ENOMEM;
    buf_close(&out);
    buf_close(&message);
    return st;
}

int anchor_write_to_git(const struct anchoring *a, const char *dir)
{
    static const char *const check[] = {"rev-parse", "--is-inside-work-tree", NULL};
    struct buf file = {0}, path = {0}, out = {0};
    unset_git_variables();
    anchor_git_append_file_name(&file, a->c.origin);
    buf_printf(&path, "%s/%s", dir, buf_str(&file));
    int st = file.failed || path.failed ? MI_ENOMEM : anchor_git_run_command(a, dir, check, &out);
    if (st == 0)
        st = anchor_write_to_file(a, buf_str(&path));
    if (st == 0)
        st = git_commit_file(a, dir, buf_str(&file));
    buf_close(&file);
    buf_close(&path);
    buf_close(&out);
    return st;
}
