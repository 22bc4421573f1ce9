/* config.h - the settings of a command: its options from the command line, the environment and the
 * configuration file.
 *
 * Order     option > environment (MCP_INTERPOSER_VAULT, …) > configuration file > default of the
 *           table.
 * File      the file of `--config FILE`. Without this option, the file at the default path
 *           (cli/settings/paths.h), which may be missing. The format is INI. The name of a section
 *           is the first word of a command's name: `[audit]` is for all verbs of `audit`. A key is
 *           the long name of an option. A key before the first section applies to every command
 *           that has this option; a key in a section overrides it. A line that begins with `#` or
 *           `;` is a comment, and so is the rest of a line after ` ;`. Other sections:
 *           [retention]    rules of `prune` that also apply to every proxy (cli/settings/retain.h)
 *           [timeout]      rules of `proxy --timeout`: a key is WHAT, or `default`
 *           [server NAME]  options of `proxy` for the server that has this name in recordings:
 *                          tools, hide-tools, read-only. They override those of `[proxy]`.
 *           [redact]       rules of the sanitizer, for every command. They take effect when the
 *                          whole file has been read without an error (redact/sanitizer.h).
 * Values    are checked when they are read (cli/settings/option_value.h), from all sources.
 *           Therefore the functions that return a value cannot fail.
 * Owns      all values; settings_close() frees them.
 * Blocks    on the file system only. */
#ifndef MI_CLI_SETTINGS_CONFIG_H
#define MI_CLI_SETTINGS_CONFIG_H

#include "base/opt.h"
#include "cli/settings/command.h"

#define CONFIG_FILE_MAX (64 * 1024) /* maximum size of a configuration file in bytes */

struct redact;

/* the rules older-than, keep-last and max-size */
enum { RETAIN_OLDER, RETAIN_LAST, RETAIN_SIZE, RETAIN_RULES };

/* A key of a section `[server NAME]`. All members are borrowed. */
struct server_setting {
    const char *server, *key, *value;
};

struct settings {
    const struct command *command;
    const struct command *const *commands; /* the table of the program, ended by NULL */
    struct opt_set set;
    /* borrowed; the values of section [retention]; NULL: not set */
    const char *retention[RETAIN_RULES];
    struct server_setting *servers; /* owned */
    size_t servers_n, servers_cap;
    const char *ship_url; /* borrowed; the target in section [ship]; NULL: not set */
    bool ship_minimal;    /* [ship] has `level = minimal`; no option can loosen this */
    /* borrowed, ended by NULL. If the command takes the command line of a server (server_command),
     * `operands` points to that part of argv. Otherwise it is equal to `gathered`. */
    char **operands;
    int operands_n;
    char **gathered; /* owned; the arguments that are not options; NULL if server_command is true */
    struct buf file; /* owned; the text of the file, to which values point */
    struct redact *rules; /* owned; the rules of [redact] while the file is being read */
};

enum settings_result {
    SETTINGS_READY,
    SETTINGS_HELP,    /* --help was given */
    SETTINGS_INVALID, /* an option, an operand or a variable is invalid */
    /* the configuration file is invalid; the lines before the invalid line apply */
    SETTINGS_BAD_FILE,
    SETTINGS_NO_MEMORY, /* memory ran out */
};

/* Reads the settings of the command c from all sources. commands: all commands of the program,
 * which sections of the file may name. For SETTINGS_INVALID, SETTINGS_BAD_FILE and
 * SETTINGS_NO_MEMORY, `error` has a sentence that names the option, the variable, or the file and
 * line. Call settings_close() in any case. */
MI_MUST enum settings_result settings_read_all_sources(struct settings *s,
                                                       const struct command *const *commands,
                                                       const struct command *c, int argc,
                                                       char **argv, struct buf *error);
void settings_close(struct settings *s);

/* Whether the command has this option. */
bool settings_has_option(const struct settings *s, const char *name);
/* Returns the value of an option, or NULL if there is neither a value nor a default. */
const char *settings_get_text(const struct settings *s, const char *name);
/* Returns the value of an option for the server with this name. A section `[server NAME]` may
 * override the option. */
const char *settings_get_text_for_server(const struct settings *s, const char *server,
                                         const char *name);
/* Iterates over the values of an option that may be given several times, weaker sources first
 * (base/opt.h). */
const char *settings_next_value(const struct settings *s, const char *name, size_t *at);
bool settings_value_equals(const struct settings *s, const char *name, const char *word);
bool settings_is_on(const struct settings *s, const char *name);
/* These functions return the value of an option by the type of its argument
 * (cli/settings/option_value.h): a SIZE in bytes, a DURATION in microseconds, a WHEN in
 * microseconds since the epoch, a number N. */
size_t settings_get_size(const struct settings *s, const char *name);
int64_t settings_duration_us(const struct settings *s, const char *name);
int64_t settings_get_time_us(const struct settings *s, const char *name);
int64_t settings_get_number(const struct settings *s, const char *name);

/* Reports a usage error of a command on stderr, with a hint. Returns EXIT_USAGE. */
int settings_fail_usage(const struct settings *s, const char *fmt, ...) MI_FORMAT(2, 3);

/* Returns the path of the vault, allocated. If memory runs out or there is no home directory,
 * writes a message to stderr and returns NULL. */
char *settings_get_vault_path(const struct settings *s);
/* Sets *ret to the path of --journal-dir, allocated, or to NULL if there is no value or no such
 * option. Returns EXIT_FINE or, after a message on stderr, EXIT_TROUBLE. */
MI_MUST int settings_journal_dir(const struct settings *s, char **ret);

#endif
