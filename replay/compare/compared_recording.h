/* compared_recording.h - one of the two recordings of a comparison: its calls.
 *
 * Owns      the plan, the calls and buffers; compared_recording_close() frees them. The source and
 *           the rules are borrowed.
 * Errors    MI_ENOMEM, MI_EFULL, or the source's: see source_error().
 * Blocks    on the source. */
#ifndef MI_REPLAY_COMPARE_COMPARED_RECORDING_H
#define MI_REPLAY_COMPARE_COMPARED_RECORDING_H

#include "base/intern.h"
#include "replay/compare/diff.h"

struct compared_recording {
    struct source *source;      /* borrowed */
    struct plan *plan;          /* owned */
    uint32_t *exchange;         /* owned; index of the exchange of each call */
    struct align_call *call;    /* owned */
    uint32_t n, listed;         /* number of calls; number of exchanges that were examined */
    struct buf request, answer; /* owned; bodies of the request and answer that were read last */
};

MI_MUST int compared_recording_open(struct compared_recording *s, struct source *source,
                                    const struct diff_rules *rules);
/* Reads a part of the recording. `topics` numbers the topics of both recordings. Sets *ret_done
 * after the last part. */
MI_MUST int compared_recording_load_next_part(struct compared_recording *s,
                                              const struct diff_rules *rules, struct intern *topics,
                                              bool *ret_done);
void compared_recording_close(struct compared_recording *s);
struct diff_call compared_recording_get_call(const struct compared_recording *s, uint32_t call);
/* Reads the request or the answer of a call; valid until the next call of the same function.
 * Returns 0; MI_ENOENT: the message was not recorded; or an error. */
MI_MUST int compared_recording_read_request(struct compared_recording *s, uint32_t call,
                                            struct rpc *ret);
MI_MUST int compared_recording_read_answer(struct compared_recording *s, uint32_t call,
                                           struct rpc *ret);

#endif
