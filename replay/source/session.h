/* session.h - a session of the vault as a source: read page by page; bodies are read again when
 * needed. */
#ifndef MI_REPLAY_SOURCE_SESSION_H
#define MI_REPLAY_SOURCE_SESSION_H

#include "replay/source/source_rows.h"

/* Reads the next rows into s->rows. 0, MI_ENOENT (no more pages), MI_ESTORE or MI_ENOMEM. */
MI_MUST int source_read_next_page(struct source *s);
MI_MUST int source_read_session_body(struct source *s, uint64_t place, struct buf *b);

#endif
