/* members.h - writes members of a server in the language of its file, in the layout of those beside them.
 *
 * Errors    edits.text.failed: out of memory.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_MEMBERS_H
#define MI_CLI_WRAP_MEMBERS_H

#include "cli/wrap/edits.h"
#include "cli/wrap/mcpfile/servers.h"

struct wrap_with {
    const char *const *command; /* starts the interposer; NULL-terminated (launch.h) */
    const char *const *options; /* of `proxy`; NULL-terminated */
};

/* Bytes of the file. */
void member_add_span(struct edits *e, const struct mcpfile *f, struct span s);
/* The words (NULL-terminated) as strings, with `sep` after each. */
void member_add_words(struct edits *e, const char *const *words, struct slice sep);
/* The words of the command but the first, "proxy", the options and the words of `end` (NULL-terminated), with `sep` after
 * each. */
void member_add_args(struct edits *e, const struct wrap_with *with, const char *const *end,
                     struct slice sep);
/* --original of a server that had no `args`, so that `unwrap` removes them. */
#define MEMBER_NO_ARGS "no args"
/* A key and what separates it from its value. `beside`: a member of the same server. */
void member_add_key(struct edits *e, const struct mcpfile *f, const struct mcpfile_member *beside,
                    const char *name);
/* What separates a new member from the one before it: a comma or a new line. */
void member_add_separator(struct edits *e, const struct mcpfile *f,
                          const struct mcpfile_member *before);
/* Whether only such a separator is between the two. */
bool member_follows(const struct mcpfile *f, const struct mcpfile_member *first,
                    const struct mcpfile_member *second);
/* The start of the line that contains `at`, if only blanks and dashes are before it there; otherwise `at`. */
size_t member_line_start(const struct mcpfile *f, size_t at);
/* A line end as in the line before, and what member_line_start() skips in front of `at`. */
void member_add_line(struct buf *b, const struct mcpfile *f, size_t at);
/* Replaces the value with a string. false: no room for more edits. */
MI_MUST bool member_set_string(struct edits *e, const struct mcpfile_member *m, const char *text);

#endif
