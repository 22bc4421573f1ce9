/* config.h - the settings of a command: its options, read from every place they can come from.
 *
 * Order     flag > environment (MCP_INTERPOSER_VAULT, …) > configuration file > default of the table.
 * File      `--config FILE`, else the default path (cli/paths.h), which need not exist. INI: a section is
 *           a command's name, a key the long name of an option. Keys before any section count for
 *           every command that has such an option; a section's own key beats them. A line that begins
 *           with `#` or `;` is a comment, and so is the rest of a line after ` ;`.
 *           Section `[retention]` has rules of `prune` that also count for every proxy (cli/retain.h).
 *           Section `[timeout]` has rules of `proxy --timeout`: a key is WHAT, or `default`.
 *           Section `[redact]` has rules of the sanitizer, for every command: once the whole file is
 *           read without an error they are the rules in force (vault/redact.h).
 * Values    are checked by what the table calls the argument, wherever they came from: `SIZE` and
 *           `DURATION` as in base/units.h, `WHEN` as in base/when.h, `N` a number from 0 to 1,000,000,000,
 *           `a|b|c` one of these words, `DIR` and `FILE` a path. Anything else is text. So the getters below cannot fail.
 * Owns      what it read; settings_close() frees it. Values are borrowed until then.
 * Errors    are told on stderr, with the hint: option, variable, or file and line.
 * Blocks    on the file system only. */
#ifndef MI_CLI_CONFIG_H
#define MI_CLI_CONFIG_H

#include "base/opt.h"
#include "cli/command.h"

#define CONFIG_FILE_MAX (64 * 1024) /* bytes of a configuration file */

struct redact;

enum { RETAIN_OLDER, RETAIN_LAST, RETAIN_SIZE, RETAIN_RULES }; /* older-than, keep-last, max-size */

struct settings {
    struct opt_set set;
    const char *retention[RETAIN_RULES]; /* of section [retention]; borrowed; NULL: not there */
    char **operands; /* ended by NULL. With server_command: the server's argv, within our own */
    int operands_n;
    int exit_status;             /* when settings_read() says false */
    char **gathered;             /* owned; what operands points to otherwise */
    struct config_value *values; /* owned; from the file */
    struct redact *rules;        /* owned; of [redact], until all of the file is read */
};

/* Reads everything. false: the command must not run but return s->exit_status; either the help was
 * asked for and printed, or something is wrong and stderr says what. Nothing is to be closed then. */
MI_MUST bool settings_read(struct settings *s, const struct command *c, int argc, char **argv);
void settings_close(struct settings *s);

const char *settings_text(const struct settings *s,
                          const char *name); /* NULL: no value, no default */
/* The values of an option that may be given several times, weaker sources first (base/opt.h). */
const char *settings_each(const struct settings *s, const char *name, size_t *at);
bool settings_is(const struct settings *s, const char *name, const char *word);
bool settings_on(const struct settings *s, const char *name);
size_t settings_size(const struct settings *s, const char *name); /* bytes */
int64_t settings_duration_us(const struct settings *s, const char *name);
int64_t settings_when_us(const struct settings *s, const char *name); /* since the epoch */
int64_t settings_number(const struct settings *s, const char *name);

/* For the rest of a command's usage errors: one line, the hint, and EXIT_USAGE to return. */
int settings_usage(const struct command *c, const char *fmt, ...) MI_FORMAT(2, 3);

/* The default paths that --config and --vault stand for: allocated, or NULL when there is no memory or
 * no home directory, which stderr is told. */
char *settings_vault(const struct settings *s);

#endif
