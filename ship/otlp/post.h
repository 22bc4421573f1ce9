/* post.h - sends requests to a collector over HTTP; the only user of libcurl.
 *
 * Rules     the certificate of the server is verified. Redirections are not followed. Proxies are
 *           taken from libcurl's environment variables (https_proxy, no_proxy). Headers and
 *           certificates come from OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE,
 *           OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY.
 * Owns      the connection, which is kept for the next request.
 * Errors    TARGET_LOST, with a sentence in post_error(), if no complete answer arrived;
 *           TARGET_STOPPED; MI_ENOMEM.
 * Memory    POST_KEPT bytes of an answer are kept, and no more than POST_READ are read.
 * Blocks    on the network: POST_S at most. */
#ifndef MI_SHIP_OTLP_POST_H
#define MI_SHIP_OTLP_POST_H

#include "ship/outbox/target.h"

#define POST_CONNECT_S 10
#define POST_S 60
#define POST_KEPT ((size_t)64 << 10)
#define POST_READ ((size_t)1 << 20)

struct post;

struct post_answer {
    int status;            /* the HTTP status */
    int64_t retry_after_s; /* value of Retry-After, in seconds; 0: there was none */
    struct slice body;     /* the beginning of the body; valid until the next request */
};

/* base: the result of url_make_base_url(). MI_EINVAL: the environment is invalid; `error` has the
 * reason. */
MI_MUST int post_new(struct post **ret, const char *base, const struct target *t,
                     struct buf *error);
void post_free(struct post *p); /* the argument may be NULL */
/* Posts JSON to base + path. */
MI_MUST int post_send(struct post *p, const char *path, struct slice body, struct post_answer *ret);
const char *post_error(struct post *p);

#endif
