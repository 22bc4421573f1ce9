#include "vault/uid.h"

#include <sys/random.h>

int uid_make(int64_t wall_us, char *ret)
{
    static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    unsigned char r[16]; /* one random byte a character wastes bits and saves shifting */
    if (getrandom(r, sizeof r, 0) != (ssize_t)sizeof r)
        return MI_EIO;
    uint64_t ms = (uint64_t)(wall_us / 1000);
    for (int i = 9; i >= 0; i--, ms >>= 5)
        ret[i] = digits[ms & 31];
    for (int i = 0; i < 16; i++)
        ret[10 + i] = digits[r[i] & 31];
    ret[UID_LEN] = '\0';
    return 0;
}
