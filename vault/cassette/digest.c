#include "vault/cassette/digest.h"

static uint64_t add_bytes(uint64_t h, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n > 0; n--)
        h = (h ^ *p++) * 1099511628211u;
    return h;
}

static uint64_t add_int(uint64_t h, int64_t v)
{
    return add_bytes(h, &v, sizeof v);
}

/* With its length, and unlike any other if it is missing. */
static uint64_t cassette_digest_add_text(uint64_t h, struct slice s)
{
    h = add_int(h, s.p != NULL ? (int64_t)s.n : -1);
    return s.p != NULL ? add_bytes(h, s.p, s.n) : h;
}

/* What older versions of the format do not have changes nothing where it is missing. */
static uint64_t add_new(uint64_t h, struct slice s)
{
    return s.p != NULL ? cassette_digest_add_text(h, s) : h;
}

uint64_t digest_session(const struct query_session *s)
{
    uint64_t h = 14695981039346656037u;
    h = cassette_digest_add_text(h, s->name);
    h = cassette_digest_add_text(h, s->command);
    h = cassette_digest_add_text(h, s->end_reason);
    h = add_int(h, s->started_at_us);
    h = add_int(h, s->ended_at_us);
    return add_new(h, s->tools_rule);
}

uint64_t digest_message(uint64_t h, const struct query_message *m)
{
    h = add_int(h, m->seq);
    h = add_int(h, m->t_us);
    h = add_int(h, m->direction);
    h = add_int(h, m->origin);
    h = add_int(h, m->kind);
    h = add_int(h, m->action);
    h = add_int(h, m->size);
    h = add_int(h, m->request_seq);
    h = cassette_digest_add_text(h, m->finding);
    h = cassette_digest_add_text(h, m->body);
    return add_new(h, m->revision);
}
