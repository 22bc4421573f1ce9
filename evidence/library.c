#include "evidence/library.h"

#include <nettle/version.h>
#include <sodium.h>

void evidence_append_library_versions(struct buf *b)
{
    buf_printf(b, "Nettle %d.%d, libsodium %s", nettle_version_major(), nettle_version_minor(),
               sodium_version_string());
}
