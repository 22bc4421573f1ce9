#include "evidence/library.h"

#include <nettle/version.h>
#include <sodium.h>

void evidence_libraries(struct buf *b)
{
    buf_printf(b, "Nettle %d.%d, libsodium %s", nettle_version_major(), nettle_version_minor(),
               sodium_version_string());
}
