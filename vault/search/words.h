/* words.h - splits a text into words.
 *
 * Words     the tokens of SQLite's FTS5 tokenizer `unicode61`: letters and digits, without case and
 *           diacritics.
 * Keys      what the index of a store contains in place of words: the first SEARCH_KEY_MAX bytes of
 *           each word, without duplicates, ordered by their bytes. A text that lacks the key of a
 *           word lacks the word.
 * Owns      the tokenizer and its lists.
 * Memory    a word of a list takes 32 bytes and its text.
 * Blocks    never. */
#ifndef MI_VAULT_SEARCH_WORDS_H
#define MI_VAULT_SEARCH_WORDS_H

#include "base/buf.h"

#define SEARCH_KEY_MAX 64

struct search_words; /* the tokenizer */

struct search_word {
    size_t from, to;  /* offsets in the text at which the word begins and ends */
    size_t word, len; /* offset and length of the word in list.text */
};

/* The words of one text. {0} is an empty list. */
struct search_list {
    struct buf text;          /* owned */
    struct search_word *word; /* owned */
    size_t n, cap;
};

/* Opens the tokenizer. Returns 0, MI_ENOMEM, or MI_ESTORE if this SQLite has no FTS5. */
MI_MUST int search_words_open(struct search_words **ret);
void search_words_close(struct search_words *w); /* the argument may be NULL */

/* Sets the list to the words of a text, in order. The text must have less than 2 GiB. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int search_list_split_text(struct search_list *l, struct search_words *w,
                                   struct slice text);
struct slice search_list_get_word(const struct search_list *l, size_t i);
void search_list_close(struct search_list *l);

/* Returns the key of a word: a slice of the word. */
struct slice search_get_key_of_word(struct slice word);
/* Replaces the words by their keys. The members `from` and `to` are then undefined. */
void search_list_convert_to_keys(struct search_list *l);

#endif
