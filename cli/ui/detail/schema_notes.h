/* schema_notes.h - finds where a call and its result violate the schemas of the tool, and makes
 * notes for a document.
 *
 * A recording has only the names of findings. So the place and the reason of a violation are found
 * again, with the schemas of the session's tools.
 * Limits    messages of more than SCHEMA_NOTES_BODY_MAX bytes are not checked.
 * Owns      the texts of the notes; schema_notes_close() frees them. They are valid until then.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_SCHEMA_NOTES_H
#define MI_CLI_UI_DETAIL_SCHEMA_NOTES_H

#include "cli/ui/detail/detail.h"
#include "wire/schema/tools.h"

#define SCHEMA_NOTES_BODY_MAX ((size_t)1 << 20)

struct schema_notes {
    struct schema_fault of_call, of_result; /* owned */
    struct buf pointer[2];                  /* owned; the JSON Pointers of the notes */
    struct detail_note note[2];
    size_t n;
};

/* Fills f->note with notes about the n messages of a call, which are ordered as in struct
 * detail_subject. f must be zero. If memory runs out, adds no notes. */
void schema_notes_find(struct schema_notes *f, struct tools *t, const struct detail_message *m,
                       size_t n);
void schema_notes_close(struct schema_notes *f);

#endif
