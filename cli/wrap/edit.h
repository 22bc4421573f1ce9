/* edit.h - the changes that `wrap` and `unwrap` make in a client's configuration file.
 *
 * Wrapped   `"command": "npx", "args": ["-y", "x"]` becomes
 *           `"command": "/usr/bin/mcp-interposer", "args": ["proxy", "--name", "files", "--", "npx", "-y", "x"]`.
 *           The server's own strings are not rewritten, so that removing ours restores the original bytes. A server
 *           without `args` is wrapped without `--`, so that unwrapping removes `args` again.
 * Owns      struct edits owns the inserted text; the file is borrowed.
 * Errors    edits.text.failed: out of memory.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_EDIT_H
#define MI_CLI_WRAP_EDIT_H

#include "cli/wrap/mcpfile/servers.h"

#define EDITS_MAX 2048 /* per file; a server needs two */

enum wrap_state {
    WRAP_PLAIN,   /* not wrapped, but could be */
    WRAP_WRAPPED, /* started by the interposer */
    WRAP_REMOTE,  /* has a URL, no command */
    WRAP_ODD,     /* cannot be edited safely: see wrap_view.why */
};

struct wrap_view {
    enum wrap_state state;
    const char *why;    /* of WRAP_ODD: the reason; else NULL */
    struct buf command; /* owned; the value of `command` */
    size_t own;         /* of WRAP_WRAPPED: number of args before the server's command */
    bool dashes;        /* those args end with `--` */
    struct buf vault;   /* owned; of WRAP_WRAPPED: its --vault; empty: none */
};

/* One replacement. They do not overlap. */
struct edit {
    size_t at, del; /* bytes of the old text */
    size_t put, n;  /* bytes of edits.text */
};

struct edits {
    struct edit edit[EDITS_MAX];
    size_t n;
    struct buf text; /* owned */
};

struct wrap_with {
    const char *program;        /* path of the interposer */
    const char *const *options; /* of `proxy`; NULL-terminated */
};

bool wrap_is_ours(const char *command); /* whether its base name is mcp-interposer */
/* Examines a server. 0 or MI_ENOMEM. */
MI_MUST int wrap_inspect(const struct mcpfile *f, const struct mcpfile_server *s,
                         struct wrap_view *ret);
void wrap_view_close(struct wrap_view *v);
/* The args of a server, decoded, ended by NULL; argv[0] is empty. Owned: wrap_argv_close(), NULL is fine. NULL: out of
 * memory. */
char **wrap_argv(const struct mcpfile *f, const struct mcpfile_server *s);
void wrap_argv_close(char **argv);

void edits_close(struct edits *e);
/* Add the edits that wrap a plain server, unwrap a wrapped one, or replace the path of its interposer. false: no room
 * for more edits. */
MI_MUST bool wrap_add(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                      const struct wrap_with *with);
MI_MUST bool wrap_remove(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                         const struct wrap_view *v);
MI_MUST bool wrap_redirect(struct edits *e, const struct mcpfile_server *s, const char *program);

/* Sorts the edits, and appends the edited text to b. */
void edits_apply(struct edits *e, struct slice old, struct buf *b);
/* Appends the edited form of the bytes from..to. The edits must be sorted, and none may cross these limits. */
void edits_apply_part(const struct edits *e, struct slice old, size_t from, size_t to,
                      struct buf *b);

#endif
