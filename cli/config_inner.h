/* config_inner.h - what config.c (values, and all sources together) and config_file.c (the file) share.
 *
 * Only cli/config*.c include this. */
#ifndef MI_CLI_CONFIG_INNER_H
#define MI_CLI_CONFIG_INNER_H

#include "cli/config.h"

/* A value of the file, kept as long as the settings. */
struct config_value {
    struct config_value *next;
    char text[];
};

/* NULL, or why this cannot be the value of that option. */
const char *config_refuse(const struct opt *o, const char *value);
void config_tell_refusal(struct buf *b, const struct opt *o, const char *value, const char *why);
/* Reads the configuration file, if there is one. 0, or an error with its sentence in `error`. */
MI_MUST int config_read_file(struct settings *s, const struct command *c, struct buf *error);

#endif
