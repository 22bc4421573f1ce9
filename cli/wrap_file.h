/* wrap_file.h - one configuration file of a client: told of, wrapped or unwrapped.
 *
 * Rules     a file is written only when undoing what was done to it has given its old bytes in memory.
 *           Before the first server of a file is wrapped it is kept as a backup, which goes with the last.
 * Errors    are told on stderr; wrapping.failed says that there were some.
 * Blocks    on the disk. */
#ifndef MI_CLI_WRAP_FILE_H
#define MI_CLI_WRAP_FILE_H

#include "cli/clients.h"
#include "cli/config.h"
#include "cli/table.h"

#define WRAP_OPERANDS_MAX 256

enum wrap_verb { WRAP_VERB_LIST, WRAP_VERB_WRAP, WRAP_VERB_UNWRAP };

struct wrapping {
    const struct settings *settings;
    enum wrap_verb verb;
    bool dry, json;
    char *program;                /* owned; what is put in front */
    char *vault;                  /* owned; absolute; NULL: the default */
    bool seen[WRAP_OPERANDS_MAX]; /* the named server was found */
    struct out out;
    struct table table;
    bool changes; /* something was changed, or would be */
    bool failed;
};

extern const struct table_column wrap_columns[]; /* of wrapping.table */
extern const size_t wrap_columns_n;

/* 0 or MI_ENOMEM. */
MI_MUST int wrap_file(struct wrapping *w, const struct client_file *where);

#endif
