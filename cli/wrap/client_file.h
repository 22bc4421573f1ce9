/* client_file.h - lists, wraps or unwraps the servers of one configuration file.
 *
 * Rules     before a file is written, unwrapping is tried in memory and must restore the original
 *           bytes. A backup is made when the first server of a file is wrapped, and removed when
 *           the last server is unwrapped.
 *           A file in a git work tree gets no path of this machine that the user did not ask for.
 *           Its command is the plain name if PATH leads to this program; --path and values of
 *           environment variables are left out. The same is true for a devcontainer.json, but its
 *           command is the plain name even if PATH does not lead to this program, because the
 *           container has another PATH. If a package runner started this program, the runner is
 *           the command in these files.
 *           The command of a wrapped server is replaced if its interposer no longer exists, or if
 *           it names another version of the package than the one from which this program was
 *           started.
 * Errors    are logged, and set wrapping.failed.
 * Blocks    on the disk. */
#ifndef MI_CLI_WRAP_CLIENT_FILE_H
#define MI_CLI_WRAP_CLIENT_FILE_H

#include "cli/frame/table.h"
#include "cli/settings/config.h"
#include "cli/wrap/advice.h"
#include "cli/wrap/clients.h"
#include "cli/wrap/launch.h"
#include "cli/wrap/wrap_selection.h"

enum wrap_verb { WRAP_VERB_LIST, WRAP_VERB_WRAP, WRAP_VERB_UNWRAP };

struct wrapping {
    const struct settings *settings;
    enum wrap_verb verb;
    bool dry, json, all;
    struct launch launch;                    /* how clients start this program */
    char *backups;                           /* owned; path of the directory of backups */
    char *vault, *journal_dir;               /* owned; absolute paths; NULL: the default */
    const char *deadlines[OPT_MANY_MAX + 1]; /* values of --timeout, ended by NULL */
    struct advice advice;
    struct wrap_selection selection;
    struct out out;
    struct table table;
    bool changes; /* a file was changed; with --dry-run: a file would be changed */
    bool failed;
};

/* Wraps or unwraps the servers of one file. If `named` is true, the user named the file; then a
 * file without servers is an error. Returns 0 or MI_ENOMEM. */
MI_MUST int wrap_file(struct wrapping *w, const struct client_file *where, bool named);

#endif
