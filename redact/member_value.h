/* member_value.h - the meaning of a value, derived from its key and its object. Internal to
 * redact/.
 *
 * Source    docs/mcp-wire.md for the fields of the protocol; JSON Schema for its keywords.
 * Blocks    never. Pure. */
#ifndef MI_REDACT_MEMBER_VALUE_H
#define MI_REDACT_MEMBER_VALUE_H

#include "redact/walk.h"

/* The role of a member in its object. */
enum role { ROLE_NONE, ROLE_NAME, ROLE_VALUE, ROLE_BLOB, ROLE_KEPT };

/* All keys are unescaped. */
enum role member_value_get_role(struct slice key); /* never ROLE_KEPT */
/* Whether this key is a protocol field that a peer must return unchanged. Such fields are never
 * replaced. */
bool member_value_is_never_replaced(enum zone zone, struct slice key);
/* Returns the zone of the value of this key, which says what rules apply inside the value. zone:
 * the zone of the object that has the key. */
enum zone member_value_get_zone(enum zone zone, struct slice key);

/* Whether the object that begins at `at` is a schema, which declares a property, rather than a
 * value. */
bool member_value_is_json_schema(const char *at, const char *end, bool among_properties);
/* Whether the object that begins at `at` is a request for input. Its key is a name that the server
 * chooses, and the object contains no answer. */
bool member_value_is_input_request(const char *at, const char *end);
/* Whether this keyword of a schema contains a value: default, const, examples. */
bool member_value_is_schema_literal(struct slice key);

/* the list `words` ends with NULL */
bool slice_is_in_word_list(struct slice s, const char *const *words);

#endif
