/* library.h - the libraries that compute hashes and signatures. */
#ifndef MI_EVIDENCE_LIBRARY_H
#define MI_EVIDENCE_LIBRARY_H

#include "base/buf.h"

/* Appends the versions of the libraries: "Nettle 3.8, libsodium 1.0.18". Initializes neither
 * library. */
void evidence_append_library_versions(struct buf *b);

#endif
