#include "ship/otlp/url.h"

#include "base/chars.h"

#include <string.h>

#define HTTP "otlp+http://"
#define HTTPS "otlp+https://"
#define FORM "otlp+http://HOST:4318 or otlp+https://HOST:4318"

/* ---- the URL ---- */

static const char *host_after_scheme(const char *url)
{
    const char *const schemes[] = {HTTP, HTTPS};
    for (size_t i = 0; i < MI_COUNT(schemes); i++)
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
            return url + strlen(schemes[i]);
    return NULL;
}

bool url_is_otlp(const char *url)
{
    return host_after_scheme(url) != NULL;
}

static int otlp_url_set_error(struct buf *error, const char *why)
{
    buf_adds(error, why);
    return MI_EINVAL;
}

int url_make_base_url(const char *url, struct buf *ret, struct buf *error)
{
    const char *host = host_after_scheme(url);
    if (host == NULL)
        return otlp_url_set_error(error, "not a URL of an OpenTelemetry collector: use " FORM);
    size_t authority = strcspn(host, "/?#"), n = strlen(url);
    if (memchr(host, '@', authority) != NULL)
        return otlp_url_set_error(
            error, "the URL has a user or a password, which others could see in `ps` and in the "
                   "vault: put a header into OTEL_EXPORTER_OTLP_HEADERS");
    if (authority == 0 || host[0] == ':')
        return otlp_url_set_error(error, "the URL has no host: use " FORM);
    if (strpbrk(host, "?#") != NULL)
        return otlp_url_set_error(error,
                                  "the URL of a collector must not contain ? or #: use " FORM);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)url[i] <= ' ' || url[i] == 0x7f)
            return otlp_url_set_error(error, "the URL has a space or a control character");
    while (url[n - 1] == '/')
        n--;
    const char *plain = url + strlen("otlp+");
    buf_add(ret, plain, n - (size_t)(plain - url));
    return ret->failed ? MI_ENOMEM : 0;
}

/* ---- headers ---- */

static bool is_header_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static struct slice otlp_url_trim_blanks(struct slice s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct slice){s.p + 1, s.n - 1};
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* Adds a value. A % that begins no escape stands for itself. Returns false if the value has a
 * control character, which could begin another header. */
static bool otlp_url_add_value(struct buf *b, struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        int high = s.p[i] == '%' && i + 2 < s.n ? char_hex_digit_value(s.p[i + 1]) : -1;
        int low = high >= 0 ? char_hex_digit_value(s.p[i + 2]) : -1;
        char c = low >= 0 ? (char)(high * 16 + low) : s.p[i];
        i += low >= 0 ? 2 : 0;
        if (((unsigned char)c < ' ' && c != '\t') || c == 0x7f)
            return false;
        buf_addc(b, c);
    }
    return true;
}

/* Writes `NAME: VALUE`, or for an empty value `NAME;`, as libcurl requires. */
static bool write_http_header(struct buf *b, struct slice entry)
{
    const char *equals = memchr(entry.p, '=', entry.n);
    if (equals == NULL)
        return false;
    struct slice name = otlp_url_trim_blanks((struct slice){entry.p, (size_t)(equals - entry.p)});
    struct slice value =
        otlp_url_trim_blanks((struct slice){equals + 1, entry.n - (size_t)(equals - entry.p) - 1});
    for (size_t i = 0; i < name.n; i++)
        if (!is_header_name_char(name.p[i]))
            return false;
    if (name.n == 0)
        return false;
    buf_clear(b);
    buf_slice_add(b, name);
    buf_adds(b, value.n > 0 ? ": " : ";");
    return otlp_url_add_value(b, value);
}

int url_read_headers(const char *list, url_header_fn fn, void *ctx, struct buf *error)
{
    struct buf header = {0};
    int st = 0, number = 0;
    for (const char *p = list; st == 0 && p != NULL;) {
        const char *comma = strchr(p, ',');
        struct slice entry = otlp_url_trim_blanks(
            (struct slice){p, comma != NULL ? (size_t)(comma - p) : strlen(p)});
        p = comma != NULL ? comma + 1 : NULL;
        number++;
        if (entry.n == 0)
            continue;
        if (!write_http_header(&header, entry)) {
            buf_printf(error,
                       "OTEL_EXPORTER_OTLP_HEADERS: entry %d is not NAME=VALUE with a "
                       "percent-encoded value",
                       number);
            st = MI_EINVAL;
        } else {
            st = header.failed ? MI_ENOMEM : fn(ctx, buf_str(&header));
        }
    }
    buf_close(&header);
    return st;
}
