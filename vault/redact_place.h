/* redact_place.h - what a value is, from its key and from the object that it stands in.
 *
 * Source    docs/mcp-wire.md for what the protocol's own fields are; JSON Schema for its keywords.
 * Blocks    never. Pure. Between the redact*.c files. */
#ifndef MI_VAULT_REDACT_PLACE_H
#define MI_VAULT_REDACT_PLACE_H

#include "vault/redact_inner.h"

/* What a member is to the object that it stands in. */
enum role { ROLE_NONE, ROLE_NAME, ROLE_VALUE, ROLE_MIME, ROLE_BLOB, ROLE_STAYS };

/* Keys with their escapes resolved. */
enum role place_role(struct slice key); /* never ROLE_STAYS */
/* A field of the protocol that comes back byte for byte. */
bool place_stays(enum zone zone, struct slice key);
/* Of the value that this key has. */
enum zone place_zone(enum zone zone, struct slice key);

/* Does the object that begins at `at` declare a property rather than hold its value? */
bool place_is_schema(const char *at, const char *end, bool among_properties);
/* What in a schema is a value. */
bool place_is_schema_value(struct slice key);
/* Is what has this type text? As it stands between its quotes. */
bool place_is_text_type(struct slice mime);

bool place_is_one_of(struct slice s, const char *const *words); /* ended by NULL */

#endif
