/* journals.h - the journals of a vault, and the state of their recorder processes.
 *
 * A journal is listed if it has a name (journal/journal_file.h); the name is removed when its
 * session has ended and is stored. Only journals_remove() changes anything. The numbers are those
 * at the time of the call.
 *
 * Owns      a list owns its rows; journals_close() frees them.
 * Blocks    journals_open() on the directory of the journals; journals_wait_until_stored() until
 *           its time limit. */
#ifndef MI_CLI_FRAME_JOURNALS_H
#define MI_CLI_FRAME_JOURNALS_H

#include "journal/ring.h"
#include "journal/uid.h"

#include <sys/types.h>

#define JOURNALS_MAX 4096

struct journal_view {
    char uid[UID_LEN + 1]; /* UID of the session */
    char name[80];         /* name of the server */
    bool writer;           /* the proxy has the journal open */
    bool reader;           /* a recorder process has the journal open */
    pid_t recorder;        /* process of the recorder; 0: not started yet */
    uint64_t stored;       /* position up to which all rows are stored */
    uint64_t unstored;     /* bytes of the journal after the position `stored` */
    enum ring_trouble trouble;
    unsigned confined; /* result of the recorder's confine_self(); 0: not confined */
    bool filtered;     /* the recorder's confine_system_calls() succeeded */
    /* how many system calls were denied, and which one was denied last (struct confine_denied) */
    uint32_t denied, last_denied;
    int64_t started_wall_us;
};

/* Journals of all vaults that no process can store in their vault now: no process has them open,
 * and their vault is missing, not a directory, or not writable. */
struct stranded {
    size_t n;
    uint64_t bytes;  /* number of bytes of the messages that are only in these journals */
    char vault[256]; /* path of the vault of the first stranded journal, truncated; "": none */
};

struct journals {
    struct journal_view *row; /* owned */
    size_t n;
    /* number of journals of all vaults that are damaged or of another version, and that no process
     * has open */
    size_t unreadable;
    /* journals that no process can store in their vault now; `row` does not list them */
    struct stranded stranded;
};

/* Lists the journals of this vault's sessions, oldest first. A missing directory has no journals.
 * Returns 0, MI_EIO (see errno) or MI_ENOMEM. */
MI_MUST int journals_open(struct journals *ret, const char *vault);
void journals_close(struct journals *j); /* safe to call twice */
/* Removes the journals that journals_open() counts as unreadable or stranded, with their content.
 * Sets the results to what was removed. Returns 0 or MI_EIO (see errno). */
MI_MUST int journals_remove(size_t *ret_unreadable, struct stranded *ret_stranded);
/* Returns the journal of this session; NULL if there is none. */
const struct journal_view *journals_find(const struct journals *j, const char *uid);

/* Waits, for at most `limit_ms`, until the recorder has stored the messages that were unstored in
 * *v, or the journal is removed; updates *v. Returns false if neither happened. */
bool journals_wait_until_stored(struct journal_view *v, int64_t limit_ms);

#endif
