/* salts.h - random salts for records, from a pool: filling the pool is cheaper than requesting each
 * salt from the system.
 *
 * Owns      nothing. Salts that were returned are erased from the pool.
 * Errors    MI_EIO: libsodium cannot get random bytes.
 * Lifetime  after fork() only one of the two processes may use the pool: otherwise both would hand
 *           out the same salts.
 * Blocks    never, once the system's random number generator is ready. */
#ifndef MI_EVIDENCE_SALTS_H
#define MI_EVIDENCE_SALTS_H

#include "evidence/record.h"

#define SALTS_POOL 8192

/* A struct salts that is {0} is filled at the first use. */
struct salts {
    size_t left; /* number of unused bytes, which are at the beginning of the pool */
    uint8_t pool[SALTS_POOL];
};

MI_MUST int salts_take_next_salt(struct salts *s, struct salt *ret);

#endif
