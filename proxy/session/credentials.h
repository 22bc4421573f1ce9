/* credentials.h - recognizes errors about missing, wrong or expired credentials.
 *
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_CREDENTIALS_H
#define MI_PROXY_SESSION_CREDENTIALS_H

#include "base/base.h"

/* Returns true if an error text says that credentials were refused. Examines only the first 1024
 * bytes. */
bool error_says_credentials_refused(struct slice error_text);

#endif
