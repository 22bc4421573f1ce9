/* exchange.h - sends one request to a server and prints the answer.
 *
 * Owns      nothing: the request and the recording belong to the caller.
 * Errors    are reported on stderr; the functions return the exit status.
 * Blocks    on the server, and on the user: a question, an editor. */
#ifndef MI_CLI_SEND_EXCHANGE_H
#define MI_CLI_SEND_EXCHANGE_H

#include "cli/frame/recording.h"
#include "cli/send/outgoing.h"
#include "cli/send/peer.h"

struct exchange {
    const struct settings *s;
    struct peer *peer;        /* the server; the caller has loaded the recording into `peer` */
    struct outgoing *request; /* request to send; NULL: lists the tools */
    const struct cli_value_list *sets;
    uint32_t item;     /* index of the recorded request; LIVE_SESSION_NONE: none */
    char *const *argv; /* command of the server */
    /* working directory of the server; NULL: the directory of this process */
    const char *dir;
    const char *name;       /* name of the recorded session; NULL: derived from the command */
    const char *from;       /* the recorded request, UID:SEQ or FILE:SEQ; NULL: none */
    enum revision revision; /* the chosen revision; REV_COUNT: none was chosen */
    /* set by exchange_run(); true: the request was not sent, because it could not be made, or was
     * not confirmed */
    bool refused;
};

/* Starts the server, sends the request, prints the answer and ends the server. */
int exchange_run(struct exchange *x);

#endif
