/* play.h - one scripted session: what the peers send and receive.
 *
 * Lines pass through the line reader, traffic, recorder and outboxes as in the proxy, without a loop; the recorder
 * process is a part of this one (recording.h).
 *
 * Owns      what each side received, in `play`, until the next session.
 * Blocks    on the vault's file system only. */
#ifndef MI_TESTS_PLAY_H
#define MI_TESTS_PLAY_H

#include "proxy/session/traffic.h"
#include "record/recorder.h"

#define PLAY_GOT_MAX ((size_t)1 << 20)

struct side {
    struct line_reader lines; /* of the lines that this side sends */
    char *got;                /* bytes received */
    size_t got_n, read_n;     /* received; read by the server */
    int fd;                   /* its outbox writes here */
};

struct playback {
    struct recorder *recorder;
    struct journal journal; /* the recorder's; each row is noted in `meant` */
    struct traffic traffic;
    struct side
        side[2]; /* [ROW_C2S]: sent by the client, received by the server; [ROW_S2C]: the reverse */
    bool stop, over;     /* --on-record-error stop; the session has ended */
    bool closed;         /* the client's stream was closed because memory ran out */
    bool cut;            /* memory ran out while this line was read */
    char asked[100][16]; /* ids of the requests that were read completely, as JSON */
    size_t asked_n;
    bool sync_full;
    int looks;  /* releases after the fault at which the database was checked */
    bool early; /* with sync_full, a message was released before it was in the database */
};
extern struct playback play;

void play_open(void); /* call once, before the first session */
/* Runs one session in a new vault. False: it did not start. */
bool play_session(const char *vault, bool stop);
void play_remove(const char *path); /* removes a folder and its contents */

static inline struct slice play_got(enum row_direction to)
{
    return (struct slice){play.side[to].got, play.side[to].got_n};
}

#endif
