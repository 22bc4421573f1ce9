/* pager.h - long output on a terminal goes through the person's pager.
 *
 * $PAGER is run by a shell, as everywhere; without it `less`, if there is one. $LESS is FRX unless it is
 * set: colours, and no paging of what fits on the screen. PAGER=cat and an empty PAGER mean none.
 * Owns      the pager's process, and stdout while it runs.
 * Blocks    pager_close(): until the person has seen enough. */
#ifndef MI_CLI_PAGER_H
#define MI_CLI_PAGER_H

#include "cli/out.h"

#include <sys/types.h>

struct pager {
    pid_t pid;    /* 0: there is none */
    int terminal; /* owned; what stdout was; -1 */
};

/* Call it behind out_open(), which knows the terminal, and before the first line. Does nothing when stdout
 * is no terminal, or when a pager cannot be had. */
void pager_open(struct pager *p, const struct out *o);
/* Call it behind out_close(): then all is written. */
void pager_close(struct pager *p);

#endif
