#include "proxy/session/liveness.h"

enum liveness liveness_judge_at_deadline(const struct liveness_facts *f)
{
    if (f->on_hang == ON_HANG_CANCEL)
        return LIVENESS_SLOW;
    if (f->on_hang == ON_HANG_KILL_NOW)
        return LIVENESS_HUNG;
    if (!f->answered) {
        bool starting = f->processes_us > 0 || f->process_runs || f->wrote_stderr;
        return starting && !f->last ? LIVENESS_STARTING : LIVENESS_HUNG;
    }
    bool works = f->helpers_us > 0 || f->helper_runs;
    return works && !f->last ? LIVENESS_AT_WORK : LIVENESS_SILENT;
}

enum liveness liveness_judge_probed_server(const struct liveness_asked *f)
{
    if (!f->last && (f->helpers_us > 0 || f->helper_runs))
        return LIVENESS_AT_WORK;
    return f->server_runs && f->processes_us == 0 ? LIVENESS_SILENT : LIVENESS_HUNG;
}

const char *liveness_name(enum liveness l)
{
    static const char *const names[] = {
        [LIVENESS_SLOW] = "slow",       [LIVENESS_SILENT] = "silent",
        [LIVENESS_AT_WORK] = "at-work", [LIVENESS_STARTING] = "starting",
        [LIVENESS_HUNG] = "hung",
    };
    return names[l];
}
