#include "ship/shards/shard_list.h"

#include "base/grow.h"

#include <stdlib.h>

static struct slice trim_shard_line(struct slice s)
{
    while (s.n > 0 && memchr(" \t\r", s.p[0], 3) != NULL)
        s = (struct slice){s.p + 1, s.n - 1};
    while (s.n > 0 && memchr(" \t\r", s.p[s.n - 1], 3) != NULL)
        s.n--;
    return s;
}

/* Returns why the URL cannot be added, or NULL. *ret_same: number of the line that has the same
 * URL; 0: no line has this URL. */
static const char *shard_find_url_fault(const struct shard_list *l, struct slice url,
                                        size_t *ret_same)
{
    *ret_same = 0;
    if (memchr(url.p, '\0', url.n) != NULL)
        return "the URL has a NUL byte";
    if (l->n == SHARD_LIST_MAX)
        return "there are too many shards: 256 at most";
    for (size_t i = 0; i < l->n; i++)
        if (slice_is(url, l->shard[i].url))
            *ret_same = l->shard[i].line;
    return NULL;
}

static int shard_list_add(struct shard_list *l, struct slice url, size_t line, struct buf *error)
{
    size_t same;
    const char *why = shard_find_url_fault(l, url, &same);
    if (why != NULL) {
        buf_printf(error, "line %zu: %s", line, why);
        return MI_EINVAL;
    }
    if (same != 0) {
        buf_printf(error, "line %zu is the same as line %zu", line, same);
        return MI_EINVAL;
    }
    if (!GROW(l->shard, l->n, l->cap))
        return MI_ENOMEM;
    char *copy = strndup(url.p, url.n);
    if (copy == NULL)
        return MI_ENOMEM;
    l->shard[l->n++] = (struct shard_line){copy, line};
    return 0;
}

int shard_list_read(struct shard_list *l, struct slice text, struct buf *error)
{
    size_t line = 0;
    int st = 0;
    *l = (struct shard_list){0};
    while (st == 0 && text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        struct slice s = trim_shard_line((struct slice){text.p, n});
        line++;
        if (s.n > 0 && s.p[0] != '#')
            st = shard_list_add(l, s, line, error);
        n += end != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
    if (st == 0 && l->n == 0) {
        buf_adds(error, "the file lists no shards: write the URL of one database in each line");
        st = MI_EINVAL;
    }
    if (st < 0)
        shard_list_close(l);
    return st;
}

void shard_list_close(struct shard_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->shard[i].url);
    free(l->shard);
    *l = (struct shard_list){0};
}
