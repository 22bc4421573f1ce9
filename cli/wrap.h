/* wrap.h - what `wrap` and `unwrap` change in a client's configuration file.
 *
 * Wrapped   `"command": "npx", "args": ["-y", "x"]` becomes
 *           `"command": "/usr/bin/mcp-interposer", "args": ["proxy", "--name", "files", "--", "npx", "-y", "x"]`.
 *           The words of the server stay as they were written, so that taking ours out gives the old bytes.
 *           A server that had no args at all is wrapped without the `--`: that is how it is known later.
 * Owns      struct edits owns what is put in; the file is borrowed.
 * Errors    want of memory is kept in edits.text.failed.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_H
#define MI_CLI_WRAP_H

#include "cli/mcpfile.h"

#define EDITS_MAX 2048 /* of one file: two for a server */

enum wrap_state {
    WRAP_PLAIN,   /* a server that could be wrapped */
    WRAP_WRAPPED, /* the interposer is in front of it */
    WRAP_REMOTE,  /* it is reached by a URL */
    WRAP_ODD,     /* not understood well enough to be edited: wrap_view.why */
};

struct wrap_view {
    enum wrap_state state;
    const char *why;
    struct buf command; /* owned; what `command` says */
    size_t own;         /* of a wrapped one: the words in front of the server's command */
    bool dashes;        /* and they end with `--` */
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
    const char *program;        /* what is put in front */
    const char *const *options; /* of `proxy`, ended by NULL */
};

bool wrap_is_ours(const char *command); /* is it the interposer, by its name? */
/* What there is. 0 or MI_ENOMEM. */
MI_MUST int wrap_look(const struct mcpfile *f, const struct mcpfile_server *s,
                      struct wrap_view *ret);
void wrap_view_close(struct wrap_view *v);

void edits_close(struct edits *e);
/* A plain server gets `with` in front; a wrapped one becomes plain; a wrapped one gets another program.
 * false: there is no room for more edits. */
MI_MUST bool wrap_add(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                      const struct wrap_with *with);
MI_MUST bool wrap_remove(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                         const struct wrap_view *v);
MI_MUST bool wrap_redirect(struct edits *e, const struct mcpfile_server *s, const char *program);

/* Puts them in order, and the text that they make into b. */
void edits_apply(struct edits *e, struct slice old, struct buf *b);
/* The bytes from..to of the old text as the edits leave them. They are in order, and none reaches across. */
void edits_apply_part(const struct edits *e, struct slice old, size_t from, size_t to,
                      struct buf *b);

#endif
