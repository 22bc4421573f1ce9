/* play.h - one session by script: what the peers say, and what they get.
 *
 * Lines go through the line reader, the traffic, the recorder and the outboxes, as the proxy has them,
 * with no process and no loop.
 *
 * Owns      what each side got, in `play`, until the next session.
 * Blocks    on the vault's file system only. */
#ifndef MI_TESTS_PLAY_H
#define MI_TESTS_PLAY_H

#include "proxy/traffic.h"

#define PLAY_GOT_MAX ((size_t)1 << 20)

struct side {
    struct line_reader lines; /* of what this side says */
    char *got;                /* what it was sent */
    size_t got_n, read_n;     /* so far; and looked at by the server */
    int fd;                   /* where it is written to */
};

struct play {
    struct recorder *recorder;
    struct traffic traffic;
    struct side side[2]; /* [ROW_C2S]: the client says, the server gets; [ROW_S2C]: the other way */
    bool stop, over;     /* policy; nothing more is served */
    bool closed;         /* the client's stream was closed for want of memory */
    bool cut;            /* there was no memory to read what is being said */
    char asked[100][16]; /* ids of the requests that were read whole, as JSON */
    size_t asked_n;
    int looks;  /* releases after the fault at which the database was looked at */
    bool early; /* something was released that was not in the database */
};
extern struct play play;

void play_open(void); /* once; before any session */
/* One session in a new vault. False: it did not begin. */
bool play_session(const char *vault, bool stop);
void play_remove(const char *path); /* a vault, or whatever it lies in */

static inline struct slice play_got(enum row_direction to)
{
    return (struct slice){play.side[to].got, play.side[to].got_n};
}

#endif
