/* base64.h - base64 (RFC 4648, section 4), decoded leniently or strictly, and encoded.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_BASE64_H
#define MI_BASE_BASE64_H

#include "base/buf.h"

/* Appends the decoded bytes. White space is ignored; padding may be missing. The characters `-` and
 * `_` of the URL alphabet are accepted. Returns 0, MI_EINVAL (not base64; some bytes may have been
 * appended) or MI_ENOMEM. */
MI_MUST int base64_decode(struct buf *b, struct slice text);

/* These two functions are strict: they accept only a text that base64_encode() would write.
 * base64_decoded_size() returns the number of decoded bytes, or -1 for any other text.
 * base64_read() writes exactly n bytes, and returns false if the text does not have n bytes. */
ptrdiff_t base64_decoded_size(struct slice text);
MI_MUST bool base64_read(struct slice text, void *ret, size_t n);

/* Appends the bytes as text, with padding and without line breaks. */
void base64_encode(struct buf *b, const void *p, size_t n);

#endif
