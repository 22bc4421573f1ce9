/* bodies.h - replaces large bodies of a session, in VAULT/Bodies/UID. Functions return 0, MI_EIO or MI_ENOMEM. */
#ifndef MI_VAULT_UPKEEP_SCRUB_BODIES_H
#define MI_VAULT_UPKEEP_SCRUB_BODIES_H

#include "vault/upkeep/scrub/state.h"

/* Notes a range to which a row refers, so that the range is not overwritten. */
MI_MUST int scrub_keep_range(struct scrub *s, int64_t offset, int64_t length);
/* Writes a body to the end of the file, syncs it before a row refers to it, and notes its range. */
MI_MUST int scrub_append_body(struct scrub *s, struct slice body, int64_t *ret_offset);
/* Overwrites everything outside of the noted ranges with zeros. */
MI_MUST int scrub_blank_bodies(struct scrub *s);

#endif
