/* escalation_head.h - writes and reads the front matter of an escalation's file, in the directory
 * `Escalations` of a vault.
 *
 * Form      between two lines `---` a line `key: value` for each field of ESCALATION_HEAD_FIELDS
 *           (model/records.h) that is known: flat YAML. A text is a JSON string, a word and a
 *           number are written as they are.
 * Input     a file may have been changed by people: any bytes can be read.
 * Owns      nothing.
 * Errors    `failed` of a buffer: out of memory.
 * Lifetime  the texts of a head that was read are borrowed from `texts`.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_ESCALATION_HEAD_H
#define MI_MODEL_ESCALATION_HEAD_H

#include "base/buf.h"
#include "model/fields.h"

/* maximum number of characters of a text; a longer text is truncated */
#define ESCALATION_HEAD_TEXT_MAX 256

/* Appends the front matter, with both lines `---`. Texts must be sanitized. */
void escalation_head_append_fields(struct buf *b, const struct escalation_head *h);
/* Reads the front matter of a file. Fields that the file does not have are NULL. `texts` is cleared
 * first. */
void escalation_head_read(struct slice file, struct buf *texts, struct escalation_head *ret);
/* Replaces the value of one field (ESCALATION_HEAD_AT_count and others) in a file. Returns false if
 * the file has no such line. */
MI_MUST bool escalation_head_set_field(struct buf *file, size_t field,
                                       const struct escalation_head *h);

#endif
