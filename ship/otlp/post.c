#include "ship/otlp/post.h"

#include "base/clock.h"
#include "ship/otlp/url.h"

#include <curl/curl.h>
#include <stdlib.h>

struct post {
    CURL *c;                    /* owned */
    struct curl_slist *headers; /* owned */
    const struct target *t;     /* borrowed */
    struct buf base, url;       /* owned */
    struct buf answer;          /* owned; the beginning of the answer */
    size_t answer_n;            /* number of bytes of the answer that were read */
    char why[CURL_ERROR_SIZE];
    struct buf error; /* owned */
};

/* ---- called by libcurl ---- */

/* Called by libcurl with a part of the answer; ends the transfer after POST_READ bytes. */
static size_t post_on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct post *x = ctx;
    size_t bytes = size * n;
    if (x->answer.n < POST_KEPT)
        buf_add(&x->answer, p, size_min(bytes, POST_KEPT - x->answer.n));
    x->answer_n += bytes;
    return x->answer_n <= POST_READ && !x->answer.failed ? bytes : 0;
}

static bool post_must_be_aborted(const struct post *x)
{
    return x->t->stop() || (x->t->until_us != 0 && clock_mono_us() >= x->t->until_us);
}

/* Returns nonzero to end the transfer. */
static int post_on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return post_must_be_aborted(ctx);
}

/* ---- opening ---- */

static int post_add_header(void *ctx, const char *header)
{
    struct post *p = ctx;
    struct curl_slist *more = curl_slist_append(p->headers, header);
    if (more == NULL)
        return MI_ENOMEM;
    p->headers = more;
    return 0;
}

static int post_add_headers(struct post *p, struct buf *error)
{
    /* "Expect:" removes this header; with it, libcurl waits a second for permission to send a large
     * body. */
    static const char *const own[] = {"Content-Type: application/json", "Expect:"};
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(own); i++)
        st = post_add_header(p, own[i]);
    const char *list = getenv("OTEL_EXPORTER_OTLP_HEADERS");
    return st == 0 && list != NULL ? url_read_headers(list, post_add_header, p, error) : st;
}

static void post_set_files(struct post *p)
{
    static const struct {
        const char *name;
        CURLoption option;
    } files[] = {
        {"OTEL_EXPORTER_OTLP_CERTIFICATE", CURLOPT_CAINFO},
        {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", CURLOPT_SSLCERT},
        {"OTEL_EXPORTER_OTLP_CLIENT_KEY", CURLOPT_SSLKEY},
    };
    for (size_t i = 0; i < MI_COUNT(files); i++) {
        const char *path = getenv(files[i].name);
        if (path != NULL && path[0] != '\0')
            curl_easy_setopt(p->c, files[i].option, path);
    }
}

static void post_set_options(struct post *p)
{
    curl_easy_setopt(p->c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(p->c, CURLOPT_ERRORBUFFER, p->why);
    curl_easy_setopt(p->c, CURLOPT_CONNECTTIMEOUT, (long)POST_CONNECT_S);
    curl_easy_setopt(p->c, CURLOPT_TIMEOUT, (long)POST_S);
    curl_easy_setopt(p->c, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(p->c, CURLOPT_USERAGENT, "mcp-interposer-ship/" MI_VERSION);
    curl_easy_setopt(p->c, CURLOPT_HTTPHEADER, p->headers);
    curl_easy_setopt(p->c, CURLOPT_WRITEFUNCTION, post_on_body);
    curl_easy_setopt(p->c, CURLOPT_WRITEDATA, p);
    curl_easy_setopt(p->c, CURLOPT_XFERINFOFUNCTION, post_on_progress);
    curl_easy_setopt(p->c, CURLOPT_XFERINFODATA, p);
    curl_easy_setopt(p->c, CURLOPT_NOPROGRESS, 0L);
    post_set_files(p);
}

int post_new(struct post **ret, const char *base, const struct target *t, struct buf *error)
{
    struct post *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    p->t = t;
    buf_adds(&p->base, base);
    int st = curl_global_init(CURL_GLOBAL_DEFAULT) == 0 && !p->base.failed ? 0 : MI_ENOMEM;
    p->c = st == 0 ? curl_easy_init() : NULL;
    st = p->c != NULL ? post_add_headers(p, error) : MI_ENOMEM;
    if (st < 0) {
        post_free(p);
        return st;
    }
    post_set_options(p);
    *ret = p;
    return 0;
}

void post_free(struct post *p)
{
    if (p == NULL)
        return;
    curl_easy_cleanup(p->c);
    curl_slist_free_all(p->headers);
    curl_global_cleanup();
    buf_close(&p->base);
    buf_close(&p->url);
    buf_close(&p->answer);
    buf_close(&p->error);
    free(p);
}

const char *post_error(struct post *p)
{
    return p->error.n > 0 && !p->error.failed ? buf_str(&p->error) : "out of memory";
}

/* ---- a request ---- */

int post_send(struct post *p, const char *path, struct slice body, struct post_answer *ret)
{
    long status = 0;
    curl_off_t wait_s = 0;
    buf_clear(&p->url);
    buf_slice_add(&p->url, buf_slice(&p->base));
    buf_adds(&p->url, path);
    buf_clear(&p->answer);
    p->answer_n = 0;
    p->why[0] = '\0';
    if (p->url.failed)
        return MI_ENOMEM;
    curl_easy_setopt(p->c, CURLOPT_URL, buf_str(&p->url));
    curl_easy_setopt(p->c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    curl_easy_setopt(p->c, CURLOPT_POSTFIELDS, body.p);
    CURLcode code = curl_easy_perform(p->c);
    /* post_on_body() ended the transfer of a long answer, of which only the status counts. */
    bool too_long = code == CURLE_WRITE_ERROR && p->answer_n > POST_READ;
    if (code == CURLE_OUT_OF_MEMORY || p->answer.failed)
        return MI_ENOMEM;
    if (code != CURLE_OK && !too_long) {
        if (post_must_be_aborted(p))
            return TARGET_STOPPED;
        buf_clear(&p->error);
        buf_printf(&p->error, "%s: %s", buf_str(&p->base),
                   p->why[0] != '\0' ? p->why : curl_easy_strerror(code));
        return TARGET_LOST;
    }
    curl_easy_getinfo(p->c, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(p->c, CURLINFO_RETRY_AFTER, &wait_s);
    *ret = (struct post_answer){(int)status, wait_s, buf_slice(&p->answer)};
    return 0;
}
