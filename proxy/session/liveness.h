/* liveness.h - judges a server that sent nothing between a request and its deadline.
 *
 * Rules     a server that sends any valid message after it was asked whether it lives is slow. CPU
 *           time of its helpers (process_tree.h) proves work until --max-timeout. CPU time of the
 *           server itself proves nothing, because an endless loop uses CPU time as well. Before its
 *           first answer a server is not asked. It counts as starting until --max-timeout, as long
 *           as its processes use CPU time or write to stderr. A process that waits for a processor
 *           counts as running, because on a busy machine it may get none for a while.
 * Units     microseconds.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_LIVENESS_H
#define MI_PROXY_SESSION_LIVENESS_H

#include "base/base.h"

enum on_hang {
    ON_HANG_KILL,     /* ask the server whether it is alive; kill it if it sends no message */
    ON_HANG_KILL_NOW, /* kill the server without asking */
    ON_HANG_CANCEL,   /* never kill the server */
};

enum liveness {
    LIVENESS_SLOW,     /* the server counts as slow: it must not be killed */
    LIVENESS_SILENT,   /* the facts are not sufficient: the server must be asked */
    LIVENESS_AT_WORK,  /* the server's helper processes use the CPU */
    LIVENESS_STARTING, /* the server has answered no request yet; its processes use the CPU */
    LIVENESS_HUNG,
};

/* What is known about the server when a request has reached its deadline. */
struct liveness_facts {
    enum on_hang on_hang;
    bool answered;      /* the process has answered a request with an id */
    bool last;          /* --max-timeout has passed */
    int64_t helpers_us; /* CPU time of the server's helpers since the request was written */
    bool helper_runs;   /* a helper runs or waits for a processor */
    /* CPU time of all processes of the server in about the second half of the time limit */
    int64_t processes_us;
    bool process_runs; /* a process of the server runs or waits for a processor */
    bool wrote_stderr; /* the server wrote to stderr in about the second half of the time limit */
};

/* The facts after a liveness ping was sent and the grace time passed without a message from the
 * server. CPU times are counted from the ping. */
struct liveness_asked {
    bool last; /* --max-timeout has passed */
    int64_t helpers_us;
    bool helper_runs;
    int64_t processes_us;
    bool server_runs;
};

enum liveness liveness_judge_at_deadline(const struct liveness_facts *f);
/* Returns LIVENESS_HUNG or LIVENESS_AT_WORK. Returns LIVENESS_SILENT if the server wanted to run
 * and got no processor: then the server gets the grace time again. */
enum liveness liveness_judge_probed_server(const struct liveness_asked *f);

const char *liveness_name(enum liveness l); /* returns the name of `l` in events */

#endif
