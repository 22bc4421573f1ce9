/* title.h - sets the text that ps(1) and top(1) show for a process, on systems that support it.
 *
 * Linux     shows the memory that held the arguments at the start, up to the environment that
 *           follows it. title_open() copies arguments and environment, so that this memory can be
 *           overwritten and no pointer into it is left. (libbsd's setproctitle() does the same;
 *           loading one more library would cost more start-up time than this module.)
 * Units     bytes.
 * Lifetime  the copies live until the process exits.
 * Blocks    never. */
#ifndef MI_BASE_OS_TITLE_H
#define MI_BASE_OS_TITLE_H

#include "base/base.h"

/* Call it first in main(). Returns the arguments to use from then on, and sets environ. If memory
 * runs out, arguments and environment stay unchanged, and title_set() changes only the short
 * name. */
MI_MUST char **title_open(int argc, char **argv);

/* Sets the full text, which `ps -f` shows, and the short name (comm, at most 15 bytes), which `ps`
 * shows. Text that does not fit is truncated; a control character becomes '?'. */
void title_set(const char *short_name, const char *fmt, ...) MI_FORMAT(2, 3);

#endif
