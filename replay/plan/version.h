/* version.h - the protocol revisions in a recording. */
#ifndef MI_REPLAY_PLAN_VERSION_H
#define MI_REPLAY_PLAN_VERSION_H

#include "replay/plan/tables.h"

/* Stores the revision, unless another one was stored before. */
void plan_store_protocol_version(struct plan *p, bool modern, struct json_value v);

#endif
