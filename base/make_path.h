/* make_path.h - makes a directory and its missing parents, with mode 0700.
 *
 * Errors    MI_EIO with errno, or MI_ENOMEM. An existing directory is not an error.
 * Blocks    on the file system only. */
#ifndef MI_BASE_MAKE_PATH_H
#define MI_BASE_MAKE_PATH_H

#include "base/base.h"

MI_MUST int make_path(const char *path);

#endif
