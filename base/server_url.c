#include "base/server_url.h"

static size_t url_scheme_len(struct slice word)
{
    static const char *const schemes[] = {"https://", "http://"};
    for (size_t i = 0; i < MI_COUNT(schemes); i++)
        if (slice_begins(word, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* Returns the number of bytes in `s` before the first character that `ends` contains. */
static size_t count_bytes_before_chars(struct slice s, const char *ends)
{
    size_t n = 0;
    while (n < s.n && (s.p[n] == '\0' || strchr(ends, s.p[n]) == NULL))
        n++;
    return n;
}

bool server_url_find_in_word(struct server_url_search *s, struct slice word, struct server_url *ret)
{
    size_t n = s->began && !s->after_option ? url_scheme_len(word) : 0;
    s->began = true;
    s->after_option = word.n > 1 && word.p[0] == '-' && !slice_is(word, "--");
    if (n == 0)
        return false;
    struct slice rest = {word.p + n, word.n - n};
    size_t end = count_bytes_before_chars(rest, "/?#"), at = end;
    while (at > 0 && rest.p[at - 1] != '@')
        at--;
    struct slice path = {rest.p + end, rest.n - end};
    path.n = count_bytes_before_chars(path, "?#");
    *ret = (struct server_url){{word.p, n}, {rest.p + at, end - at}, path};
    return true;
}
