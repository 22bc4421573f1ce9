/* previous_tools.h - the tools of a server's previous session, as the recorder process hands them
 * over.
 *
 * Form      a file: the uid of that session, '\n', a result of tools/list as a JSON-RPC message.
 * Blocks    never: the file is in memory. */
#ifndef MI_RECORD_PREVIOUS_TOOLS_H
#define MI_RECORD_PREVIOUS_TOOLS_H

#include "journal/uid.h"
#include "wire/schema/tools.h"

/* Reads the tools of the previous session from the file fd, and its uid into ret_uid (UID_LEN + 1
 * bytes). The caller owns *ret. Returns false if the file is invalid or fd is -1. */
bool previous_tools_read(int fd, struct tools *ret, char *ret_uid);

#endif
