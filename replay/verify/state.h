/* state.h - the state of a verification. Internal to replay/verify/. */
#ifndef MI_REPLAY_VERIFY_STATE_H
#define MI_REPLAY_VERIFY_STATE_H

#include "replay/live/talk.h"
#include "replay/verify/verify_run.h"

struct verify {
    const struct verify_config *cfg;
    verify_fn fn;
    void *ctx;
    struct talk talk;
    bool initialized;  /* an initialize was sent */
    struct buf shown;  /* owned; the live answer with the recorded ids */
    struct buf reason; /* owned; why there is no answer */
};

#endif
