/* method.h - the methods of MCP that are treated in a way of their own.
 *
 * Rules     mcp-wire.md 2 and 6.1: what a deadline must not touch, and what may be asked a second time.
 *           A method that is not in the table is an ordinary request with an ordinary deadline.
 * Blocks    never. Pure; the table is static. */
#ifndef MI_WIRE_METHOD_H
#define MI_WIRE_METHOD_H

#include "base/base.h"

enum method_flag {
    METHOD_PATIENT =
        1, /* may rightly stay without an answer: no deadline unless it is named in a rule */
    METHOD_READS = 2,       /* changes nothing: may be sent again to a new process of the server */
    METHOD_UNCANCELLED = 4, /* must not be cancelled (initialize) */
};

/* Flags of a method, its name as it stands between the quotes. 0: an ordinary one, or unknown. */
unsigned method_flags(struct slice raw);

#endif
