#include "vault/search/words.h"

#include "base/grow.h"
#include "base/os/sort.h"
#include "base/text.h"

#include <sqlite3.h>
#include <stdlib.h>

/* ---- the tokenizer ---- */

struct search_words {
    sqlite3 *db;        /* owned; an empty database in memory, which provides the tokenizer */
    fts5_tokenizer use; /* functions of the tokenizer */
    Fts5Tokenizer *it;  /* owned; the tokenizer */
};

void search_words_close(struct search_words *w)
{
    if (w == NULL)
        return;
    if (w->it != NULL)
        w->use.xDelete(w->it);
    sqlite3_close(w->db);
    free(w);
}

int search_words_open(struct search_words **ret)
{
    void *data = NULL;
    struct search_words *w = calloc(1, sizeof *w);
    if (w == NULL)
        return MI_ENOMEM;
    int st = 0;
    if (sqlite3_open_v2(":memory:", &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        st = MI_ENOMEM;
    /* FTS5 returns its interface through a pointer that is bound with this name */
    fts5_api *api = NULL;
    sqlite3_stmt *q = NULL;
    if (st == 0 && sqlite3_prepare_v2(w->db, "SELECT fts5(?1)", -1, &q, NULL) == SQLITE_OK) {
        sqlite3_bind_pointer(q, 1, &api, "fts5_api_ptr", NULL);
        (void)sqlite3_step(q);
    }
    sqlite3_finalize(q);
    if (st == 0 &&
        (api == NULL || api->xFindTokenizer(api, "unicode61", &data, &w->use) != SQLITE_OK))
        st = MI_ESTORE;
    if (st == 0 && w->use.xCreate(data, NULL, 0, &w->it) != SQLITE_OK)
        st = MI_ENOMEM;
    if (st == 0)
        *ret = w;
    else
        search_words_close(w);
    return st;
}

/* ---- lists ---- */

static int search_list_on_word(void *ctx, int flags, const char *word, int n, int from, int to)
{
    (void)flags;
    struct search_list *l = ctx;
    if (!GROW(l->word, l->n, l->cap))
        return SQLITE_NOMEM;
    l->word[l->n++] = (struct search_word){(size_t)from, (size_t)to, l->text.n, (size_t)n};
    buf_add(&l->text, word, (size_t)n);
    return l->text.failed ? SQLITE_NOMEM : SQLITE_OK;
}

int search_list_split_text(struct search_list *l, struct search_words *w, struct slice text)
{
    l->n = 0;
    buf_clear(&l->text);
    int rc = w->use.xTokenize(w->it, l, FTS5_TOKENIZE_DOCUMENT, text.p, (int)text.n,
                              search_list_on_word);
    return rc == SQLITE_OK ? 0 : MI_ENOMEM;
}

void search_list_close(struct search_list *l)
{
    buf_close(&l->text);
    free(l->word);
    *l = (struct search_list){0};
}

struct slice search_list_get_word(const struct search_list *l, size_t i)
{
    return (struct slice){buf_slice(&l->text).p + l->word[i].word, l->word[i].len};
}

/* ---- keys ---- */

struct slice search_get_key_of_word(struct slice word)
{
    return text_prefix(word, SEARCH_KEY_MAX);
}

static int compare_words(const void *a, const void *b, void *ctx)
{
    const char *text = ctx;
    const struct search_word *x = a, *y = b;
    return slice_cmp((struct slice){text + x->word, x->len},
                     (struct slice){text + y->word, y->len});
}

void search_list_convert_to_keys(struct search_list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        l->word[i].len = search_get_key_of_word(search_list_get_word(l, i)).n;
    if (l->n > 1)
        sort_array(l->word, l->n, sizeof *l->word, compare_words, l->text.p);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || !slice_eq(search_list_get_word(l, n - 1), search_list_get_word(l, i)))
            l->word[n++] = l->word[i];
    l->n = n;
}
