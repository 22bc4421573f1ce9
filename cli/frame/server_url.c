#include "cli/frame/server_url.h"

#include "base/text.h"
#include "redact/sanitizer.h"

#define URL_MAX 512 /* bytes that are shown */

static size_t scheme_n(const char *word)
{
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < MI_COUNT(schemes); i++)
        if (strncmp(word, schemes[i], strlen(schemes[i])) == 0)
            return strlen(schemes[i]);
    return 0;
}

void server_url(char *const *argv, struct buf *b)
{
    struct buf url = {0}, shown = {0};
    size_t at = 1;
    while (argv[at] != NULL && (scheme_n(argv[at]) == 0 || argv[at - 1][0] == '-'))
        at++;
    if (argv[0] == NULL || argv[at] == NULL)
        return;
    size_t n = scheme_n(argv[at]);
    const char *host = argv[at] + n;
    const char *path = host + strcspn(host, "/?#");
    for (const char *p = host; p < path; p++)
        if (*p == '@')
            host = p + 1;
    buf_add(&url, argv[at], n);
    buf_add(&url, host, (size_t)(path - host) + strcspn(path, "?#"));
    text_visible(&shown, text_head(buf_slice(&url), URL_MAX));
    b->failed |= url.failed || shown.failed || redact_append(buf_slice(&shown), b) < 0;
    buf_close(&url);
    buf_close(&shown);
}
