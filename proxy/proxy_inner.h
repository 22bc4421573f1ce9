/* proxy_inner.h - what the files of the live side share: proxy.c begins and ends it and has the relays'
 * calls, server.c the life of the server's process, restart.c the next one, turn.c the end of a loop turn.
 *
 * Owns      see the fields. One of it in a process.
 * Blocks    never, but on the disk. */
#ifndef MI_PROXY_PROXY_INNER_H
#define MI_PROXY_PROXY_INNER_H

#include "proxy/attendant.h"
#include "proxy/child.h"
#include "proxy/proxy.h"
#include "proxy/relay.h"
#include "proxy/trouble.h"
#include "proxy/voice.h"

struct proxy {
    const struct proxy_config *cfg;
    struct ev_loop *loop;
    struct recorder *recorder; /* owned */
    struct running running;    /* what the recorder was told last */
    struct traffic traffic;
    struct relay relay[2]; /* [ROW_C2S], [ROW_S2C] */
    struct relay err;      /* the server's stderr */
    struct voice voice;    /* our stderr */
    struct child child;
    struct attendant attendant;
    struct trouble trouble;
    ev_prepare turn_end;
    ev_signal signals[3];
    ev_timer retry_timer; /* active while the recorder is behind */
    ev_timer idle_timer;  /* active while the log is worth a checkpoint and the pipes may be busy */
    int64_t idle_pages;   /* in the log at the end of the last turn */
    ev_timer log_timer;   /* active while lines for the log directory wait */
    ev_timer rest_timer;  /* active while the recorder keeps the database's lock for reading */
    ev_timer keep_timer;  /* active while a block is kept for the next large message */
    ev_timer linger_timer;   /* the client's last chance to read its answers */
    ev_timer deadline_timer; /* active while a deadline may pass; never later than the next one */
    bool holding;            /* the recorder lets nothing through */
    bool finishing;          /* the server is gone; last answers are on their way */
    const char *end_reason;
    int exit_status;
    /* of server.c and restart.c: */
    ev_timer start_timer;   /* active between the end of one process and the start of the next */
    ev_timer greet_timer;   /* active while the new process has not answered our initialize */
    ev_timer closed_timer;  /* active when its output has ended and it has not, yet */
    ev_timer broken_timer;  /* active when it reads no more and may be about to end */
    ev_timer drain_timer;   /* active while the client says no more and waits for answers */
    int64_t drain_us;       /* when that began, clock_mono_us() */
    struct outbox greeting; /* what goes to a new process ahead of everything */
    bool hung;              /* it is being ended because it hung */
    bool closed_early;      /* it is being ended because it closed its output */
    struct buf not_started; /* owned; why no server could be started */
    unsigned given_up;      /* restarts within a minute after which there is no other */
    bool unlike;            /* the new process is another server than the old one was */
    int64_t restarts_us[PROXY_RESTARTS_MAX]; /* when the last restarts were, a ring */
    unsigned restarts;                       /* in all */
};

/* server.c */
MI_MUST int server_start(struct proxy *p, struct child_pipes *ret); /* 0, or MI_EIO, told */
void server_open(struct proxy *p, const sigset_t *mask);
void server_connect(struct proxy *p, struct child_pipes pipes);
/* A signal from outside. A client that has waited as long as half of the grace before it sent one is at the end of
 * its patience, and the server hears of it at once. */
void server_signalled(struct proxy *p);
/* It is to end: its stdin closes as soon as everything for it is written. */
void server_stop(struct proxy *p);
/* Its stdin stays open until the client's last bytes are written; they are the last. The grace begins when
 * the client has its answers, or reads no more: server_drain() looks at the end of each turn. */
void server_end_input(struct proxy *p);
void server_drain(struct proxy *p);
void server_output_ended(struct proxy *p);
void server_input_broken(struct proxy *p); /* it has closed its stdin */
/* The calls of traffic.h; owner is the proxy. */
bool server_hung(void *owner, const struct pending *q, int64_t waited_us, struct buf *why);
/* Nothing more goes to this process: what comes from now on is for the next one, if there is to be one. */
void server_leave(struct proxy *p);
/* There is no server, and was none: what the client asks is answered with the reason, and that is the end. */
void server_never_was(struct proxy *p);
/* No process follows: what is open is answered, and we end as the server did. */
void server_end_session(struct proxy *p, const char *reason);
/* What happened to it: a sentence without its full stop, and the stable word for `cause`. */
void server_say_end(const struct proxy *p, struct buf *b);
const char *server_end_cause(const struct proxy *p);
/* So many bytes of its outbox it has read, once its stdin is closed. */
uint64_t server_read(const struct proxy *p);
/* restart.c */
void restart_open(struct proxy *p);
bool restart_allowed(const struct proxy *p);
unsigned restart_recent(const struct proxy *p,
                        int64_t now_us); /* restarts within the last minute */
/* The process is gone. What it leaves is answered or kept, and the next one is started after a while. */
void restart_later(struct proxy *p);
/* A call of traffic.h: an answer to a request of ours. */
void restart_own_answer(void *owner, const struct rpc *m);
/* turn.c */
void turn_open(struct proxy *p);
/* The server is gone for good: answers are written, then we end. */
void turn_linger(struct proxy *p);
/* proxy.c */
void proxy_reason(struct proxy *p, const char *reason); /* the first one stays */
void proxy_finish(struct proxy *p);

#endif
