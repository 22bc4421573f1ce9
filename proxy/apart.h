/* apart.h - how a process of ours beside the proxy begins: it lets go of all that is the client's.
 *
 * The client's pipes must close when the proxy closes them; a Ctrl-C, or a kill of the client's process
 * group, must not reach it; and nobody else's descriptor is its own to keep.
 * Blocks    never. */
#ifndef MI_PROXY_APART_H
#define MI_PROXY_APART_H

#include "base/base.h"

#define APART_FD 3 /* the one descriptor that is left beside /dev/null on 0, 1 and 2 */

/* In a fork of ours, first of all. fd becomes APART_FD. name: 15 bytes, as ps(1) shows it. */
void apart_begin(int fd, const char *name);
/* In a child of such a process, before exec: signals as a program expects them. */
void apart_end(void);

#endif
