/* search_match.h - prints a message that `search` has found, with the match in its context.
 *
 * Errors    those of the output (cli/frame/out.h).
 * Blocks    on standard output. */
#ifndef MI_CLI_LOOK_SEARCH_SEARCH_MATCH_H
#define MI_CLI_LOOK_SEARCH_SEARCH_MATCH_H

#include "base/json_out.h"
#include "cli/frame/out.h"
#include "cli/look/search/find_messages.h"

/* Returns the match with at most `before` bytes before it and at most `after` bytes after it. */
struct slice search_match_get_context(const struct search_match *f, size_t before, size_t after);
/* Adds the members of the JSON object that describes the found message. */
void search_match_add_json_members(struct json_out *j, const struct search_match *f);
/* Prints two lines: a description of the message, and the match with the text around it. */
void search_match_print_text(struct out *o, const struct search_match *f);

#endif
