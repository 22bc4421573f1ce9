/* import.h - adds a session that was recorded elsewhere to the vault, completely or not at all.
 *
 * Rules     one transaction; other writers wait for it. The session gets a new uid, made from its start time; its
 *           pid is 0 and its host empty. It has ended.
 *           An event `imported` has the digest of what the file says; a recording that was imported before is not
 *           imported again.
 *           Its texts are sanitized like all stored texts. It keeps the rules that it was recorded with; if it has
 *           none, the active rules are stored. Names and versions of client and server that its header does not have
 *           are taken from its first messages.
 * Owns      the writer, and the session's file of large bodies until import_commit().
 * Errors    negative, with one sentence in import_error().
 * Blocks    on the disk; up to IMPORT_WAIT_US for another writer. */
#ifndef MI_VAULT_CASSETTE_IMPORT_H
#define MI_VAULT_CASSETTE_IMPORT_H

#include "journal/uid.h"
#include "vault/query/reader.h"

#define IMPORT_WAIT_US 10000000

struct import;

/* Creates the vault if it does not exist. */
MI_MUST int import_open(struct import **ret, const char *vault, struct buf *error);
/* Removes everything unless import_commit() has succeeded. NULL is fine. */
void import_close(struct import *d);

/* Call once. name: the session's name in the vault; NULL: the name in its header. */
MI_MUST int import_session(struct import *d, const struct query_session *s, const char *name);
/* Before import_commit(): members that the event `imported` also has, as JSON: "\"origin\":…". */
void import_origin(struct import *d, struct slice members);
/* Call in order. The body must be in m->body. */
MI_MUST int import_message(struct import *d, const struct query_message *m);
/* 0, or 1: it was imported before, and nothing changes; id and uid are those of the earlier session. */
MI_MUST int import_commit(struct import *d);

int64_t import_id(const struct import *d);
const char *import_uid(const struct import *d);
int64_t import_messages(const struct import *d);
const char *import_error(const struct import *d);

#endif
