/* secrets.h - finds where the sanitizer replaced a secret or truncated content in a recorded
 * request.
 *
 * Depth     a value that is nested more than JSON_TREE_DEPTH levels deep is reported as a whole.
 * Owns      nothing. Arguments of the callback are borrowed for the call.
 * Blocks    never. Pure; recurses as deep as the text is nested, at most JSON_TREE_DEPTH. */
#ifndef MI_CLI_SEND_SECRETS_H
#define MI_CLI_SEND_SECRETS_H

#include "base/buf.h"
#include "replay/source/marks.h"
#include "wire/json/scan.h"

/* pointer: the JSON Pointer of a string that contains a mark, or of a member whose name contains a
 * mark. raw: this string or name, with its escapes. */
typedef void (*secrets_fn)(void *ctx, struct slice pointer, enum marks marks, struct slice raw);
/* Calls fn for each mark in `value`. Returns 0 or MI_ENOMEM. */
MI_MUST int secrets_for_each(struct json_value value, secrets_fn fn, void *ctx);

#endif
