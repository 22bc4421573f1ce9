#include "vault/search/text.h"

#include "base/grow.h"
#include "base/text.h"
#include "wire/json/text.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- the tokenizer ---- */

struct search_words {
    sqlite3 *db; /* owned; an empty database in memory, for its tokenizer */
    fts5_tokenizer use;
    Fts5Tokenizer *it; /* owned */
};

/* FTS5 passes its interface to `SELECT fts5(?)` through a pointer of this name. */
static fts5_api *api_of(sqlite3 *db)
{
    fts5_api *api = NULL;
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &st, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(st, 1, &api, "fts5_api_ptr", NULL);
        (void)sqlite3_step(st);
    }
    sqlite3_finalize(st);
    return api;
}

static void words_close(struct search_words *w)
{
    if (w == NULL)
        return;
    if (w->it != NULL)
        w->use.xDelete(w->it);
    sqlite3_close(w->db);
    free(w);
}

static int words_open(struct search_words **ret)
{
    void *data = NULL;
    struct search_words *w = calloc(1, sizeof *w);
    if (w == NULL)
        return MI_ENOMEM;
    int st = 0;
    if (sqlite3_open_v2(":memory:", &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        st = MI_ENOMEM;
    fts5_api *api = st == 0 ? api_of(w->db) : NULL;
    if (st == 0 &&
        (api == NULL || api->xFindTokenizer(api, "unicode61", &data, &w->use) != SQLITE_OK))
        st = MI_ESTORE;
    if (st == 0 && w->use.xCreate(data, NULL, 0, &w->it) != SQLITE_OK)
        st = MI_ENOMEM;
    if (st == 0)
        *ret = w;
    else
        words_close(w);
    return st;
}

static int on_word(void *ctx, int flags, const char *word, int n, int from, int to)
{
    (void)flags;
    struct search_list *l = ctx;
    if (!GROW(l->word, l->n, l->cap))
        return SQLITE_NOMEM;
    l->word[l->n++] = (struct search_word){(size_t)from, (size_t)to, l->text.n, (size_t)n};
    buf_add(&l->text, word, (size_t)n);
    return l->text.failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int make_list(struct search_words *w, struct slice text, struct search_list *l)
{
    l->n = 0;
    buf_clear(&l->text);
    int rc = w->use.xTokenize(w->it, l, FTS5_TOKENIZE_DOCUMENT, text.p, (int)text.n, on_word);
    return rc == SQLITE_OK ? 0 : MI_ENOMEM;
}

static void list_close(struct search_list *l)
{
    buf_close(&l->text);
    free(l->word);
    *l = (struct search_list){0};
}

static struct slice word_of(const struct search_list *l, size_t i)
{
    return (struct slice){buf_slice(&l->text).p + l->word[i].word, l->word[i].len};
}

/* ---- terms ---- */

int search_terms_open(struct search_terms *t)
{
    *t = (struct search_terms){0};
    t->term = calloc(SEARCH_TERMS_MAX, sizeof *t->term);
    return t->term != NULL ? words_open(&t->words) : MI_ENOMEM;
}

void search_terms_close(struct search_terms *t)
{
    for (size_t i = 0; i < t->n; i++) {
        buf_close(&t->term[i].text);
        list_close(&t->term[i].list);
    }
    free(t->term);
    list_close(&t->list);
    words_close(t->words);
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
    int st = x->text.failed ? MI_ENOMEM : make_list(t->words, buf_slice(&x->text), &x->list);
    x->exact = exact || x->list.n == 0;
    return st;
}

/* False for a word at either end of an exact term: it may be part of a longer word in the text. */
static bool is_whole(const struct search_term *t, size_t i)
{
    return !t->exact || (t->list.word[i].from > 0 && t->list.word[i].to < t->text.n);
}

bool search_terms_query(const struct search_terms *t, struct buf *b)
{
    bool some = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct search_term *x = &t->term[i];
        for (size_t k = 0; k < x->list.n; k++) {
            if (!is_whole(x, k))
                continue;
            buf_adds(b, some ? " AND \"" : "\"");
            buf_slice_add(b, word_of(&x->list, k)); /* letters and digits only, no quotes */
            buf_adds(b, x->prefix && k + 1 == x->list.n ? "\" *" : "\"");
            some = true;
        }
    }
    return some;
}

static bool word_fits(const struct search_term *x, size_t i, struct slice word)
{
    struct slice want = word_of(&x->list, i);
    if (x->prefix && i + 1 == x->list.n)
        return word.n >= want.n && memcmp(word.p, want.p, want.n) == 0;
    return slice_eq(word, want);
}

/* The words of the term, in sequence. */
static bool find_words(const struct search_term *x, const struct search_list *l, struct slice text,
                       struct slice *ret)
{
    for (size_t at = 0; at + x->list.n <= l->n; at++) {
        size_t i = 0;
        while (i < x->list.n && word_fits(x, i, word_of(l, at + i)))
            i++;
        if (i < x->list.n)
            continue;
        size_t from = l->word[at].from;
        *ret = (struct slice){text.p + from, l->word[at + i - 1].to - from};
        return true;
    }
    return false;
}

static bool find_exact(const struct search_term *x, struct slice text, struct slice *ret)
{
    const char *at = text.n > 0 ? memmem(text.p, text.n, x->text.p, x->text.n) : NULL;
    *ret = (struct slice){at, x->text.n};
    return at != NULL;
}

int search_terms_find(struct search_terms *t, struct slice text, struct slice *ret)
{
    bool listed = false;
    *ret = (struct slice){text.p, 0};
    for (size_t i = 0; i < t->n; i++) { /* cheapest first */
        struct slice at;
        if (t->term[i].exact && !find_exact(&t->term[i], text, &at))
            return MI_ENOENT;
    }
    for (size_t i = t->n; i-- > 0;) {
        const struct search_term *x = &t->term[i];
        if (!x->exact && !listed) {
            if (make_list(t->words, text, &t->list) < 0)
                return MI_ENOMEM;
            listed = true;
        }
        if (x->exact ? !find_exact(x, text, ret) : !find_words(x, &t->list, text, ret))
            return MI_ENOENT;
    }
    return 0;
}

/* ---- text ---- */

struct slice search_text(enum row_kind kind, struct slice body, struct buf *b)
{
    struct json_scan scan;
    if (body.p == NULL)
        return (struct slice){"", 0};
    bool plain = kind == KIND_STDERR || kind == KIND_NOISE;
    if (!plain && memchr(body.p, '\\', body.n) != NULL && json_scan(body, NULL, NULL, &scan) == 0) {
        buf_clear(b);
        json_unescape(b, body); /* there are no escapes outside of strings */
        if (!b->failed)
            body = buf_slice(b);
    }
    return text_head(body, SEARCH_TEXT_MAX);
}
