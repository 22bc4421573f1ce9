#include "vault/search/search_terms.h"

#include "base/text.h"
#include "wire/json/text.h"

#include <stdlib.h>

/* ---- terms ---- */

int search_terms_open(struct search_terms *t)
{
    *t = (struct search_terms){0};
    t->term = calloc(SEARCH_TERMS_MAX, sizeof *t->term);
    return t->term != NULL ? search_words_open(&t->words) : MI_ENOMEM;
}

void search_terms_close(struct search_terms *t)
{
    for (size_t i = 0; i < t->n; i++) {
        buf_close(&t->term[i].text);
        search_list_close(&t->term[i].list);
    }
    free(t->term);
    search_list_close(&t->list);
    search_words_close(t->words);
    *t = (struct search_terms){0};
}

int search_terms_add(struct search_terms *t, const char *text, bool exact)
{
    if (t->n == SEARCH_TERMS_MAX)
        return MI_EFULL;
    struct search_term *x = &t->term[t->n++];
    size_t n = strlen(text);
    x->prefix = !exact && n > 1 && text[n - 1] == '*';
    buf_add(&x->text, text, x->prefix ? n - 1 : n);
    int st = x->text.failed ? MI_ENOMEM
                            : search_list_split_text(&x->list, t->words, buf_slice(&x->text));
    x->exact = exact || x->list.n == 0;
    return st;
}

/* The syntax of queries, for one kind of index. A word in a query has only letters and digits, so
 * it never contains a quote. */
struct dialect {
    const char *and, *quote, *prefix;
    bool keys; /* true: the index contains keys (search_get_key_of_word()) in place of words */
};

static bool write_index_query(const struct search_terms *t, const struct dialect *d, struct buf *b)
{
    bool some = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct search_term *x = &t->term[i];
        for (size_t k = 0; k < x->list.n; k++) {
            /* The first and last word of an exact term may be parts of longer words in the text. */
            if (x->exact && (x->list.word[k].from == 0 || x->list.word[k].to >= x->text.n))
                continue;
            struct slice word = search_list_get_word(&x->list, k);
            struct slice key = d->keys ? search_get_key_of_word(word) : word;
            bool prefix = x->prefix && k + 1 == x->list.n && key.n == word.n;
            buf_adds(b, some ? d->and : "");
            buf_adds(b, d->quote);
            buf_slice_add(b, key);
            buf_adds(b, d->quote);
            buf_adds(b, prefix ? d->prefix : "");
            some = true;
        }
    }
    return some;
}

bool search_terms_write_fts_query(const struct search_terms *t, struct buf *b)
{
    static const struct dialect fts5 = {.and = " AND ", .quote = "\"", .prefix = " *"};
    return write_index_query(t, &fts5, b);
}

bool search_terms_write_tsquery(const struct search_terms *t, struct buf *b)
{
    static const struct dialect tsquery = {
        .and = " & ", .quote = "'", .prefix = ":*", .keys = true};
    return write_index_query(t, &tsquery, b);
}

static bool word_fits_term(const struct search_term *x, size_t i, struct slice word)
{
    struct slice want = search_list_get_word(&x->list, i);
    if (x->prefix && i + 1 == x->list.n)
        return word.n >= want.n && memcmp(word.p, want.p, want.n) == 0;
    return slice_eq(word, want);
}

/* Finds the words of the term in the text, in sequence. */
static bool find_term_words(const struct search_term *x, const struct search_list *l,
                            struct slice text, struct slice *ret)
{
    for (size_t at = 0; at + x->list.n <= l->n; at++) {
        size_t i = 0;
        while (i < x->list.n && word_fits_term(x, i, search_list_get_word(l, at + i)))
            i++;
        if (i < x->list.n)
            continue;
        size_t from = l->word[at].from;
        *ret = (struct slice){text.p + from, l->word[at + i - 1].to - from};
        return true;
    }
    return false;
}

static bool find_exact_term(const struct search_term *x, struct slice text, struct slice *ret)
{
    const char *at = text.n > 0 ? memmem(text.p, text.n, x->text.p, x->text.n) : NULL;
    *ret = (struct slice){at, x->text.n};
    return at != NULL;
}

int search_terms_find(struct search_terms *t, struct slice text, struct slice *ret)
{
    bool listed = false;
    *ret = (struct slice){text.p, 0};
    /* exact terms are tested first, because their test takes the least time */
    for (size_t i = 0; i < t->n; i++) {
        struct slice at;
        if (t->term[i].exact && !find_exact_term(&t->term[i], text, &at))
            return MI_ENOENT;
    }
    for (size_t i = t->n; i-- > 0;) {
        const struct search_term *x = &t->term[i];
        if (!x->exact && !listed) {
            if (search_list_split_text(&t->list, t->words, text) < 0)
                return MI_ENOMEM;
            listed = true;
        }
        if (x->exact ? !find_exact_term(x, text, ret) : !find_term_words(x, &t->list, text, ret))
            return MI_ENOENT;
    }
    return 0;
}

/* ---- text ---- */

/* Unescapes the beginning of the body, up to the length of text that is searched. */
static void search_terms_unescape(struct buf *b, struct slice body)
{
    const char *p = body.p, *end = body.p + body.n;
    while (p < end && b->n <= SEARCH_TEXT_MAX) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((escape != NULL ? escape : end) - p);
        n = size_min(n, SEARCH_TEXT_MAX + JSON_CHAR_MAX - b->n);
        buf_add(b, p, n);
        p += n;
        if (p == escape) {
            char c[JSON_CHAR_MAX];
            n = json_decode_char(&p, end, c);
            buf_add(b, c, n);
        }
        if (b->failed)
            return;
    }
}

struct slice search_get_text_of_body(enum row_kind kind, struct slice body, struct buf *b)
{
    struct json_scan scan;
    if (body.p == NULL)
        return (struct slice){"", 0};
    bool plain = kind == KIND_STDERR || kind == KIND_NOISE;
    bool long_body = body.n >= SEARCH_BODY_MAX;
    if (long_body)
        body = text_prefix(body, SEARCH_BODY_MAX - 1);
    if (!plain && memchr(body.p, '\\', body.n) != NULL &&
        (json_scan(body, NULL, NULL, &scan) == 0 || (long_body && scan.fault.kind == JSON_CUT))) {
        buf_clear(b);
        /* Unescape all of the body, not each string: valid JSON has escapes only inside strings. */
        search_terms_unescape(b, body);
        if (!b->failed)
            body = buf_slice(b);
    }
    return text_prefix(body, SEARCH_TEXT_MAX);
}
