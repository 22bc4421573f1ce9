#include "ship/outbox/progress.h"

#include "base/grow.h"

#include <stdlib.h>

void progress_close(struct progress *p)
{
    free(p->list);
    *p = (struct progress){0};
}

void progress_clear_sessions(struct progress *p)
{
    p->n = 0;
}

/* Returns the index of the first session whose uid is not less than `uid`. */
static size_t progress_find_index(const struct progress *p, struct slice uid)
{
    size_t from = 0, to = p->n;
    while (from < to) {
        size_t at = from + (to - from) / 2;
        if (memcmp(p->list[at].uid, uid.p, UID_LEN) < 0)
            from = at + 1;
        else
            to = at;
    }
    return from;
}

struct shipped_session *progress_find(struct progress *p, struct slice uid)
{
    if (uid.n != UID_LEN)
        return NULL;
    size_t at = progress_find_index(p, uid);
    return at < p->n && memcmp(p->list[at].uid, uid.p, UID_LEN) == 0 ? &p->list[at] : NULL;
}

struct shipped_session *progress_find_or_add(struct progress *p, struct slice uid)
{
    struct shipped_session *s = progress_find(p, uid);
    if (s != NULL || !uid_is_valid(uid) || !GROW(p->list, p->n, p->cap))
        return s;
    size_t at = progress_find_index(p, uid);
    memmove(&p->list[at + 1], &p->list[at], (p->n - at) * sizeof *p->list);
    p->n++;
    p->list[at] = (struct shipped_session){0};
    memcpy(p->list[at].uid, uid.p, UID_LEN);
    return &p->list[at];
}

uint64_t progress_add_bytes_to_hash(uint64_t hash, struct slice bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        hash = (hash ^ (unsigned char)bytes.p[i]) * UINT64_C(1099511628211);
    return hash;
}
