/* escalation_text.h - what stands in a file of Escalations: Markdown, with flat YAML front matter.
 *
 * Rules     every text passes the sanitizer (vault/redact.h), with the rules in force. A peer's text is
 *           shown as code or escaped, and cut at ESCALATION_TEXT_MAX.
 * Errors    b->failed: no memory.
 * Blocks    never. */
#ifndef MI_VAULT_ESCALATION_TEXT_H
#define MI_VAULT_ESCALATION_TEXT_H

#include "vault/escalation.h"

void escalation_text(struct buf *b, const struct escalation *e);
/* The lines of its front matter by which a file is known again. */
void escalation_identity(struct buf *b, const struct escalation *e);

#endif
