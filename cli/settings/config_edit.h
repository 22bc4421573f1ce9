/* config_edit.h - writes one key of a section `[server NAME]` into the text of a configuration file.
 *
 * Rules     the file is read as cli/settings/file.c reads it. Every line but that of the key stays as it is, and so does the comment
 *           behind its value. A key that is missing is added at the end of the last section of this name, and that
 *           at the end of the file.
 *           New lines end with CR LF if the first line of the file does.
 * Errors    MI_ENOMEM; MI_EINVAL: a section cannot have this name.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_CLI_SETTINGS_CONFIG_EDIT_H
#define MI_CLI_SETTINGS_CONFIG_EDIT_H

#include "base/buf.h"

/* What is replaced: `before` is a part of the text, whole lines, or empty; *now replaces it. */
struct config_edit {
    struct slice before;
    size_t line; /* of its first line, from 1 */
    struct buf now; /* owned: buf_close() */
};

MI_MUST int config_edit_server(struct slice text, const char *server, const char *key,
                               const char *value, struct config_edit *ret);

#endif
