/* uri.h - resolves a reference against a base URI (RFC 3986, section 5). Internal to wire/schema/.
 * Pure. */
#ifndef MI_WIRE_SCHEMA_URI_H
#define MI_WIRE_SCHEMA_URI_H

#include "base/buf.h"

/* Appends the URI that `ref` means in a document at `base`, which may be empty. Neither has a
 * fragment. */
void uri_resolve(struct buf *b, struct slice base, struct slice ref);

#endif
