/* search_text.h - what is searched for, and where a text has it.
 *
 * Text      of a message: its body with the escapes of JSON resolved, as much of it as SEARCH_TEXT_MAX
 *           bytes. Lines of stderr and noise are taken as they are.
 * Words     are what SQLite's FTS5 tokenizer `unicode61` makes of a text: letters and digits, without case and
 *           diacritics. A term of several words means these words, one behind the other.
 * Exact     a term that is looked for byte for byte; one without any word always is.
 * Owns      the terms; search_terms_close() frees them.
 * Blocks    never. */
#ifndef MI_VAULT_SEARCH_TEXT_H
#define MI_VAULT_SEARCH_TEXT_H

#include "vault/query.h"

#define SEARCH_TEXT_MAX ((size_t)256 << 10)
#define SEARCH_TERMS_MAX 32

struct search_words; /* the tokenizer */

struct search_word {
    size_t from, to;  /* in the text */
    size_t word, len; /* in words.text */
};

/* The words of one text. */
struct search_list {
    struct buf text;          /* owned */
    struct search_word *word; /* owned */
    size_t n, cap;
    bool failed;
};

struct search_term {
    struct buf text; /* owned; as it was given */
    struct search_list list;
    bool exact;
    bool prefix; /* the last word may go on: `time*` */
};

struct search_terms {
    struct search_words *words; /* owned */
    struct search_term *term;   /* owned; SEARCH_TERMS_MAX of them */
    size_t n;
    struct search_list list; /* owned; scratch: of the text that is looked at */
};

/* 0, MI_ENOMEM, or MI_ESTORE: this SQLite has no FTS5. */
MI_MUST int search_terms_open(struct search_terms *t);
void search_terms_close(struct search_terms *t);
/* All terms have to be found. 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int search_terms_add(struct search_terms *t, const char *text, bool exact);

/* A query for FTS5 that every text with all terms answers, and perhaps others. false: there is none. */
bool search_terms_query(const struct search_terms *t, struct buf *b);
/* Has the text all terms? *ret: where the first one is. 0, MI_ENOENT or MI_ENOMEM. */
MI_MUST int search_terms_find(struct search_terms *t, struct slice text, struct slice *ret);

/* The text of a message; it lies in the body or in b. */
struct slice search_text(struct slice kind, struct slice body, struct buf *b);

#endif
