/* key.h - recognizes names of secrets: keys, headers, options and variables, in any spelling.
 *
 * Names are compared in normal form: lower-case letters, digits and non-ASCII bytes. Everything
 * else is dropped (`X-Api-Key`, `api_key`, `apiKey` and `user[api key]` all end with `apikey`),
 * `%61` is `a`, and trailing digits are ignored. The starts of words are remembered: `db_pass` and
 * `dbPass` end with the word `pass`, `bypass` does not.
 *
 * Rules     a built-in table (key_table.c, listed in docs/sanitizer.md): names of secrets, most of
 *           which match the end of a name, and names that look secret but are not
 *           (`nextPageToken`). The user's names match whole names; `*` at the beginning or end
 *           matches anything. The user's list `keep` overrides all others.
 * Owns      the user's names.
 * Blocks    never. key_find_rule() and key_is_content() allocate nothing. */
#ifndef MI_REDACT_KEY_H
#define MI_REDACT_KEY_H

#include "base/buf.h"

#define KEY_MAX 64 /* maximum bytes of a normal form; of a longer name, only the end is used */
#define KEY_RULES_MAX 255 /* number of built-in names of secrets */
#define KEYS_USER_MAX 512 /* maximum number of the user's names, in all lists together */

enum key_flag {
    KEY_EXACT = 1,     /* matches only the whole name, not the end of a name */
    KEY_WORD = 2,      /* the matched end must begin a word: `pass` in `db_pass`, not `bypass` */
    KEY_NO_NUMBER = 4, /* a value that is a number is not a secret: pass = 12, fail = 0 */
    KEY_NO_PATH = 8,   /* a value that is a path is not a secret: PWD=/home/me */
    KEY_NO_WORD = 16,  /* a value that is a plain word is not a secret: auth = oauth2 */
    KEY_INTO = 32,     /* if the value is an object, search it instead of replacing it as a whole */
    KEY_CAPITALS = 64, /* in prose, recognize the name only in capitals: PIN */
};

struct key_rule {
    const char *end;  /* the name of a secret ends with this text, in normal form */
    const char *rule; /* RULE of the mark [redacted:RULE] */
    unsigned flags;
};

/* A name in normal form. */
struct key_name {
    size_t n;
    uint64_t words; /* bit i: p[i] begins a word */
    bool truncated; /* the name was longer; p has the end of the name */
    char p[KEY_MAX];
};

struct keys {
    struct key_user *user; /* owned */
    size_t user_n;
    /* true: a user's name of a secret ends with `*` or has only one byte, so
     * key_name_may_match_rule() is always true */
    bool all;
    /* a bit for each sequence of three letters: set if a rule ends with these letters */
    uint64_t ends[512];
    /* For each two letters: length of the shortest rule that ends with them; UINT8_MAX: none. */
    uint8_t least[1024];
    uint8_t first[1024], next[KEY_RULES_MAX]; /* built-in rules by their last two letters */
};

void keys_open(struct keys *k);
void keys_close(struct keys *k);

enum key_list { KEYS_SECRET, KEYS_KEEP, KEYS_CONTENT };
/* Adds a name of the user. Returns 0, MI_ENOMEM, MI_EFULL, or MI_EINVAL if the normal form of the
 * name is empty. */
MI_MUST int keys_add_user_rule(struct keys *k, enum key_list list, struct slice name);

/* Returns the rule that matches an unescaped name; NULL: the name is not that of a secret. */
const struct key_rule *key_find_rule(const struct keys *k, struct slice name);
/* Like key_find_rule(), for a field of a form that a person fills in: also finds the names in
 * key_asked, such as `cvv`. */
const struct key_rule *key_find_form_field_rule(const struct keys *k, struct slice name);
/* Like key_find_form_field_rule(), but finds only the names in key_asked that match a whole
 * name. */
const struct key_rule *key_find_exact(const struct keys *k, struct slice name);
/* Whether this is the name of a header that is not a secret, such as Accept, or is in the user's
 * list `keep`. */
bool key_is_plain_header(const struct keys *k, struct slice name);
/* Whether this is the name of sensitive content. */
bool key_is_content(const struct keys *k, struct slice name);

/* Quick test. Returns false if no rule matches a name that ends before `end` and begins at or after
 * `from`. */
static inline bool key_name_may_match_rule(const struct keys *k, const char *from, const char *end)
{
    if (end - from < 2)
        return k->all && end > from;
    unsigned c = (unsigned char)end[-1] | 0x20u, b = (unsigned char)end[-2] | 0x20u;
    if (c - 'a' >= 26u || b - 'a' >= 26u)
        return true;
    if (k->all)
        return true;
    unsigned two = (b - 'a') << 5 | (c - 'a');
    if (end - from < k->least[two])
        return false;
    unsigned a = end - from > 2 ? (unsigned char)end[-3] | 0x20u : 0;
    if (a - 'a' >= 26u)
        return true;
    unsigned three = (a - 'a') << 10 | two;
    return k->ends[three / 64] >> (three % 64) & 1;
}

/* Defined in key_table.c; each list ends with {NULL}. */
extern const struct key_rule key_secrets[];
extern const struct key_rule key_asked[];
extern const struct key_rule key_kept[];
extern const struct key_rule key_contents[];
extern const struct key_rule key_plain_headers[];

#endif
