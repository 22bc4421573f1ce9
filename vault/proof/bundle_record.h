/* bundle_record.h - converts the records of a bundle to rows as vault/query reads them.
 *
 * Owns      nothing: texts are borrowed from the record.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_PROOF_BUNDLE_RECORD_H
#define MI_VAULT_PROOF_BUNDLE_RECORD_H

#include "evidence/bundle.h"
#include "vault/query/reader.h"

/* Converts a record BUNDLE_MESSAGE to a message. has_request and the members after it, which
 * describe the request that the message answers, are not set. */
struct query_message bundle_record_to_message(const struct bundle_record *r);
/* The next two functions fill the same *s: the first one converts a record BUNDLE_SESSION, the
 * second one the record BUNDLE_END. */
void bundle_record_to_session(struct query_session *s, const struct bundle_record *r);
void bundle_record_to_session_end(struct query_session *s, const struct bundle_record *r);

#endif
