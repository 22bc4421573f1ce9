/* attendant.h - a small process of ours beside the proxy, for the things it must not do itself.
 *
 * Guard       when the proxy dies in a way that it cannot handle (SIGKILL), the attendant ends the
 *             server's process group. (PR_SET_PDEATHSIG reaches the server itself, but not what a
 *             launcher like npx or sh has started.)
 * Bury        ATTENDANT_BURY_US after the start it closes the sessions of proxies that were killed.
 * Checkpoint  it moves the write-ahead log into the database, and may wait for the disk meanwhile.
 * Prune       with rules of retention it removes what they say, once after the start and once a day, in steps of
 *             a few milliseconds (vault/prune.h), and only while nobody writes to the vault.
 * Write out   it brings long bodies to the disk, so that the memory they take can be used again.
 *
 * It is forked before anything is open, leaves the client's descriptors at once, sleeps until it is told
 * something, and ends when the proxy does. Without it (fork failed) the proxy works, less well.
 * Owns      the process and our end of a socket pair.
 * Blocks    never, but attendant_close(): until it has ended; after ATTENDANT_END_US it is killed. */
#ifndef MI_PROXY_ATTENDANT_H
#define MI_PROXY_ATTENDANT_H

#include "vault/prune.h"

#include <sys/types.h>

#define ATTENDANT_END_US 50000
#define ATTENDANT_BURY_US 2000000
#define ATTENDANT_QUIET_US 500000 /* so long nobody must have written before it prunes */

struct attendant {
    pid_t pid;              /* 0: there is none */
    int fd;                 /* our end; non-blocking; -1: there is none */
    bool busy;              /* asked for a checkpoint and not told yet that it is done */
    bool writing;           /* asked to write bodies out, the same */
    int64_t unwritten_from; /* the first byte of them that it has not been asked for; -1: none */
};

void attendant_open(struct attendant *a, const char *vault, const struct retention *retention);
void attendant_close(struct attendant *a);              /* safe to call twice */
void attendant_guard(struct attendant *a, pid_t group); /* 0: nobody */
/* Asks for a checkpoint. false: there is no attendant to do it. While one is under way, does nothing. */
bool attendant_checkpoint(struct attendant *a);
/* Asks for a part of a session's file of bodies to be written out (vault/bodies.h). While that is done to
 * an earlier part, does nothing: the next call asks for both. */
void attendant_write_out(struct attendant *a, const char *uid, int64_t from, int64_t to);

#endif
