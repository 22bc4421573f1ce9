/* search_terms.h - search terms, and whether and where a text matches them.
 *
 * Text      the text of a message is its body with JSON escapes resolved, at most SEARCH_TEXT_MAX
 *           bytes. Lines of stderr and noise are not unescaped.
 * Words     defined in vault/search/words.h. A term of several words matches these words in
 *           sequence.
 * Exact     an exact term matches byte for byte; a term without any word is always exact.
 * Owns      the terms; search_terms_close() frees them.
 * Blocks    never. */
#ifndef MI_VAULT_SEARCH_SEARCH_TERMS_H
#define MI_VAULT_SEARCH_SEARCH_TERMS_H

#include "model/values.h"
#include "vault/search/words.h"

#define SEARCH_TEXT_MAX ((size_t)256 << 10)
/* Maximum number of bytes of a body that are read for its text. Text that is written as escapes
 * takes up to 6 bytes for one byte of text. */
#define SEARCH_BODY_MAX (6 * SEARCH_TEXT_MAX + 32)
#define SEARCH_TERMS_MAX 32

struct search_term {
    struct buf text;         /* owned; the term, without the `*` of a prefix */
    struct search_list list; /* owned; the words of the term */
    bool exact;              /* true: the term matches byte for byte */
    bool prefix;             /* true: the last word is a prefix, as in `time*` */
};

struct search_terms {
    struct search_words *words; /* owned */
    struct search_term *term;   /* owned; array of SEARCH_TERMS_MAX terms */
    size_t n;
    struct search_list list; /* owned; scratch: the words of the current text */
};

/* Opens an empty list of terms. Returns 0, MI_ENOMEM, or MI_ESTORE if this SQLite has no FTS5. */
MI_MUST int search_terms_open(struct search_terms *t);
void search_terms_close(struct search_terms *t);
/* Adds a term; a text must match all terms. Returns 0, MI_EFULL (too many terms) or MI_ENOMEM. */
MI_MUST int search_terms_add(struct search_terms *t, const char *text, bool exact);

/* Writes an FTS5 query that matches every text with all terms, and possibly other texts. false:
 * there is no such query. */
bool search_terms_write_fts_query(const struct search_terms *t, struct buf *b);
/* Writes a tsquery of PostgreSQL that compares keys of words. Otherwise like
 * search_terms_write_fts_query(). */
bool search_terms_write_tsquery(const struct search_terms *t, struct buf *b);
/* Returns 0 if the text has all terms, with the match of the first term in *ret; else MI_ENOENT or
 * MI_ENOMEM. */
MI_MUST int search_terms_find(struct search_terms *t, struct slice text, struct slice *ret);

/* Returns the searchable text of a message: a slice of `body` or of `b`. The caller may cut a
 * longer body to its first SEARCH_BODY_MAX bytes. */
struct slice search_get_text_of_body(enum row_kind kind, struct slice body, struct buf *b);

#endif
