/* config_file.h - reads the configuration file for settings_read_all_sources()
 * (cli/settings/config.h).
 *
 * Only the files of cli/settings include this header. */
#ifndef MI_CLI_SETTINGS_CONFIG_FILE_H
#define MI_CLI_SETTINGS_CONFIG_FILE_H

#include "cli/settings/config.h"

/* Reads the configuration file if it exists. Returns 0, or an error; then `error` holds a
 * sentence. */
MI_MUST int settings_read_file(struct settings *s, struct buf *error);

#endif
