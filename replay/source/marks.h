/* marks.h - how the sanitizer changed a recorded text: `[redacted:…]` in place of a secret, `… [+N
 * chars]` at the end of truncated content.
 *
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_SOURCE_MARKS_H
#define MI_REPLAY_SOURCE_MARKS_H

#include "base/base.h"

#define MARKS_REDACTED "[redacted:"
#define MARKS_TRUNCATED "\xe2\x80\xa6 [+" /* … [+ */

enum marks { MARKS_NONE, MARKS_SECRET, MARKS_CUT };
/* Returns how the sanitizer changed `raw`: JSON, or the text of a string with its escapes. {NULL,
 * 0} gives MARKS_NONE. */
enum marks marks_find_in_text(struct slice raw);

#endif
