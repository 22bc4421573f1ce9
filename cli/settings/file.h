/* file.h - the configuration file, as settings_read() reads it (cli/settings/config.h).
 *
 * Only cli/settings includes this. */
#ifndef MI_CLI_SETTINGS_FILE_H
#define MI_CLI_SETTINGS_FILE_H

#include "cli/settings/config.h"

/* Reads the configuration file, if it exists. 0, or an error with a sentence in `error`. */
MI_MUST int settings_read_file(struct settings *s, struct buf *error);

#endif
