/* yaml_string.h - the text of a string in a YAML file, escapes resolved. */
#ifndef MI_CLI_WRAP_MCPFILE_YAML_STRING_H
#define MI_CLI_WRAP_MCPFILE_YAML_STRING_H

#include "base/buf.h"

/* Appends the text of a scalar on one line, which was scanned before. b->failed: out of memory. */
void mcpfile_yaml_string(struct slice token, struct buf *b);

#endif
