/* target.h - an OpenTelemetry collector, as a target. */
#ifndef MI_SHIP_OTLP_TARGET_H
#define MI_SHIP_OTLP_TARGET_H

#include "ship/outbox/target.h"

extern const struct target_kind otlp_target;

#endif
