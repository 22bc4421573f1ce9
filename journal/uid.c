#include "journal/uid.h"

#include "base/random.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void uid_make_time_prefix(int64_t wall_us, char ret[UID_TIME_LEN + 1])
{
    uint64_t ms = (uint64_t)(wall_us / 1000);
    for (int i = UID_TIME_LEN - 1; i >= 0; i--, ms >>= 5)
        ret[i] = digits[ms & 31];
    ret[UID_TIME_LEN] = '\0';
}

int uid_make(int64_t wall_us, char *ret)
{
    /* Each character takes one random byte: this is simpler than using all bits. */
    unsigned char r[16];
    if (random_fill(r, sizeof r) < 0)
        return MI_EIO;
    uid_make_time_prefix(wall_us, ret);
    for (int i = 0; i < 16; i++)
        ret[UID_TIME_LEN + i] = digits[r[i] & 31];
    ret[UID_LEN] = '\0';
    return 0;
}

bool uid_is_valid(struct slice text)
{
    if (text.n != UID_LEN)
        return false;
    for (size_t i = 0; i < UID_LEN; i++)
        if (memchr(digits, text.p[i], sizeof digits - 1) == NULL)
            return false;
    return true;
}
