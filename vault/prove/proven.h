/* proven.h - the records of a bundle as rows of a vault.
 *
 * Owns      nothing: texts are borrowed from the record.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_PROVE_PROVEN_H
#define MI_VAULT_PROVE_PROVEN_H

#include "evidence/bundle.h"
#include "vault/query/reader.h"

/* Reads BUNDLE_MESSAGE. The fields of its request are not set. */
struct query_message proven_read_message(const struct bundle_record *r);
/* Read BUNDLE_SESSION, and then BUNDLE_END into the same *s. */
void proven_read_session(struct query_session *s, const struct bundle_record *r);
void proven_end(struct query_session *s, const struct bundle_record *r);

#endif
