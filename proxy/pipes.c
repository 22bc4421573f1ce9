/* pipes.c - reads the pipes before a deadline counts as passed. */
#include "proxy/live.h"

#include "proxy/session/expire.h"

#define READS_MAX 4 /* this many reads of RELAY_TURN bytes empty the largest pipe */

bool pipes_watch_reading(struct proxy *p)
{
    bool paused = relay_is_paused(&p->relay[ROW_S2C]);
    return expire_set_server_not_reading(&p->traffic, paused) && !paused;
}

void pipes_read_and_flush(struct proxy *p)
{
    relay_flush(&p->relay[ROW_C2S]);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < READS_MAX && !relay_is_paused(&p->relay[i]); n++)
            relay_read_available_bytes(&p->relay[i]);
    /* The result says whether reading has started again. It is not needed: here reading can only
     * stop. */
    (void)pipes_watch_reading(p);
}
