/* scripts.h - the scripts that `mcp-interposer completion SHELL` prints. The Makefile embeds them
 * from cli/complete/{bash,zsh,fish}.sh. They do not end in a NUL. */
#ifndef MI_CLI_COMPLETE_SCRIPTS_H
#define MI_CLI_COMPLETE_SCRIPTS_H

#include <stddef.h>

extern const char completion_bash[], completion_zsh[], completion_fish[];
extern const size_t completion_bash_n, completion_zsh_n, completion_fish_n;

#endif
