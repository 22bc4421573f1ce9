/* base64.h - decodes base64 (RFC 4648, section 4).
 *
 * White space is ignored; padding may be missing. The letters of the URL alphabet, `-` and `_`, are accepted.
 * Blocks    never. Pure. */
#ifndef MI_BASE_BASE64_H
#define MI_BASE_BASE64_H

#include "base/buf.h"

/* Appends the decoded bytes. 0, MI_EINVAL (not base64; some bytes may have been appended) or MI_ENOMEM. */
MI_MUST int base64_decode(struct buf *b, struct slice text);

#endif
