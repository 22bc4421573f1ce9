/* config.h - the settings of a command: its options from the command line, the environment and the file.
 *
 * Order     flag > environment (MCP_INTERPOSER_VAULT, …) > configuration file > default of the table.
 * File      `--config FILE`, else the default path (cli/settings/paths.h), which may be missing. INI: a section is
 *           a command's name (its first word: `[audit]` is for all its verbs), a key the long name of an option. Keys before any section apply to
 *           every command that has such an option; a key in a section overrides them. A line that begins
 *           with `#` or `;` is a comment, and so is the rest of a line after ` ;`.
 *           Section `[retention]` has rules of `prune` that also apply to every proxy (cli/settings/retain.h).
 *           Section `[timeout]` has rules of `proxy --timeout`: a key is WHAT, or `default`.
 *           Section `[server NAME]` has options of `proxy` for the server with this name in records: tools, hide-tools, read-only.
 *           They override those of `[proxy]`.
 *           Section `[redact]` has rules of the sanitizer, for every command: they take effect when the
 *           whole file has been read without an error (redact/sanitizer.h).
 * Values    are checked when they are read (cli/settings/value.h), whatever their source, so the functions that
 *           return a value cannot fail.
 * Owns      all values; settings_close() frees them.
 * Blocks    on the file system only. */
#ifndef MI_CLI_SETTINGS_CONFIG_H
#define MI_CLI_SETTINGS_CONFIG_H

#include "base/opt.h"
#include "cli/settings/command.h"

#define CONFIG_FILE_MAX (64 * 1024) /* bytes of a configuration file */

struct redact;

enum { RETAIN_OLDER, RETAIN_LAST, RETAIN_SIZE, RETAIN_RULES }; /* older-than, keep-last, max-size */

/* A key of a section `[server NAME]`; all borrowed. */
struct server_setting {
    const char *server, *key, *value;
};

struct settings {
    const struct command *command;
    const struct command *const *commands; /* of the program; ended by NULL */
    struct opt_set set;
    const char *retention[RETAIN_RULES]; /* of section [retention]; borrowed; NULL: not set */
    struct server_setting *servers;      /* owned */
    size_t servers_n, servers_cap;
    const char *ship_url;                /* of section [ship]; borrowed; NULL: not set */
    bool ship_minimal; /* [ship] has `level = minimal`, which an option cannot loosen */
    char **operands;   /* ended by NULL. With server_command: the server's argv, within our own */
    int operands_n;
    char **gathered;      /* owned; operands points to it unless server_command */
    struct buf file;      /* owned; the configuration, which values point into */
    struct redact *rules; /* owned; of [redact], until the whole file has been read */
};

enum settings_result {
    SETTINGS_READY,
    SETTINGS_HELP,      /* --help was given */
    SETTINGS_INVALID,   /* an option, an operand or a variable is invalid */
    SETTINGS_BAD_FILE,  /* the file is invalid; what precedes the invalid line applies */
    SETTINGS_NO_MEMORY, /* our own failure */
};

/* Reads all sources. commands: all commands of the program, for the sections of the file. With INVALID, BAD_FILE
 * and NO_MEMORY `error` has one sentence that names the option, the variable, or the file and line. Call settings_close() in any
 * case. */
MI_MUST enum settings_result settings_read(struct settings *s,
                                           const struct command *const *commands,
                                           const struct command *c, int argc, char **argv,
                                           struct buf *error);
void settings_close(struct settings *s);

bool settings_has(const struct settings *s, const char *name); /* whether the command has it */
const char *settings_text(const struct settings *s,
                          const char *name); /* NULL: no value, no default */
/* The same for an option that `[server NAME]` may have, of the server with this name. */
const char *settings_of_server(const struct settings *s, const char *server, const char *name);
/* The values of an option that may be given several times, weaker sources first (base/opt.h). */
const char *settings_each(const struct settings *s, const char *name, size_t *at);
bool settings_is(const struct settings *s, const char *name, const char *word);
bool settings_on(const struct settings *s, const char *name);
size_t settings_size(const struct settings *s, const char *name); /* bytes */
int64_t settings_duration_us(const struct settings *s, const char *name);
int64_t settings_when_us(const struct settings *s, const char *name); /* since the epoch */
int64_t settings_number(const struct settings *s, const char *name);

/* Reports a usage error of a command on stderr, with a hint. EXIT_USAGE. */
int settings_usage(const struct settings *s, const char *fmt, ...) MI_FORMAT(2, 3);

/* The path of the vault, allocated. NULL, after a message on stderr: out of memory, or no home directory. */
char *settings_vault(const struct settings *s);
/* Sets *ret to the path of --journal-dir, allocated; NULL: not given, or the command has no such option. EXIT_FINE, or
 * EXIT_TROUBLE after a message on stderr. */
MI_MUST int settings_journal_dir(const struct settings *s, char **ret);

#endif
