/* target.h - a central store in PostgreSQL, as a target. */
#ifndef MI_SHIP_POSTGRES_TARGET_H
#define MI_SHIP_POSTGRES_TARGET_H

#include "ship/outbox/target.h"

extern const struct target_kind postgres_target;

#endif
