/* journals.h - the journals of a vault, and how their recorder processes are doing.
 *
 * A journal is listed if it has a name (journal/file.h); it disappears when its session has ended and is stored.
 * Only journals_remove() changes something. Numbers are those of one moment.
 *
 * Owns      a list owns its rows; journals_close() frees them.
 * Blocks    journals_open() on the directory of the journals; journals_settle() as it says. */
#ifndef MI_CLI_FRAME_JOURNALS_H
#define MI_CLI_FRAME_JOURNALS_H

#include "journal/ring.h"
#include "journal/uid.h"

#include <sys/types.h>

#define JOURNALS_MAX 4096

struct journal_view {
    char uid[UID_LEN + 1]; /* of the session */
    char name[80];         /* of the server */
    bool writer, reader;   /* whether the proxy, and a recorder process, has it open */
    pid_t recorder;        /* 0: not started yet */
    uint64_t stored;       /* position up to which everything is stored */
    uint64_t unstored;     /* bytes after it */
    enum ring_trouble trouble;
    unsigned confined;            /* confine_self() of the recorder; 0: it is not confined */
    bool filtered;                /* confine_calls() of the recorder has succeeded */
    uint32_t denied, last_denied; /* system calls, as struct confine_denied */
    int64_t started_wall_us;
};

/* Journals of no process whose vault is gone, is no directory, or cannot be written; of any vault. */
struct stranded {
    size_t n;
    uint64_t bytes;  /* of messages that are not stored */
    char vault[256]; /* of the first one; "": none. Truncated */
};

struct journals {
    struct journal_view *row; /* owned */
    size_t n;
    size_t
        unreadable; /* of any vault, and of no process: damaged, or of another version of the program */
    struct stranded stranded; /* these are not among the rows */
};

/* The journals of sessions in this vault, oldest first. A directory that does not exist has none. 0, MI_EIO (see errno)
 * or MI_ENOMEM. */
MI_MUST int journals_open(struct journals *ret, const char *vault);
void journals_close(struct journals *j); /* safe to call twice */
/* Removes those that journals_open() counts as unreadable or stranded, with what they hold, and counts them. 0 or MI_EIO
 * (see errno). */
MI_MUST int journals_remove(size_t *ret_unreadable, struct stranded *ret_stranded);
/* Of this session; NULL: none. */
const struct journal_view *journals_find(const struct journals *j, const char *uid);

/* Whether a session's recorder makes progress: waits until what was unstored in *v is stored, or the journal is
 * removed, for at most `limit_ms`, and updates *v. false: that did not happen. */
bool journals_settle(struct journal_view *v, int64_t limit_ms);

#endif
