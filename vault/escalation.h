/* escalation.h - VAULT/Escalations: a file for a person to read when something went wrong for good.
 *
 * Escalations/20261121T101540.043Z-hang-files.md: Markdown with flat YAML front matter; docs/vault.md
 * describes it. The same cause for the same server and the same tool (for calls of no tool: the same
 * method) within ESCALATION_AGAIN_US of the file's making makes no new file: `count` and `last_at` in
 * that file change.
 *
 * Rules     the text: vault/escalation_text.h. No name of a file comes from a message. A file appears
 *           whole, under its final name, or not at all; a count goes up in a copy that takes the file's
 *           place, which keeps what a person has written into it. Several proxies may write at once:
 *           the directory is locked (flock) meanwhile; a lock that is not had within ESCALATION_WAIT_US
 *           is gone without, at the price of a second file for one matter. ESCALATION_FILES_MAX files
 *           an hour for one cause and server: a server with ever new tools fills no disk; what comes
 *           after counts in the newest of them.
 * Owns      nothing but what struct escalations holds: what was counted and is not in the file yet.
 * Errors    MI_EIO (errno kept), MI_ENOMEM. To the caller that is a warning and no more.
 * Blocks    on the disk: a new file is synced. Counts are not, and are written once in
 *           ESCALATION_QUIET_US at most. */
#ifndef MI_VAULT_ESCALATION_H
#define MI_VAULT_ESCALATION_H

#include "base/buf.h"

#define ESCALATION_AGAIN_US ((int64_t)3600 * 1000000)
#define ESCALATION_QUIET_US ((int64_t)1000000)
#define ESCALATION_WAIT_US 200000
#define ESCALATION_FILES_MAX 32
/* Bytes of each text that are kept, unless it says otherwise. */
#define ESCALATION_TEXT_MAX ((size_t)4 << 10)
#define ESCALATION_LINES_MAX 20 /* last lines of stderr */

enum escalation_cause {
    ESCALATION_HANG,
    ESCALATION_CRASH_LOOP,
    ESCALATION_AUTH,
    ESCALATION_RECORD_ERROR,
    ESCALATION_CAUSES
};

/* {NULL, 0} and 0: not there; its line or section is left out. All borrowed for the call. */
struct escalation {
    enum escalation_cause cause;
    int64_t at_us;       /* wall clock */
    const char *server;  /* sessions.name */
    const char *session; /* sessions.uid */
    const char *command; /* the server's, a JSON array */
    uint64_t seq;        /* of the request */
    struct slice method, tool;
    struct slice request;          /* the request as it came, JSON */
    struct slice answer;           /* what came back instead of a result (auth), JSON */
    const char *action;            /* one word or two for the front matter: "killed, restarted" */
    struct slice happened;         /* one or several sentences */
    struct slice done;             /* what the proxy did, in sentences */
    struct slice look;             /* more to look at than what is always said for this cause */
    struct slice post_mortem;      /* postmortem_sentence() */
    struct slice post_mortem_json; /* postmortem_json() */
    const struct slice *stderr_lines; /* oldest first; the last ESCALATION_LINES_MAX are kept */
    size_t stderr_n;
    struct slice last_to_server, last_to_client; /* lines */
};

/* What one proxy remembers of the files that it has written lately. Zero it to begin with. */
struct escalations {
    struct escalation_memory {
        uint64_t key;   /* of cause, server and tool; 0: free */
        char name[128]; /* of the file, in Escalations */
        int64_t made_us, written_us,
            last_us;      /* wall clock; when it was made, last written, last happened */
        uint64_t waiting; /* occurrences that its count does not have yet */
    } slot[16];
};

/* Writes, or counts. vault_fd: the vault's directory. ret_path: "Escalations/…" is appended to it;
 * *ret_new: it is a new file, and a person should be told. 0, MI_EIO or MI_ENOMEM. */
MI_MUST int escalation_write(struct escalations *m, int vault_fd, const struct escalation *e,
                             struct buf *ret_path, bool *ret_new);
/* Writes the counts that wait. At the end of a session. */
void escalations_close(struct escalations *m, int vault_fd);
const char *escalation_cause_name(enum escalation_cause cause); /* "hang", "crash-loop", … */

#endif
