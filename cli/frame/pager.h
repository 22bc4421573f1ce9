/* pager.h - sends output on a terminal through the user's pager.
 *
 * A shell runs $PAGER. If $PAGER is not set, `less` is used if it is installed. If $LESS is not
 * set, it becomes FRX: colours, and no paging of output that fits on the screen. If $LESS is set,
 * -R (colours) is put before its value. If $LV is not set, it becomes -c, the option of lv for
 * colours. PAGER=cat and an empty PAGER mean no pager, as do TERM=dumb and a missing $TERM.
 * Owns      the pager's process, and stdout while it runs.
 * Blocks    pager_close() until the user quits the pager. */
#ifndef MI_CLI_FRAME_PAGER_H
#define MI_CLI_FRAME_PAGER_H

#include "cli/frame/out.h"

#include <sys/types.h>

struct pager {
    pid_t pid;    /* process of the pager; 0: no pager runs */
    int terminal; /* owned; the original stdout; -1: stdout is not redirected */
};

/* Must be called after out_open() and before the first output. Does nothing if stdout is not a
 * terminal, or there is no pager. */
void pager_open(struct pager *p, const struct out *o);
/* Must be called after out_close(), which writes all output. */
void pager_close(struct pager *p);

#endif
