#include "vault/shape.h"

#include <assert.h>
#include <stdlib.h>

#include "vault/shape_pattern.h"
#include "vault/shape_scan.h"
#include "vault/shape_table.h"

/* All anchors are searched for at once: the first four letters of each, or three, make a window. Where its last
 * three may stand, shape_scan_next() finds; its last two lead to the rules. */
#define WINDOW 4
#define BUCKETS 1024
#define MAX_ENTRIES 2048
#define MAX_PATTERNS 64
#define MAX_PENDING 32
/* Bytes before a place that are searched again, for rules that see on from their anchor. */
#define LOOK_BACK 512

struct entry {
    uint16_t pair; /* the last two bytes of a window */
    uint8_t rule;
    uint8_t letters; /* of the window, 3 or 4 */
    uint16_t next;   /* in the bucket; 0: the end */
};

static struct {
    bool ready;
    uint16_t bucket[BUCKETS];
    struct entry entries[MAX_ENTRIES]; /* from 1 on */
    size_t entries_n;
} anchors;

struct pending {
    struct shape_hit hit;
    size_t rule; /* its place in the table */
};

/* How far a text has been searched. Between two calls for one text nothing is done twice. */
struct search {
    struct slice text;
    size_t from;                         /* where the next call goes on */
    size_t end;                          /* of the next window: the place of its last byte */
    struct shape_scan scan;              /* for windows */
    size_t masked;                       /* anchors before it lie in a mark */
    struct pending pending[MAX_PENDING]; /* by place, without overlap */
    size_t pending_n;
};

struct pattern {
    struct shape_pattern *p; /* owned */
    struct shape_hit next;   /* n 0: none in the rest of the text */
    bool stale;              /* next is not of this text */
};

struct shapes {
    struct search *search; /* owned; changes while the rules do not */
    struct pattern *patterns;
    size_t patterns_n;
};

/* ---- the table of anchors ---- */

static unsigned pair_of(const char *p)
{
    return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static unsigned bucket_of(unsigned pair)
{
    return (pair ^ pair >> 5) % BUCKETS;
}

static void add_entry(unsigned pair, size_t rule, size_t letters)
{
    uint16_t *head = &anchors.bucket[bucket_of(pair)], *last = head;
    assert(anchors.entries_n + 1 < MAX_ENTRIES);
    while (*last != 0)
        last = &anchors.entries[*last].next;
    *last = (uint16_t)++anchors.entries_n;
    anchors.entries[*last] = (struct entry){(uint16_t)pair, (uint8_t)rule, (uint8_t)letters, 0};
}

/* The last two letters of a window lead to its rule. */
static void add_pairs(const struct shape_set *a, const struct shape_set *b, size_t rule,
                      size_t letters)
{
    unsigned char x[256], y[256];
    size_t x_n = shape_letters(a, x), y_n = shape_letters(b, y);
    for (size_t i = 0; i < x_n; i++)
        for (size_t k = 0; k < y_n; k++)
            add_entry((unsigned)x[i] << 8 | y[k], rule, letters);
}

static void add_anchor(size_t rule)
{
    const struct shape_rule *r = &shape_rules[rule];
    struct shape_set at[WINDOW];
    const char *f = strchr(r->form, '<');
    size_t n = 0;
    f = f != NULL ? f + 1 : r->form;
    for (; n < WINDOW && *f != '|'; n++)
        shape_atom(&f, (r->flags & SHAPE_FOLD) != 0, &at[n]);
    assert(n == WINDOW || n == WINDOW - 1);
    add_pairs(&at[n - 2], &at[n - 1], rule, n);
    shape_scan_add(&at[n - 3]);
}

static void anchors_open(void)
{
    if (anchors.ready)
        return;
    assert(shape_rules_n <= UINT8_MAX);
    for (size_t i = 0; i < shape_rules_n; i++)
        add_anchor(i);
    anchors.ready = true;
}

static bool may_hit(const struct shape_rule *rule, struct slice text, size_t at)
{
    struct shape_hit hit;
    if (!(rule->flags & SHAPE_LOOSE))
        return shape_form(rule, text, at, &hit);
    if (rule->fn == shape_assignment)
        return shape_assignment_name(text, at);
    struct shape_rule anchor = {rule->name, rule->form, shape_anchor, rule->flags};
    return shape_form(&anchor, text, at, &hit);
}

size_t shapes_place(struct slice text, size_t from, size_t to)
{
    anchors_open();
    shape_form_begin();
    struct shape_scan scan;
    shape_scan_begin(&scan, (struct slice){text.p, to}, from > WINDOW - 2 ? from : WINDOW - 2);
    for (size_t end; (end = shape_scan_next(&scan)) < to;) {
        unsigned pair = pair_of(text.p + end - 1);
        for (unsigned i = anchors.bucket[bucket_of(pair)]; i != 0; i = anchors.entries[i].next) {
            const struct entry *e = &anchors.entries[i];
            if (e->pair == pair && end + 1 >= e->letters &&
                may_hit(&shape_rules[e->rule], text, end + 1 - e->letters))
                return end;
        }
    }
    return to;
}

bool shapes_maybe(struct slice text)
{
    return shapes_place(text, 0, text.n) < text.n;
}

/* ---- one text ---- */

static bool better(const struct pending *a, const struct pending *b)
{
    if (a->hit.from != b->hit.from)
        return a->hit.from < b->hit.from;
    if (a->hit.n != b->hit.n)
        return a->hit.n > b->hit.n;
    return a->rule < b->rule;
}

static size_t end_of(const struct shape_hit *h)
{
    return h->from + h->n;
}

/* Hits that overlap become one, with the name of the better. */
static void keep(struct search *s, struct pending p)
{
    size_t i = 0;
    while (i < s->pending_n && end_of(&s->pending[i].hit) <= p.hit.from)
        i++;
    size_t j = i;
    while (j < s->pending_n && s->pending[j].hit.from < end_of(&p.hit)) {
        struct pending *q = &s->pending[j];
        size_t from = size_min(p.hit.from, q->hit.from);
        size_t end = end_of(&p.hit) > end_of(&q->hit) ? end_of(&p.hit) : end_of(&q->hit);
        struct pending one = better(q, &p) ? *q : p;
        one.hit.from = from;
        one.hit.n = end - from;
        p = one;
        j++;
    }
    memmove(s->pending + i + 1, s->pending + j, (s->pending_n - j) * sizeof *s->pending);
    s->pending_n = s->pending_n - (j - i) + 1;
    s->pending[i] = p;
}

/* What was given before is not given again. */
static bool clip(struct shape_hit *h, size_t from)
{
    if (end_of(h) <= from || h->n == 0)
        return false;
    if (h->from < from) {
        h->n = end_of(h) - from;
        h->from = from;
    }
    return true;
}

/* A rule is not tried within its own hit: there it could only find a part of it. */
static bool within_own(const struct search *s, size_t at, size_t rule)
{
    for (size_t i = s->pending_n; i-- > 0;) {
        const struct pending *p = &s->pending[i];
        if (p->hit.from <= at && at < end_of(&p->hit))
            return strcmp(shape_rules[p->rule].name, shape_rules[rule].name) == 0;
    }
    return false;
}

static void try_window(struct search *s)
{
    unsigned pair = pair_of(s->text.p + s->end - 1);
    for (unsigned i = anchors.bucket[bucket_of(pair)]; i != 0; i = anchors.entries[i].next) {
        const struct entry *e = &anchors.entries[i];
        struct pending p;
        if (e->pair != pair || s->end + 1 < e->letters)
            continue;
        size_t at = s->end + 1 - e->letters;
        size_t mark = shape_mark_end(s->text, at);
        p.rule = e->rule;
        if (mark > s->masked)
            s->masked = mark;
        if (at >= s->masked && !within_own(s, at, p.rule) &&
            shape_form(&shape_rules[e->rule], s->text, at, &p.hit) && clip(&p.hit, s->from))
            keep(s, p);
    }
}

/* Search on until the first hit cannot change any more. */
static void settle(struct search *s)
{
    while (s->pending_n < MAX_PENDING) {
        if (s->pending_n > 0 && s->end >= end_of(&s->pending[0].hit) + WINDOW + SHAPE_BACK_MAX)
            return;
        s->end = shape_scan_next(&s->scan);
        if (s->end >= s->text.n)
            return;
        try_window(s);
        s->end++;
    }
}

static void search_begin(struct search *s, struct slice text, size_t from)
{
    s->text = text;
    s->from = from;
    s->masked = 0;
    s->pending_n = 0;
    shape_form_begin();
    /* what a rule sees may begin before the place, when this is not the first call for the text */
    s->end = (from > LOOK_BACK ? from - LOOK_BACK : 0) + WINDOW - 2;
    shape_scan_begin(&s->scan, text, s->end);
}

static void patterns_begin(const struct shapes *sh)
{
    for (size_t i = 0; i < sh->patterns_n; i++)
        sh->patterns[i].stale = true;
}

/* The next hit of each pattern; the best of them, if it is better than *best. */
static bool ask_patterns(const struct shapes *sh, struct slice text, size_t from, bool found,
                         struct shape_hit *best)
{
    for (size_t i = 0; i < sh->patterns_n; i++) {
        struct pattern *p = &sh->patterns[i];
        struct shape_hit *h = &p->next;
        if (p->stale || (h->n > 0 && h->from < from)) {
            p->stale = false;
            if (!shape_pattern_next(p->p, text, from, h))
                h->n = 0;
        }
        if (h->n > 0 &&
            (!found || h->from < best->from || (h->from == best->from && h->n > best->n))) {
            *best = *h;
            found = true;
        }
    }
    return found;
}

static bool grow(struct shape_hit *hit, const struct shape_hit *other)
{
    if (other->n == 0 || other->from >= end_of(hit) || end_of(other) <= end_of(hit))
        return false;
    hit->n = end_of(other) - hit->from;
    return true;
}

/* Whatever overlaps the hit goes with it. */
static void take_along(const struct shapes *sh, struct shape_hit *hit)
{
    struct search *s = sh->search;
    bool grew = true;
    while (grew) {
        grew = false;
        for (size_t i = 0; i < s->pending_n; i++)
            grew = grow(hit, &s->pending[i].hit) || grew;
        for (size_t i = 0; i < sh->patterns_n; i++)
            grew = grow(hit, &sh->patterns[i].next) || grew;
    }
    size_t gone = 0;
    while (gone < s->pending_n && s->pending[gone].hit.from < end_of(hit))
        gone++;
    memmove(s->pending, s->pending + gone, (s->pending_n - gone) * sizeof *s->pending);
    s->pending_n -= gone;
}

bool shapes_next(const struct shapes *sh, struct slice text, size_t from, struct shape_hit *ret)
{
    struct search *s = sh->search;
    if (from == 0 || from != s->from || text.p != s->text.p || text.n != s->text.n) {
        search_begin(s, text, from);
        patterns_begin(sh);
    }
    settle(s);
    struct shape_hit best = {0};
    bool found = s->pending_n > 0;
    if (found)
        best = s->pending[0].hit;
    if (!ask_patterns(sh, text, from, found, &best))
        return false;
    take_along(sh, &best);
    s->from = end_of(&best);
    *ret = best;
    return true;
}

/* ---- all of it ---- */

int shapes_open(struct shapes **ret, struct buf *error)
{
    (void)error;
    anchors_open();
    struct shapes *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    s->search = calloc(1, sizeof *s->search);
    if (s->search == NULL) {
        free(s);
        return MI_ENOMEM;
    }
    *ret = s;
    return 0;
}

int shapes_add(struct shapes *s, const char *name, const char *regex, struct buf *error)
{
    if (s->patterns_n == MAX_PATTERNS) {
        buf_printf(error, "pattern.%s: there are %d patterns already, and more are not taken", name,
                   MAX_PATTERNS);
        return MI_EINVAL;
    }
    struct pattern *more = realloc(s->patterns, (s->patterns_n + 1) * sizeof *more);
    if (more == NULL)
        return MI_ENOMEM;
    s->patterns = more;
    more[s->patterns_n] = (struct pattern){.stale = true};
    int st = shape_pattern_open(&more[s->patterns_n].p, name, regex, error);
    if (st == 0)
        s->patterns_n++;
    return st;
}

bool shapes_has_patterns(const struct shapes *s)
{
    return s->patterns_n > 0;
}

void shapes_close(struct shapes *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->patterns_n; i++)
        shape_pattern_close(s->patterns[i].p);
    free(s->patterns);
    free(s->search);
    free(s);
}

uint64_t shapes_work(void)
{
    return shape_work;
}
