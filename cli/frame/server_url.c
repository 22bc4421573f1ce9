#include "cli/frame/server_url.h"

#include "base/server_url.h"
#include "base/text.h"
#include "redact/sanitizer.h"

#define URL_MAX 512 /* maximum number of bytes shown of a URL */

void server_url_append_from_argv(char *const *argv, struct buf *b)
{
    struct server_url_search search = {0};
    struct server_url u;
    struct buf url = {0}, shown = {0};
    while (*argv != NULL && !server_url_find_in_word(&search, slice_of(*argv), &u))
        argv++;
    if (*argv == NULL)
        return;
    buf_slice_add(&url, u.scheme);
    buf_slice_add(&url, u.host);
    buf_slice_add(&url, u.path);
    text_append_visible(&shown, text_prefix(buf_slice(&url), URL_MAX));
    b->failed |=
        url.failed || shown.failed || redact_append_sanitized_text(buf_slice(&shown), b) < 0;
    buf_close(&url);
    buf_close(&shown);
}
