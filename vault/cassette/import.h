/* import.h - adds a session that was recorded elsewhere to the vault, completely or not at all.
 *
 * Rules     an import is one transaction; other writers wait for its end. The session gets a new
 *           uid, made from its start time; its pid is 0, its host is empty, and it has ended. An
 *           event `imported` has a digest of the file's content, so that a recording is not
 *           imported twice. The session's texts are sanitized like all stored texts. The session
 *           keeps the redaction rules that it was recorded with; if it has none, the active rules
 *           are stored. Names and versions of client and server that are missing in the header are
 *           taken from the first messages.
 * Owns      the writer, and the session's file of large bodies until import_commit().
 * Errors    negative, with one sentence in import_error_text().
 * Blocks    on the disk; up to IMPORT_WAIT_US for another writer. */
#ifndef MI_VAULT_CASSETTE_IMPORT_H
#define MI_VAULT_CASSETTE_IMPORT_H

#include "journal/uid.h"
#include "vault/query/reader.h"

#define IMPORT_WAIT_US 10000000

struct import;

/* Creates the vault if it does not exist. */
MI_MUST int import_open(struct import **ret, const char *vault, struct buf *error);
/* Removes everything unless import_commit() has succeeded. The argument may be NULL. */
void import_close(struct import *d);

/* Begins the transaction and adds the session. Call this function only once. name: the session's
 * name in the vault; NULL: the name in the session's header. */
MI_MUST int import_session(struct import *d, const struct query_session *s, const char *name);
/* Adds members to the event `imported`. Call this function before import_commit(). members: JSON,
 * such as "\"origin\":…". */
void import_set_event_members(struct import *d, struct slice members);
/* Adds a message. Call this function in the order of the messages. The body must be in m->body. */
MI_MUST int import_message(struct import *d, const struct query_message *m);
/* Returns 0, or 1 if the recording was imported before: then nothing changes, and
 * import_get_session_id() and import_get_session_uid() return those of the earlier session. */
MI_MUST int import_commit(struct import *d);

int64_t import_get_session_id(const struct import *d);
const char *import_get_session_uid(const struct import *d);
int64_t import_messages(const struct import *d);
const char *import_error_text(const struct import *d);

#endif
