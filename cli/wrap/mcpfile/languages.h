/* languages.h - scanners for the languages of configuration files. They return false after
 * mcpfile_fail(). */
#ifndef MI_CLI_WRAP_MCPFILE_LANGUAGES_H
#define MI_CLI_WRAP_MCPFILE_LANGUAGES_H

#include "cli/wrap/mcpfile/mcpfile_scan.h"

bool mcpfile_scan_json(struct mcpfile_scan *s); /* json.c */
bool mcpfile_scan_toml(struct mcpfile_scan *s); /* toml.c */
bool mcpfile_scan_yaml(struct mcpfile_scan *s); /* yaml.c */

#endif
