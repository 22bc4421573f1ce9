#include "cli/audit/anchor.h"

#include "base/base64.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <paths.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#ifndef _PATH_LOG
#define _PATH_LOG "/dev/log"
#endif

#define GIT "git:"
#define SYSLOG "syslog"

static bool is_git_anchor(const char *where)
{
    return strncmp(where, GIT, strlen(GIT)) == 0;
}

bool anchor_check_syntax(const char *where, struct buf *error)
{
    if (is_git_anchor(where) && where[strlen(GIT)] != '\0')
        return true;
    if (where[0] != '\0' && !is_git_anchor(where) && strstr(where, "://") == NULL)
        return true;
    buf_printf(error, "invalid anchor '%s': use a file, git:DIR or syslog", where);
    return false;
}

/* Writes a line with all values of the note to syslog, so that the note can be restored from the
 * line. */
static int write_note_to_syslog(const struct anchoring *a)
{
    static const char format[] = "checkpoint origin=%.*s size=%" PRIu64 " root=%s signature=%.*s";
    struct buf root = {0};
    struct note n;
    if (access(_PATH_LOG, W_OK) != 0) {
        buf_printf(a->error, "cannot write to syslog: %s: %s", _PATH_LOG, strerror(errno));
        return MI_EIO;
    }
    int st = note_read(a->note, &n);
    base64_encode(&root, a->c.root.b, DIGEST_N);
    st = root.failed ? MI_ENOMEM : st;
    if (st == 0) {
        struct slice line = {n.signatures.p + strlen("— "),
                             n.signatures.n - strlen("— ") - strlen("\n")};
        openlog("mcp-interposer", LOG_PID, LOG_USER);
        syslog(LOG_NOTICE, format, (int)a->c.origin.n, a->c.origin.p, a->c.size, buf_str(&root),
               (int)line.n, line.p);
        closelog();
    }
    buf_close(&root);
    return st;
}

/* Sets *ret to the path of an anchor's file or work tree, which the caller frees. */
static int expand_anchor_path(const char *where, char **ret, struct buf *error)
{
    *ret = path_expand_home(is_git_anchor(where) ? where + strlen(GIT) : where);
    if (*ret != NULL)
        return 0;
    if (errno != ENOENT)
        return MI_ENOMEM;
    buf_printf(error, "cannot resolve anchor '%s': the home directory is unknown", where);
    return MI_EIO;
}

int anchor_find_file(const char *where, struct slice origin, struct buf *file, struct buf *error)
{
    char *path;
    if (strcmp(where, SYSLOG) == 0)
        return MI_ENOENT;
    int st = expand_anchor_path(where, &path, error);
    if (st < 0)
        return st;
    buf_adds(file, path);
    if (is_git_anchor(where)) {
        buf_addc(file, '/');
        anchor_git_append_file_name(file, origin);
    }
    free(path);
    return file->failed ? MI_ENOMEM : 0;
}

int anchor_read_last_checkpoint_size(const char *where, struct slice origin, uint64_t *ret_size,
                                     struct buf *error)
{
    struct buf file = {0};
    int st = anchor_find_file(where, origin, &file, error);
    if (st == 0)
        st = anchor_file_read_checkpoint_size(buf_str(&file), origin, ret_size, error);
    buf_close(&file);
    return st;
}

int anchor_write(const struct anchoring *a, const char *where)
{
    char *path;
    if (strcmp(where, SYSLOG) == 0)
        return write_note_to_syslog(a);
    int st = expand_anchor_path(where, &path, a->error);
    if (st < 0)
        return st;
    st = is_git_anchor(where) ? anchor_write_to_git(a, path) : anchor_write_to_file(a, path);
    free(path);
    return st;
}
