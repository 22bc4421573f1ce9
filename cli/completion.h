/* completion.h - completion of the command line, for three shells, made of the commands' own tables.
 *
 * What an option takes is told by the table's word for its argument: `a|b` these words, FILE and DIR
 * paths, CLIENT the names of cli/clients.h. What a command takes is told by its usage: SESSION, FILE, SERVER.
 * Errors    want of memory is kept in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_COMPLETION_H
#define MI_CLI_COMPLETION_H

#include "cli/command.h"

void completion_bash(struct buf *b);
void completion_zsh(struct buf *b);
void completion_fish(struct buf *b);

#endif
