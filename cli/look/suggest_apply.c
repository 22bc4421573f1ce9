#include "cli/look/suggest_apply.h"

#include "base/log.h"
#include "base/make_path.h"
#include "base/text.h"
#include "cli/frame/replace.h"
#include "cli/frame/save.h"
#include "cli/settings/config_edit.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void print_lines(const char *mark, struct slice text)
{
    while (text.n > 0) {
        const char *nl = memchr(text.p, '\n', text.n);
        size_t n = nl != NULL ? (size_t)(nl - text.p) : text.n;
        struct buf b = {0};
        text_visible(&b, (struct slice){text.p, n - (n > 0 && text.p[n - 1] == '\r')});
        fprintf(stderr, "%s%s\n", mark, buf_str(&b));
        buf_close(&b);
        n += nl != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
}

/* Creates the file, which is missing, and its directory. */
static int create_config_file(const char *path, struct slice text)
{
    struct save out;
    char *dir = strdup(path);
    char *slash = dir != NULL ? strrchr(dir, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    int st = dir == NULL ? MI_ENOMEM : slash != NULL && dir[0] != '\0' ? make_path(dir) : 0;
    if (st < 0)
        log_error("cannot make the directory of %s: %s", path,
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
    free(dir);
    if (st < 0)
        return EXIT_TROUBLE;
    save_open(&out, path, SAVE_PRIVATE);
    bool good = save_write(&out, text);
    return save_close(&out, good);
}

static int write_file(const char *path, struct replace *file, bool exists,
                      const struct config_edit *e)
{
    struct slice old = buf_slice(&file->text);
    size_t at = (size_t)(e->before.p - old.p), behind = at + e->before.n;
    struct buf all = {0};
    int status = EXIT_TROUBLE;
    if (slice_eq(e->before, buf_slice(&e->now))) {
        fprintf(stderr, "%s has this line already: nothing is written\n", path);
        return EXIT_FINE;
    }
    buf_add(&all, old.p, at);
    buf_slice_add(&all, buf_slice(&e->now));
    buf_add(&all, old.p + behind, old.n - behind);
    if (all.failed) {
        log_error("out of memory");
    } else if (all.n > CONFIG_FILE_MAX) {
        log_error("the configuration would be longer than %d bytes: %s", CONFIG_FILE_MAX, path);
    } else {
        fprintf(stderr, "--- %s\n+++ %s\n", path, path);
        print_lines("-", e->before);
        print_lines("+", buf_slice(&e->now));
        status = EXIT_FINE;
        if (!exists)
            status = create_config_file(path, buf_slice(&all));
        else if (replace_write(file, buf_slice(&all)) < 0) {
            log_error("cannot write %s: %s", path,
                      file->error.n > 0 ? buf_str(&file->error) : "out of memory");
            status = EXIT_TROUBLE;
        }
    }
    buf_close(&all);
    if (status == EXIT_FINE)
        fprintf(stderr,
                "written; a running client uses the rule after it has restarted the server\n");
    return status;
}

int suggest_apply(const struct settings *s, const char *server, const char *names)
{
    struct replace file = {0};
    struct config_edit e = {0};
    int status = EXIT_TROUBLE;
    char *path = path_config(settings_text(s, "config"));
    if (path == NULL) {
        log_error("cannot locate the configuration file: use --config FILE");
        return EXIT_TROUBLE;
    }
    int st = replace_open(&file, path);
    bool missing = st == MI_EIO && access(path, F_OK) != 0 && errno == ENOENT;
    if (st < 0 && !missing)
        log_error("cannot read configuration %s: %s", path,
                  file.error.n > 0 ? buf_str(&file.error) : "out of memory");
    else if ((st = config_edit_server(buf_slice(&file.text), server, "tools", names, &e)) < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory"
                                        : "the name of this server cannot be the name of a section "
                                          "in the configuration: use --tools of `proxy`");
    else
        status = write_file(path, &file, !missing, &e);
    buf_close(&e.now);
    replace_close(&file);
    free(path);
    return status;
}
