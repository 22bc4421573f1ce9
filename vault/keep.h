/* keep.h - the one door between what was received and what is stored.
 *
 * Every text that comes to rest passes here, and so through the sanitizer with the rules in force
 * (redact_present()): bodies, methods, targets, noise and stderr lines, the server's command, the details of
 * events, names that peers give themselves. What the store binds is what comes back from here, never what
 * it was given. Ids alone stay as they are: answers are found by them.
 *
 * Owns      scratch buffers, reused; what a call returns is good until the next call of the same function.
 * Errors    MI_ENOMEM: then nothing may be stored of that text.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_KEEP_H
#define MI_VAULT_KEEP_H

#include "vault/row.h"

#define KEEP_NAME_MAX 4096 /* bytes of an id, a method or a target that are stored */

/* How much is kept: sessions.record_level. */
enum keep_level {
    KEEP_FULL,     /* all but secrets */
    KEEP_STANDARD, /* and of the content in a call's arguments the head */
    KEEP_MINIMAL,  /* no bodies: that there was a message, not what it said */
};

const char *keep_level_name(enum keep_level level); /* "full", "standard", "minimal" */

struct keep {
    enum keep_level level;
    struct buf scratch, clean, body, text; /* owned */
};

struct kept {
    struct slice rpc_id, method, target, body; /* valid UTF-8, without NUL; {NULL, 0}: not there */
    uint64_t redactions;                       /* replaced in the body, and before it came here */
};

void keep_close(struct keep *k);
MI_MUST int keep_row(struct keep *k, const struct row *r, struct kept *ret);
/* JSON: an event's detail, a command. {NULL, 0} stays. */
MI_MUST int keep_json(struct keep *k, struct slice json, struct slice *ret);
/* Plain text, appended to b: a name, a sentence. Nothing is lost when there is nothing to hide. */
MI_MUST int keep_text(struct slice text, struct buf *b);

#endif
