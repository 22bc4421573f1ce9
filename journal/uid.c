#include "journal/uid.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/* A filter of system calls may not know getrandom(2). */
static int fill_randomly(unsigned char *r, size_t n)
{
    if (getentropy(r, n) == 0)
        return 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 && read(fd, r, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    return done ? 0 : MI_EIO;
}

void uid_begin(int64_t wall_us, char ret[UID_TIME_LEN + 1])
{
    uint64_t ms = (uint64_t)(wall_us / 1000);
    for (int i = UID_TIME_LEN - 1; i >= 0; i--, ms >>= 5)
        ret[i] = digits[ms & 31];
    ret[UID_TIME_LEN] = '\0';
}

int uid_make(int64_t wall_us, char *ret)
{
    unsigned char r[16]; /* one random byte per character: simpler than using every bit */
    if (fill_randomly(r, sizeof r) < 0)
        return MI_EIO;
    uid_begin(wall_us, ret);
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
