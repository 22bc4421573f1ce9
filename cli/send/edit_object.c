#include "cli/send/edit_object.h"

#include "base/log.h"
#include "base/os/spawn.h"
#include "base/read_all.h"
#include "base/text.h"
#include "base/write_all.h"
#include "cli/frame/ask.h"
#include "cli/frame/pretty.h"
#include "wire/json/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define EDITED_MAX ((size_t)16 << 20)

/* ---- the file ---- */

struct edited_file {
    char *dir, *path; /* owned */
};

/* Creates a directory for the file, and determines the path of the file. */
static bool make_directory(struct edited_file *p)
{
    const char *tmp = getenv("TMPDIR");
    if (asprintf(&p->dir, "%s/mcp-interposer-XXXXXX", tmp != NULL && tmp[0] == '/' ? tmp : "/tmp") <
        0)
        p->dir = NULL;
    if (p->dir == NULL || mkdtemp(p->dir) == NULL) {
        free(p->dir);
        p->dir = NULL;
        return false;
    }
    if (asprintf(&p->path, "%s/request.json", p->dir) < 0)
        p->path = NULL;
    return p->path != NULL;
}

/* Reads the file. Opens it again, because some editors write a new file and rename it. */
static bool read_edited_text(const struct edited_file *p, struct buf *b)
{
    buf_clear(b);
    errno = read_all_of_file(p->path, EDITED_MAX, b);
    return errno == 0;
}

/* ---- the editor ---- */

static int editor_reset_signals(const void *ctx)
{
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    (void)ctx;
    return 0;
}

static const char *get_editor_command(void)
{
    const char *const names[] = {"VISUAL", "EDITOR"};
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return value;
    }
    return "vi";
}

/* Runs the editor by a shell, as git does, because $EDITOR may have options. Reports an error. */
static bool run_editor(const char *path)
{
    char sh[] = "sh", c[] = "-c", *script = NULL, *file = strdup(path);
    int status = -1;
    pid_t pid;
    if (asprintf(&script, "%s \"$1\"", get_editor_command()) < 0)
        script = NULL;
    char *argv[] = {sh, c, script, sh, file, NULL};
    if (script != NULL && file != NULL) {
        /* Control-C is only for the editor */
        void (*interrupt)(int) = signal(SIGINT, SIG_IGN);
        void (*quit)(int) = signal(SIGQUIT, SIG_IGN);
        if (spawn(argv, NULL, editor_reset_signals, NULL, &pid) == 0)
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        (void)signal(SIGINT, interrupt);
        (void)signal(SIGQUIT, quit);
    }
    free(script);
    free(file);
    if (status > 0 && WIFEXITED(status) && WEXITSTATUS(status) < 126)
        log_error("nothing was sent: the editor '%s' exited with status %d", get_editor_command(),
                  WEXITSTATUS(status));
    else if (status != 0)
        log_error("nothing was sent: the editor '%s' failed; set EDITOR to another one",
                  get_editor_command());
    return status == 0;
}

/* ---- the text ---- */

/* Writes the JSON on indented lines. */
static void make_json_pretty(struct buf *b)
{
    struct out o = {.columns = OUT_UNLIMITED, .held = true};
    struct buf escaped = {0};
    text_append_visible_json(&escaped, buf_slice(b));
    pretty_print(&o, buf_slice(&escaped), 0);
    buf_close(&escaped);
    buf_close(&o.text);
    buf_close(b);
    *b = o.b;
}

static bool edited_text_is_blank(const struct buf *b)
{
    for (size_t i = 0; i < b->n; i++)
        if (strchr(" \t\r\n", b->p[i]) == NULL || b->p[i] == '\0')
            return false;
    return true;
}

/* Is the text a JSON object? If not, reports the error and its line. */
static bool edited_text_is_object(const struct buf *b)
{
    struct json_scan scan;
    int line = 1;
    if (json_scan(buf_slice(b), NULL, NULL, &scan) == 0) {
        if (scan.type != JSON_OBJECT)
            log_error("the params of a request must be an object");
        return scan.type == JSON_OBJECT;
    }
    for (size_t i = 0; i < b->n && i < scan.fault.at; i++)
        line += b->p[i] == '\n';
    log_error("line %d: %s", line, json_fault_text(scan.fault.kind));
    return false;
}

enum edit_result edit_object(struct buf *text)
{
    struct edited_file p = {0};
    struct buf before = {0};
    make_json_pretty(text);
    buf_slice_add(&before, buf_slice(text));
    text->failed |= before.failed;
    bool good = !text->failed && make_directory(&p);
    int fd = good ? open(p.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    good = fd >= 0 && write_and_close(fd, buf_slice(text), false) == 0;
    if (!good)
        log_error("cannot write a file for the editor: %s", strerror(errno));
    while (good) {
        good = run_editor(p.path);
        if (good && !read_edited_text(&p, text)) {
            log_error("cannot read the edited file: %s", strerror(errno));
            good = false;
        }
        if (!good || edited_text_is_blank(text) || edited_text_is_object(text))
            break;
        good = ask_user_has_terminal() && ask_user_for_yes("Edit it again?");
    }
    bool same = slice_eq(buf_slice(text), buf_slice(&before));
    if (p.path != NULL)
        unlink(p.path);
    if (p.dir != NULL && rmdir(p.dir) != 0 && errno == ENOTEMPTY)
        log_warn("the editor left files in %s", p.dir);
    free(p.path);
    free(p.dir);
    buf_close(&before);
    return !good                        ? EDIT_FAILED
           : edited_text_is_blank(text) ? EDIT_CANCELLED
           : same                       ? EDIT_UNCHANGED
                                        : EDIT_DONE;
}
