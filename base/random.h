/* random.h - gets random bytes from the kernel, for unique names and for keys of hashes.
 *
 * Errors    MI_EIO: the kernel provides no random bytes.
 * Blocks    never, once the kernel's random pool is ready (getentropy(3)). */
#ifndef MI_BASE_RANDOM_H
#define MI_BASE_RANDOM_H

#include "base/base.h"

#define RANDOM_MAX 256 /* maximum number of bytes in one call */

MI_MUST int random_fill(void *p, size_t n);

#endif
