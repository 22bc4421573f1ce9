/* url.h - the URL of an OpenTelemetry collector, and headers from the environment. Pure.
 *
 * Errors    MI_EINVAL with the reason in `error`; values of headers are never in it. */
#ifndef MI_SHIP_OTLP_URL_H
#define MI_SHIP_OTLP_URL_H

#include "base/buf.h"

bool url_is_otlp(const char *url); /* whether the URL begins with otlp+http:// or otlp+https:// */
/* Appends the URL for signals: http://HOST[:PORT][/PATH], without a slash at the end. */
MI_MUST int url_make_base_url(const char *url, struct buf *ret, struct buf *error);

/* Calls fn for each header `NAME: VALUE` of a list NAME=VALUE,… with percent-encoded values, as in
 * OTEL_EXPORTER_OTLP_HEADERS. 0, MI_EINVAL, MI_ENOMEM, or the result of fn. */
typedef int (*url_header_fn)(void *ctx, const char *header);
MI_MUST int url_read_headers(const char *list, url_header_fn fn, void *ctx, struct buf *error);

#endif
