/* event_words.h - an event (docs/vault.md, `events`) as text for people.
 *
 * Every output for people has these words; --json and the tools of `mcp` have the detail as well.
 *
 * Owns      nothing. The text is raw: print it with out_add_text() or out_add_fitting_text(), or
 *           write it with text_append_visible().
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_EVENT_WORDS_H
#define MI_CLI_FRAME_EVENT_WORDS_H

#include "base/buf.h"

/* Appends a sentence, such as "the server exited with status 1". If there is no sentence for the
 * kind, or the detail lacks members, appends `key=value` for each member; a detail that is not an
 * object is appended as it is. */
void event_words_append_event(struct buf *b, struct slice kind, struct slice detail);

#endif
