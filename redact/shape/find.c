#include "redact/shape/find.h"

#include <assert.h>
#include <stdlib.h>

#include "redact/shape/anchor_scan.h"
#include "redact/shape/pattern.h"
#include "redact/shape/shape_table.h"

/* All anchors are searched for at once. The window of an anchor is its first three or four letters.
 * shape_scan_next() finds candidates for the last three letters of a window. Rules are looked up by
 * the last two letters. */
#define WINDOW 4
#define BUCKETS 1024
#define MAX_ENTRIES 2048
#define MAX_PATTERNS 64
#define MAX_PENDING 32
/* A search that begins inside a text begins this many bytes earlier, because rules look ahead from
 * their anchor. */
#define LOOK_BACK 512

struct entry {
    uint16_t pair; /* the last two of the bytes by which the rule is found */
    uint8_t rule;
    uint8_t letters; /* length of the anchor's window in bytes, 3 or 4 */
    uint16_t next;   /* next entry in the bucket; 0: end */
};

static struct {
    bool ready;
    uint16_t bucket[BUCKETS];
    struct entry entries[MAX_ENTRIES]; /* entries[0] is not used: the index 0 ends a bucket */
    size_t entries_n;
} anchors;

struct pending {
    struct shape_hit hit;
    size_t rule; /* index of the hit's rule in shape_rules */
};

/* The progress of a search, kept between calls so that one text is searched only once. */
struct search {
    struct slice text;
    size_t from; /* offset at which the search continues when the caller asks for the next hit */
    size_t end;  /* the window that is examined next has its last byte at this offset or later */
    struct shape_scan scan; /* finds windows */
    size_t masked; /* end of the last redaction mark; anchors before this offset are ignored */
    struct pending pending[MAX_PENDING]; /* hits, sorted by offset, without overlap */
    size_t pending_n;
};

struct pattern {
    struct shape_pattern *p; /* owned */
    /* the next hit of this pattern; next.n is 0 if the rest of the text has no hit */
    struct shape_hit next;
    bool stale; /* `next` belongs to a text that was searched earlier */
};

struct shapes {
    struct search *search; /* owned; changed even by functions that get a const struct shapes */
    struct pattern *patterns;
    size_t patterns_n;
};

/* ---- the table of anchors ---- */

static unsigned read_letter_pair(const char *p)
{
    return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

static unsigned hash_letter_pair(unsigned pair)
{
    return (pair ^ pair >> 5) % BUCKETS;
}

static void anchors_add_letter_pair(unsigned pair, size_t rule, size_t letters)
{
    uint16_t *head = &anchors.bucket[hash_letter_pair(pair)], *last = head;
    assert(anchors.entries_n + 1 < MAX_ENTRIES);
    while (*last != 0)
        last = &anchors.entries[*last].next;
    *last = (uint16_t)++anchors.entries_n;
    anchors.entries[*last] = (struct entry){(uint16_t)pair, (uint8_t)rule, (uint8_t)letters, 0};
}

static void anchors_add_rule(size_t rule)
{
    const struct shape_rule *r = &shape_rules[rule];
    struct shape_set at[WINDOW];
    const char *f = strchr(r->form, '<');
    size_t n = 0;
    f = f != NULL ? f + 1 : r->form;
    for (; n < WINDOW && *f != '|'; n++)
        shape_read_char_set(&f, (r->flags & SHAPE_FOLD) != 0, &at[n]);
    assert(n == WINDOW || n == WINDOW - 1);
    /* Rules are looked up by the last two letters of their window. */
    unsigned char x[256], y[256];
    size_t x_n = shape_set_get_letters(&at[n - 2], x), y_n = shape_set_get_letters(&at[n - 1], y);
    for (size_t i = 0; i < x_n; i++)
        for (size_t k = 0; k < y_n; k++)
            anchors_add_letter_pair((unsigned)x[i] << 8 | y[k], rule, n);
    shape_scan_add_anchor(&at[n - 3]);
}

/* The first search fills the table: a program that has nothing to sanitize starts without it. */
static void anchors_fill_table(void)
{
    if (anchors.ready)
        return;
    assert(shape_rules_n <= UINT8_MAX);
    for (size_t i = 0; i < shape_rules_n; i++)
        anchors_add_rule(i);
    anchors.ready = true;
}

/* Whether the rule may have a hit for the anchor at text[at]. */
static bool shape_rule_may_match(const struct shape_rule *rule, struct slice text, size_t at)
{
    struct shape_hit hit;
    if (!(rule->flags & SHAPE_LOOSE))
        return shape_match_rule_form(rule, text, at, &hit);
    if (rule->fn == shape_match_assignment)
        return shape_name_may_be_secret(text, at);
    struct shape_rule anchor = {rule->name, rule->form, shape_match_anchor, rule->flags};
    return shape_match_rule_form(&anchor, text, at, &hit);
}

size_t shapes_find_anchor(struct slice text, size_t from, size_t to)
{
    anchors_fill_table();
    shape_form_reset_cache();
    struct shape_scan scan;
    shape_scan_begin(&scan, (struct slice){text.p, to}, from > WINDOW - 2 ? from : WINDOW - 2);
    for (size_t end; (end = shape_scan_next(&scan)) < to;) {
        unsigned pair = read_letter_pair(text.p + end - 1);
        for (unsigned i = anchors.bucket[hash_letter_pair(pair)]; i != 0;
             i = anchors.entries[i].next) {
            const struct entry *e = &anchors.entries[i];
            if (e->pair == pair && end + 1 >= e->letters &&
                shape_rule_may_match(&shape_rules[e->rule], text, end + 1 - e->letters))
                return end;
        }
    }
    return to;
}

bool shapes_may_match(struct slice text)
{
    return shapes_find_anchor(text, 0, text.n) < text.n;
}

/* ---- one text ---- */

static bool hit_comes_first(const struct pending *a, const struct pending *b)
{
    if (a->hit.from != b->hit.from)
        return a->hit.from < b->hit.from;
    if (a->hit.n != b->hit.n)
        return a->hit.n > b->hit.n;
    return a->rule < b->rule;
}

static size_t get_end_of_hit(const struct shape_hit *h)
{
    return h->from + h->n;
}

/* Adds a hit. Overlapping hits become one hit, which gets the rule of the better hit. */
static void search_add_hit(struct search *s, struct pending p)
{
    size_t i = 0;
    while (i < s->pending_n && get_end_of_hit(&s->pending[i].hit) <= p.hit.from)
        i++;
    size_t j = i;
    while (j < s->pending_n && s->pending[j].hit.from < get_end_of_hit(&p.hit)) {
        struct pending *q = &s->pending[j];
        size_t from = size_min(p.hit.from, q->hit.from);
        size_t end = get_end_of_hit(&p.hit) > get_end_of_hit(&q->hit) ? get_end_of_hit(&p.hit)
                                                                      : get_end_of_hit(&q->hit);
        struct pending one = hit_comes_first(q, &p) ? *q : p;
        one.hit.from = from;
        one.hit.n = end - from;
        p = one;
        j++;
    }
    memmove(s->pending + i + 1, s->pending + j, (s->pending_n - j) * sizeof *s->pending);
    s->pending_n = s->pending_n - (j - i) + 1;
    s->pending[i] = p;
}

/* Removes the part of the hit before `from`, which was already returned. Returns false if nothing
 * is left. */
static bool cut_hit_before_offset(struct shape_hit *h, size_t from)
{
    if (get_end_of_hit(h) <= from || h->n == 0)
        return false;
    if (h->from < from) {
        h->n = get_end_of_hit(h) - from;
        h->from = from;
    }
    return true;
}

/* Whether `at` is inside a hit of the same rule. The rule is not tried there: it could only find a
 * part of the same secret. */
static bool offset_is_in_hit_of_rule(const struct search *s, size_t at, size_t rule)
{
    for (size_t i = s->pending_n; i-- > 0;) {
        const struct pending *p = &s->pending[i];
        if (p->hit.from <= at && at < get_end_of_hit(&p->hit))
            return strcmp(shape_rules[p->rule].name, shape_rules[rule].name) == 0;
    }
    return false;
}

static void search_try_rules_at_offset(struct search *s)
{
    unsigned pair = read_letter_pair(s->text.p + s->end - 1);
    for (unsigned i = anchors.bucket[hash_letter_pair(pair)]; i != 0; i = anchors.entries[i].next) {
        const struct entry *e = &anchors.entries[i];
        struct pending p;
        if (e->pair != pair || s->end + 1 < e->letters)
            continue;
        size_t at = s->end + 1 - e->letters;
        size_t mark = shape_find_end_of_redaction_mark(s->text, at);
        p.rule = e->rule;
        if (mark > s->masked)
            s->masked = mark;
        if (at >= s->masked && !offset_is_in_hit_of_rule(s, at, p.rule) &&
            shape_match_rule_form(&shape_rules[e->rule], s->text, at, &p.hit) &&
            cut_hit_before_offset(&p.hit, s->from))
            search_add_hit(s, p);
    }
}

/* Searches until the first pending hit is final: the search is then so far past the end of this
 * hit that no later hit can overlap it. Stops earlier at the end of the text, or when the array of
 * pending hits is full. */
static void search_until_hit_is_final(struct search *s)
{
    while (s->pending_n < MAX_PENDING) {
        if (s->pending_n > 0 &&
            s->end >= get_end_of_hit(&s->pending[0].hit) + WINDOW + SHAPE_BACK_MAX)
            return;
        s->end = shape_scan_next(&s->scan);
        if (s->end >= s->text.n)
            return;
        search_try_rules_at_offset(s);
        s->end++;
    }
}

static void begin_shape_search(struct search *s, struct slice text, size_t from)
{
    s->text = text;
    s->from = from;
    s->masked = 0;
    s->pending_n = 0;
    anchors_fill_table();
    shape_form_reset_cache();
    /* If `from` is not 0, the previous hit ended there. Begin up to LOOK_BACK bytes before `from`,
     * because a match that begins before `from` may end after it. */
    s->end = (from > LOOK_BACK ? from - LOOK_BACK : 0) + WINDOW - 2;
    shape_scan_begin(&s->scan, text, s->end);
}

/* Finds the next hit of each pattern, and replaces *best if such a hit is better. */
static bool find_next_pattern_hit(const struct shapes *sh, struct slice text, size_t from,
                                  bool found, struct shape_hit *best)
{
    for (size_t i = 0; i < sh->patterns_n; i++) {
        struct pattern *p = &sh->patterns[i];
        struct shape_hit *h = &p->next;
        if (p->stale || (h->n > 0 && h->from < from)) {
            p->stale = false;
            if (!shape_pattern_find_next_hit(p->p, text, from, h))
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

/* Extends the hit to the end of an overlapping hit. Returns whether the hit grew. */
static bool hit_extend_over_overlap(struct shape_hit *hit, const struct shape_hit *other)
{
    if (other->n == 0 || other->from >= get_end_of_hit(hit) ||
        get_end_of_hit(other) <= get_end_of_hit(hit))
        return false;
    hit->n = get_end_of_hit(other) - hit->from;
    return true;
}

/* Extends the hit over all hits that overlap it, and removes these from the pending hits. */
static void merge_overlapping_hits(const struct shapes *sh, struct shape_hit *hit)
{
    struct search *s = sh->search;
    bool grew = true;
    while (grew) {
        grew = false;
        for (size_t i = 0; i < s->pending_n; i++)
            grew = hit_extend_over_overlap(hit, &s->pending[i].hit) || grew;
        for (size_t i = 0; i < sh->patterns_n; i++)
            grew = hit_extend_over_overlap(hit, &sh->patterns[i].next) || grew;
    }
    size_t overlapping = 0;
    while (overlapping < s->pending_n && s->pending[overlapping].hit.from < get_end_of_hit(hit))
        overlapping++;
    memmove(s->pending, s->pending + overlapping,
            (s->pending_n - overlapping) * sizeof *s->pending);
    s->pending_n -= overlapping;
}

bool shapes_find_next_hit(const struct shapes *sh, struct slice text, size_t from,
                          struct shape_hit *ret)
{
    struct search *s = sh->search;
    if (from == 0 || from != s->from || text.p != s->text.p || text.n != s->text.n) {
        begin_shape_search(s, text, from);
        for (size_t i = 0; i < sh->patterns_n; i++)
            sh->patterns[i].stale = true;
    }
    search_until_hit_is_final(s);
    struct shape_hit best = {0};
    bool found = s->pending_n > 0;
    if (found)
        best = s->pending[0].hit;
    if (!find_next_pattern_hit(sh, text, from, found, &best))
        return false;
    merge_overlapping_hits(sh, &best);
    s->from = get_end_of_hit(&best);
    *ret = best;
    return true;
}

/* ---- all of it ---- */

int shapes_open(struct shapes **ret, struct buf *error)
{
    (void)error;
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

int shapes_add_pattern(struct shapes *s, const char *name, const char *regex, struct buf *error)
{
    if (s->patterns_n == MAX_PATTERNS) {
        buf_printf(error, "pattern.%s: too many patterns; the limit is %d", name, MAX_PATTERNS);
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

bool shapes_have_patterns(const struct shapes *s)
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

uint64_t shapes_count_examined_bytes(void)
{
    return shape_work;
}
