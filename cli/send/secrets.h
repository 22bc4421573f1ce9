/* secrets.h - the places of a recorded request where the sanitizer replaced a secret or truncated content.
 *
 * Depth     of a value in more than JSON_TREE_DEPTH levels the whole is reported.
 * Owns      nothing. Arguments of the callback are borrowed for the call.
 * Blocks    never. Pure; recursion as deep as the text, to JSON_TREE_DEPTH. */
#ifndef MI_CLI_SEND_SECRETS_H
#define MI_CLI_SEND_SECRETS_H

#include "base/buf.h"
#include "replay/source/marks.h"
#include "wire/json/scan.h"

/* pointer: of a string with a mark, or of the member whose name has one. raw: the string or name, escapes as written. */
typedef void (*secrets_fn)(void *ctx, struct slice pointer, enum marks marks, struct slice raw);
/* Reports each such place. 0 or MI_ENOMEM. */
MI_MUST int secrets_each(struct json_value value, secrets_fn fn, void *ctx);

#endif
