/* lines.h - lines of a live server: those that are not valid are repaired, or become errors, as the proxy does it.
 *
 * Rules     docs/findings.md. wire/mend repairs, wire/lenient finds the id of what cannot be repaired. An object that
 *           does not end on its line waits LINES_WAIT_US for the next one.
 * Owns      the lines that wait, and the text of the last result.
 * Lifetime  a result is valid until the next call.
 * Blocks    never. Pure: the caller has the clock. */
#ifndef MI_REPLAY_LIVE_LINES_H
#define MI_REPLAY_LIVE_LINES_H

#include "wire/mend.h"

#define LINES_WAIT_US 100000

struct lines {
    size_t max; /* bytes of a message */
    bool waits; /* for the line that continues `raw` */
    int64_t until_us;
    struct mend mend; /* of `raw` */
    struct buf raw;   /* owned: lines as received */
    struct buf text;  /* owned: the result */
};

enum lines_result {
    LINES_READY,
    LINES_WAIT,  /* the next line may continue it */
    LINES_AGAIN, /* *ret is what waited; give the same line again */
};

/* A line as received. *ret: the message, or the line itself if it is none. */
MI_MUST enum lines_result lines_take(struct lines *l, struct slice line, int64_t now_us,
                                     struct slice *ret);
/* Nothing waits any longer. cut: the output has ended, and no error is made of what waited. false: nothing waited. */
bool lines_end(struct lines *l, bool cut, struct slice *ret);
void lines_close(struct lines *l);

#endif
