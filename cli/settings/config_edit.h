/* config_edit.h - writes one key of a section `[server NAME]` into the text of a configuration
 * file.
 *
 * Rules     the text has the format that cli/settings/config_file.c reads. Only the line of the key
 *           changes, and the comment after the value is kept. If the key is missing, it is added at
 *           the end of the last section with this name. If there is no such section, it is added at
 *           the end of the text. New lines end with CR LF if the first line of the text does.
 * Errors    MI_ENOMEM; MI_EINVAL: a section cannot have this name.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_CLI_SETTINGS_CONFIG_EDIT_H
#define MI_CLI_SETTINGS_CONFIG_EDIT_H

#include "base/buf.h"

/* A change of the configuration file: `now` replaces `before`, which is empty or consists of whole
 * lines of the file. */
struct config_edit {
    struct slice before;
    /* number in the file of the first line of `before`, from 1; 0: a section is added at the end */
    size_t line;
    struct buf now; /* owned; free it with buf_close() */
};

MI_MUST int config_edit_server_setting(struct slice text, const char *server, const char *key,
                                       const char *value, struct config_edit *ret);

#endif
