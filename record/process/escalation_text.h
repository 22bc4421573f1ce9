/* escalation_text.h - the content of an escalation file: Markdown, with flat YAML front matter.
 *
 * Rules     every text passes the sanitizer (redact/sanitizer.h), with the active rules. Text of a
 *           peer is shown as code or escaped, and truncated to ESCALATION_TEXT_MAX.
 * Errors    b->failed is set if memory runs out.
 * Blocks    never. */
#ifndef MI_RECORD_PROCESS_ESCALATION_TEXT_H
#define MI_RECORD_PROCESS_ESCALATION_TEXT_H

#include "record/process/escalation.h"

/* Appends the whole content of the file. */
void escalation_append_file_text(struct buf *b, const struct escalation *e);
/* Appends the name of a server, tool or method as the database stores it: sanitized and
 * truncated. */
void escalation_append_name(struct buf *b, struct slice text);

#endif
