/* opt.h - reads the options of a command. One table serves the parser, the environment, the
 * configuration and the help.
 *
 * Forms     `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-nVALUE`, `--flag`; `--` ends the options.
 * Order     the command line overrides the environment (MCP_INTERPOSER_NAME, dashes as
 *           underscores), which overrides the configuration file, which overrides the table's
 *           default. opt_set_from_config(), opt_read_environment() and opt_parse() may be called in
 *           any order.
 * Owns      nothing: values point into argv, the environment, the table or memory of the caller.
 * Errors    MI_EINVAL with a message in `error`: the option, the problem and the remedy.
 * Blocks    never. */
#ifndef MI_BASE_OPT_H
#define MI_BASE_OPT_H

#include "base/buf.h"

#define OPT_MAX 32
#define OPT_MANY_MAX 128 /* maximum number of values of options that may be repeated */

struct opt {
    char letter;      /* short name; 0: none */
    const char *name; /* long name; NULL ends a table */
    /* Name of the option's value in the help; NULL: a flag. If the name ends with "...", the option
     * may be repeated in each source, and all values are used. */
    const char *arg;
    const char *def; /* default, shown by the help; NULL: none */
    /* text for the help; NULL: neither the help nor completion shows the option */
    const char *help;
};

enum opt_from { OPT_DEFAULT, OPT_CONFIG, OPT_ENVIRONMENT, OPT_FLAG };

struct opt_set {
    const struct opt *table; /* borrowed */
    size_t n;
    /* borrowed; for a flag "yes" or "no"; NULL: no value, no default */
    const char *value[OPT_MAX];
    enum opt_from from[OPT_MAX]; /* from[i] is the source of value[i] */
    struct opt_many {
        size_t i; /* index of the option in the table */
        const char *value;
        enum opt_from from;
    } many[OPT_MANY_MAX]; /* values of options that may be repeated, in the order of reading */
    size_t many_n;
    bool overflow;              /* true if more than OPT_MANY_MAX values were given */
    int operands_before_dashes; /* number of operands before `--`; -1: there was no `--` */
    struct buf error;           /* owned; the message of the last MI_EINVAL */
    const char *unknown;        /* the unknown option as written; NULL: another error */
};

void opt_open(struct opt_set *s, const struct opt *table);
void opt_close(struct opt_set *s);

/* Reads argv[from…]. If `operands` is NULL, stops before the first operand, or after `--`, and sets
 * *ret_next to the index of the next argument. Otherwise operands may stand between options: they
 * are stored in `operands`, which must have room for argc entries, and *ret_next is their number.
 * Returns 0, or MI_EINVAL with the index of the invalid option in *ret_next. */
MI_MUST int opt_parse(struct opt_set *s, int argc, char **argv, int from, char **operands,
                      int *ret_next);
/* Reads the environment. Returns 0, or MI_EINVAL if a flag is neither yes nor no. */
MI_MUST int opt_read_environment(struct opt_set *s);
/* Applies one `name = value` of the configuration file. Returns 0, MI_ENOENT (no such option) or
 * MI_EINVAL. */
MI_MUST int opt_set_from_config(struct opt_set *s, const char *name, const char *value);

/* returns NULL if there is no value and no default */
const char *opt_get(const struct opt_set *s, const char *name);
/* Iterates over the values of an option that may be repeated, without the default, in increasing
 * priority of their sources. *at starts at 0. Returns NULL when there are no more. */
const char *opt_next_value(const struct opt_set *s, const char *name, size_t *at);
bool opt_is_on(const struct opt_set *s, const char *name); /* returns true if the flag is `yes` */
enum opt_from opt_get_source(const struct opt_set *s, const char *name);

/* Reads the value of a flag: yes, true, on, 1; no, false, off, 0. Returns false for any other
 * text. */
bool opt_parse_yes_or_no(const char *value, bool *ret);

/* Writes the table as aligned help lines of at most 80 columns, with the defaults. */
void opt_write_help(struct buf *b, const struct opt *table);

#endif
