#include "ship/outbox/backoff.h"

int64_t backoff_wait_ms(int failures, uint32_t random)
{
    int64_t most = BACKOFF_MIN_MS;
    for (int i = 1; i < failures && most < BACKOFF_MAX_MS; i++)
        most *= 2;
    most = most > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : most;
    return most / 2 + (int64_t)random % (most / 2 + 1);
}
