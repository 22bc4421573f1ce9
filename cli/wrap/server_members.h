/* server_members.h - writes members of a server into a configuration file, in the language of the
 * file and with the layout of the server's other members.
 *
 * Errors    edits.text.failed: out of memory.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_SERVER_MEMBERS_H
#define MI_CLI_WRAP_SERVER_MEMBERS_H

#include "cli/wrap/edits.h"
#include "cli/wrap/mcpfile/servers.h"

struct wrap_with {
    /* words of the command that starts the interposer (launch.h); ended by NULL */
    const char *const *command;
    const char *const *options; /* options of `proxy`; ended by NULL */
};

/* Appends a copy of the bytes of the file that s denotes. */
void member_append_file_bytes(struct edits *e, const struct mcpfile *f, struct span s);
/* Appends the words (ended by NULL) as strings, with `sep` after each. */
void member_add_quoted_words(struct edits *e, const char *const *words, struct slice sep);
/* Appends the args of a wrapped server: the words of the interposer's command except the first,
 * "proxy", the options, and the words of `end` (ended by NULL). `sep` follows each word. */
void member_add_args(struct edits *e, const struct wrap_with *with, const char *const *end,
                     struct slice sep);
/* Value of --original for a server that had no `args`, so that `unwrap` removes `args`. */
#define MEMBER_NO_ARGS "no args"
/* Appends a key, and the colon or equals sign after it. beside: another member of the same server;
 * in TOML, the new key gets the prefix of the key of `beside`. */
void member_add_key(struct edits *e, const struct mcpfile *f, const struct mcpfile_member *beside,
                    const char *name);
/* Appends the separator between a member and a new member that follows it: a comma, or a line end
 * and indentation. */
void member_add_separator(struct edits *e, const struct mcpfile *f,
                          const struct mcpfile_member *before);
/* Returns whether nothing is between the two members except a separator as member_add_separator()
 * writes it. */
bool members_are_adjacent(const struct mcpfile *f, const struct mcpfile_member *first,
                          const struct mcpfile_member *second);
/* Returns the start of the line if only blanks and dashes precede `at` on it; otherwise `at`. */
size_t member_find_line_start(const struct mcpfile *f, size_t at);
/* Appends a line end like that of the previous line, and the blanks and dashes that precede
 * `at`. */
void member_begin_indented_line(struct buf *b, const struct mcpfile *f, size_t at);
/* Replaces the member's value with a string. Returns false if there is no room for more edits. */
MI_MUST bool member_set_string(struct edits *e, const struct mcpfile_member *m, const char *text);

#endif
