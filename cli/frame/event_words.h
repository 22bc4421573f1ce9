/* event_words.h - an event (docs/vault.md, `events`) as text for people.
 *
 * Whatever shows an event to people has these words; --json and the tools of `mcp` have the detail as well.
 *
 * Owns      nothing. The text is raw: print it with out_text() or out_fit(), or write it with text_visible().
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_EVENT_WORDS_H
#define MI_CLI_FRAME_EVENT_WORDS_H

#include "base/buf.h"

/* Appends a sentence, such as "the server exited with status 1". Of a kind without one, or if members are missing: `key=value`
 * for each member of the detail, or any other detail as it is. */
void event_words(struct buf *b, struct slice kind, struct slice detail);

#endif
