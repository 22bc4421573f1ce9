/* outside.c - runs other commands of this program. */
#include "cli/ui/ui.h"

#include "base/os/process.h"
#include "base/os/spawn.h"
#include "base/text.h"
#include "base/write_all.h"
#include "cli/look/follow/watch.h"
#include "cli/settings/config.h"
#include "journal/uid.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a process ---- */

struct streams {
    /* descriptors for the child; -1: the child inherits the descriptor of this process */
    int in, out, err;
};

static int outside_redirect_stdio(const void *ctx)
{
    const struct streams *s = ctx;
    const int fd[] = {s->in, s->out, s->err};
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0 && dup2(fd[i], i) < 0)
            return errno;
    struct sigaction a = {.sa_handler = SIG_DFL};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGQUIT, &a, NULL);
    return 0;
}

/* Waits for the process. Returns its exit status; -1 if a signal ended it. A SIGTERM for ui is
 * passed on to the process: SIGTERM is blocked, so that no SIGTERM is lost between waitpid() and
 * sigwaitinfo(). */
static int wait_for_process(pid_t pid)
{
    sigset_t wakes, before;
    bool stopped = false;
    int status = 0;
    pid_t ended;
    sigemptyset(&wakes);
    sigaddset(&wakes, SIGCHLD);
    sigaddset(&wakes, SIGTERM);
    sigprocmask(SIG_BLOCK, &wakes, &before);
    while ((ended = waitpid(pid, &status, WNOHANG)) == 0) {
        if (stopped || watch_is_stopped())
            (void)kill(pid, SIGTERM);
        stopped |= sigwaitinfo(&wakes, NULL) == SIGTERM;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (stopped)
        (void)raise(SIGTERM); /* now ui's own handler of SIGTERM runs, and ends ui */
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits for Enter. Also returns at the end of the input, or when a signal ends ui. */
static void wait_for_enter(void)
{
    char c = 0;
    ssize_t n = 1;
    fputs(watch_is_stopped() ? "\n" : "\n[Enter goes back to ui] ", stdout);
    fflush(stdout);
    while (c != '\n' && !watch_is_stopped() && (n > 0 || (n < 0 && errno == EINTR)))
        n = read(STDIN_FILENO, &c, 1);
}

/* How ui handles signals while a command runs in the terminal. Control-C and Control-\ are ignored
 * by ui and act only on the command. Control-Z stops both the command and ui. */
static const struct {
    int number;
    void (*handler)(int);
} meanwhile[] = {{SIGINT, SIG_IGN}, {SIGQUIT, SIG_IGN}, {SIGTSTP, SIG_DFL}};

#define WORDS_MAX 16

/* Fills in argv: this program, the words, and NULL. Returns false if memory is short. The caller
 * frees argv[0]. */
static bool outside_fill_command(const char *const *words, char *argv[WORDS_MAX])
{
    size_t n = 0;
    argv[0] = process_program_path();
    while (words[n] != NULL && n + 2 < WORDS_MAX)
        n++;
    memcpy(&argv[1], words, n * sizeof *words);
    argv[n + 1] = NULL;
    return argv[0] != NULL;
}

enum after { AFTER_ENTER, AFTER_FAILURE };

/* Runs a command in the terminal, with `in` as its stdin (-1: the terminal). Then waits for the key
 * Enter; if `after` is AFTER_FAILURE, waits only if the command failed. */
static void run_command_in_terminal(char *const *argv, int in, enum after after)
{
    struct streams same = {in, -1, -1};
    int status = -1;
    struct sigaction before[MI_COUNT(meanwhile)];
    pid_t pid;
    screen_suspend();
    for (size_t i = 0; i < MI_COUNT(meanwhile); i++) {
        struct sigaction a = {.sa_handler = meanwhile[i].handler};
        sigaction(meanwhile[i].number, &a, &before[i]);
    }
    int st = spawn(argv, NULL, outside_redirect_stdio, &same, &pid);
    if (st == 0)
        status = wait_for_process(pid);
    else
        fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
    if (after == AFTER_ENTER || status != 0)
        wait_for_enter();
    for (size_t i = 0; i < MI_COUNT(meanwhile); i++)
        sigaction(meanwhile[i].number, &before[i], NULL);
    screen_resume();
}

/* Runs a command without the terminal, with `in` as its stdin (-1: /dev/null). Appends its stderr
 * to b. `out` is its stdout; if `out` is -1, its stdout is appended to b as well. */
static int run_without_terminal(char *const *argv, int in, int out, struct buf *b)
{
    int end[2];
    pid_t pid;
    char bytes[4096];
    ssize_t n;
    if (pipe(end) < 0)
        return -1;
    (void)fcntl(end[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(end[1], F_SETFD, FD_CLOEXEC);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct streams s = {in >= 0 ? in : null, out >= 0 ? out : end[1], end[1]};
    int st = spawn(argv, NULL, outside_redirect_stdio, &s, &pid);
    close(end[1]);
    while (st == 0 && ((n = read(end[0], bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0 && b->n < sizeof bytes)
            buf_add(b, bytes, (size_t)n);
    close(end[0]);
    if (null >= 0)
        close(null);
    return st == 0 ? wait_for_process(pid) : -1;
}

/* Returns the first line of a command's output, without the program name and the words "error:" or
 * "note:" before it. */
static struct slice get_first_output_line(const struct buf *b)
{
    static const char *const leads[] = {"mcp-interposer: ", "error: ", "note: "};
    struct slice s = b->n > 0 ? buf_slice(b) : slice_of("the command failed without a message");
    const char *end = memchr(s.p, '\n', s.n);
    s.n = end != NULL ? (size_t)(end - s.p) : s.n;
    for (size_t i = 0; i < MI_COUNT(leads); i++) {
        size_t n = slice_begins(s, leads[i]) ? strlen(leads[i]) : 0;
        s.p += n;
        s.n -= n;
    }
    return s;
}

/* Runs this program with the words, and with `out` as its stdout. If `out` is -1, stdout is as in
 * outside_run_this_program(). */
static int outside_run_with_stdout(const char *const *words, int out, struct buf *ret_said)
{
    char *argv[WORDS_MAX];
    struct buf said = {0};
    if (!outside_fill_command(words, argv))
        return -1;
    int status = run_without_terminal(argv, -1, out, &said);
    buf_slice_add(ret_said, get_first_output_line(&said));
    buf_close(&said);
    free(argv[0]);
    return status;
}

int outside_run_this_program(const char *const *words, struct buf *ret_said)
{
    return outside_run_with_stdout(words, -1, ret_said);
}

/* ---- export ---- */

/* Adds the options that name the vault or store. Returns the number of words. */
static size_t add_vault_or_store_options(const struct ui *u, const char **words)
{
    static const char *const filters[][2] = {{"host", "--host"}, {"user", "--user"}};
    size_t n = 0;
    words[n++] = u->sessions.store != NULL ? "--from" : "--vault";
    words[n++] = u->vault;
    for (size_t i = 0; u->sessions.store != NULL && i < MI_COUNT(filters); i++) {
        const char *value = settings_get_text(u->settings, filters[i][0]);
        if (value == NULL)
            continue;
        words[n++] = filters[i][1];
        words[n++] = value;
    }
    return n;
}

/* Writes the call to FILE.part, and renames FILE.part to FILE when FILE.part is complete. */
static int outside_export_call(struct ui *u, const char *file, const char *session, int64_t seq,
                               struct buf *said)
{
    char number[32], part[PROMPT_MAX + 8];
    snprintf(number, sizeof number, "%lld", (long long)seq);
    snprintf(part, sizeof part, "%s.part", file);
    int out = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) {
        buf_printf(said, "cannot write %s: %s", part, strerror(errno));
        return -1;
    }
    const char *words[WORDS_MAX] = {"show", "--json", "--seq", number, session};
    words[5 + add_vault_or_store_options(u, &words[5])] = NULL;
    int status = outside_run_with_stdout(words, out, said);
    if (close(out) == 0 && status == 0 && rename(part, file) == 0) {
        buf_clear(said);
        buf_printf(said, "wrote call %s to %s", number, file);
        return 0;
    }
    if (status == 0)
        buf_printf(said, "cannot write %s: %s", file, strerror(errno));
    (void)unlink(part);
    return -1;
}

int outside_run_export(struct ui *u, const char *file, int64_t seq, bool replace)
{
    char id[UID_LEN + 1];
    struct buf said = {0};
    const char *words[WORDS_MAX] = {"export", "--output", file, id};
    struct slice uid = text_prefix(ui_get_chosen_session(u)->uid, UID_LEN);
    snprintf(id, sizeof id, "%.*s", (int)uid.n, uid.p);
    size_t n = 4 + add_vault_or_store_options(u, &words[4]);
    words[n] = replace ? "--force" : NULL;
    int status = seq > 0 ? outside_export_call(u, file, id, seq, &said)
                         : outside_run_this_program(words, &said);
    if (status == 0)
        ui_say(u, "%s", buf_str(&said));
    else
        ui_say_error(u, "%s", buf_str(&said));
    buf_close(&said);
    return 0;
}

/* ---- send ---- */

int outside_run_send(struct ui *u, int64_t seq, bool edit)
{
    char id[32], number[32], *argv[WORDS_MAX];
    const char *config = settings_get_text(u->settings, "config");
    const char *words[WORDS_MAX] = {"send", "--seq", number, "--session",
                                    u->file != NULL ? u->file : id};
    size_t n = 5;
    snprintf(id, sizeof id, "%lld", (long long)ui_get_chosen_session(u)->id);
    snprintf(number, sizeof number, "%lld", (long long)seq);
    if (u->file == NULL) {
        words[n++] = "--vault";
        words[n++] = u->vault;
    }
    if (config != NULL) {
        words[n++] = "--config";
        words[n++] = config;
    }
    if (edit)
        words[n++] = "--edit";
    if (!outside_fill_command(words, argv))
        return MI_ENOMEM;
    run_command_in_terminal(argv, -1, AFTER_ENTER);
    u->dirty = true;
    free(argv[0]);
    return 0;
}

/* ---- a text for another program ---- */

/* Writes the text to a temporary file, and appends the file's path to `path`. Returns a descriptor
 * at the beginning of the file. On an error, shows a message and returns -1. */
static int write_temporary_text(struct ui *u, struct slice text, struct buf *path)
{
    const char *dir = getenv("TMPDIR");
    bool json = text.n > 0 && (*text.p == '{' || *text.p == '[');
    buf_printf(path, "%s/mcp-interposer-XXXXXX%s", dir != NULL && dir[0] == '/' ? dir : "/tmp",
               json ? ".json" : ".txt");
    int fd = path->failed ? -1 : mkostemps(path->p, json ? 5 : 4, O_CLOEXEC);
    if (fd >= 0 && write_all(fd, text) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    ui_say_error(u, "cannot write %s: %s", buf_str(path), strerror(errno));
    if (fd >= 0) {
        (void)unlink(buf_str(path));
        close(fd);
    }
    return -1;
}

void outside_show_text(struct ui *u, struct slice text, const char *command)
{
    static const char pager[] = "exec ${PAGER:-${EDITOR:-less}} \"$1\"";
    struct buf path = {0};
    int fd = write_temporary_text(u, text, &path);
    if (fd < 0) {
        buf_close(&path);
        return;
    }
    const char *const words[] = {"sh",
                                 "-c",
                                 command != NULL ? command : pager,
                                 "sh",
                                 command != NULL ? NULL : buf_str(&path),
                                 NULL};
    char *argv[MI_COUNT(words)];
    memcpy(argv, words, sizeof argv);
    run_command_in_terminal(argv, command != NULL ? fd : -1,
                            command != NULL ? AFTER_ENTER : AFTER_FAILURE);
    (void)unlink(buf_str(&path));
    close(fd);
    buf_close(&path);
}

bool outside_copy_with_tmux(struct ui *u, struct slice text)
{
    static const char *const words[] = {"tmux", "load-buffer", "-w", "-", NULL};
    char *argv[MI_COUNT(words)];
    const char *tmux = getenv("TMUX");
    struct buf path = {0}, said = {0};
    memcpy(argv, words, sizeof argv);
    int fd = tmux != NULL && tmux[0] != '\0' ? write_temporary_text(u, text, &path) : -1;
    bool copied = fd >= 0 && run_without_terminal(argv, fd, -1, &said) == 0;
    if (fd >= 0) {
        (void)unlink(buf_str(&path));
        close(fd);
    }
    buf_close(&path);
    buf_close(&said);
    return copied;
}
