/* scripts.h - the scripts that `mcp-interposer completion SHELL` prints: cli/complete/{bash,zsh,fish}.sh, embedded by
 * the Makefile. They are not NUL-terminated. */
#ifndef MI_CLI_COMPLETE_SCRIPTS_H
#define MI_CLI_COMPLETE_SCRIPTS_H

#include <stddef.h>

extern const char completion_bash[], completion_zsh[], completion_fish[];
extern const size_t completion_bash_n, completion_zsh_n, completion_fish_n;

#endif
