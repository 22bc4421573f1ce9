/* redact_key.h - is this the name of a secret? Keys, headers, options and variables, however spelled.
 *
 * A name is compared in one form: letters in lower case, digits, bytes beyond ASCII; everything else is
 * left out (`X-Api-Key`, `api_key`, `apiKey`, `user[api key]`), `%61` is `a`, digits at the end do not
 * count. Where words begin is kept in mind: `db_pass` and `dbPass` end with the word `pass`, `bypass` does not.
 *
 * Rules     a table that is built in (redact_key_table.c, listed in docs/sanitizer.md): names, most of them as
 *           ends of names, and those that look secret and are not (`nextPageToken`). The user's names
 *           are whole names, `*` in front or at the end stands for anything. `keep` beats all others.
 * Owns      the user's names.
 * Blocks    never. key_find() and key_content() allocate nothing. */
#ifndef MI_VAULT_REDACT_KEY_H
#define MI_VAULT_REDACT_KEY_H

#include "base/buf.h"

#define KEY_MAX 64        /* characters of the one form: of longer names the end */
#define KEY_RULES_MAX 255 /* built-in names of secrets */
#define KEYS_USER_MAX 512 /* names of the user, altogether */

enum key_flag {
    KEY_EXACT = 1,     /* the whole name, not an end of it */
    KEY_WORD = 2,      /* an end of it that begins a word */
    KEY_NO_NUMBER = 4, /* a number is no secret: pass = 12, fail = 0 */
    KEY_NO_PATH = 8,   /* nor is a path: PWD=/home/me */
    KEY_NO_WORD = 16,  /* nor a plain word: auth = oauth2 */
    KEY_INTO = 32,     /* an object is no secret by itself, but looked into */
};

struct key_rule {
    const char *end;  /* in the one form */
    const char *rule; /* what stands in the mark */
    unsigned flags;
};

/* A name in the one form. */
struct key_name {
    size_t n;
    uint64_t words; /* bit i: p[i] begins a word */
    bool cut;       /* it was longer: p has its end */
    char p[KEY_MAX];
};

struct keys {
    struct key_user *user; /* owned */
    size_t user_n;
    bool all;           /* some name of the user is not known by its last letters */
    uint64_t ends[512]; /* bit: some rule ends with these three letters */
    uint64_t ends2[32]; /* the same of two */
    uint8_t first[1024], next[KEY_RULES_MAX]; /* built-in rules by their last two letters */
};

void keys_open(struct keys *k);
void keys_close(struct keys *k);

enum key_list { KEYS_SECRET, KEYS_KEEP, KEYS_CONTENT };
/* One name of the user. 0, MI_ENOMEM, MI_EFULL, or MI_EINVAL when nothing is left of it. */
MI_MUST int keys_add(struct keys *k, enum key_list list, struct slice name);

/* The rule for a name, escapes resolved; NULL: it is no secret's. */
const struct key_rule *key_find(const struct keys *k, struct slice name);
/* Is this the name of sensitive content? */
bool key_content(const struct keys *k, struct slice name);

/* false: certainly no rule for the name that ends just before `end` and does not begin before `from`. */
static inline bool key_maybe(const struct keys *k, const char *from, const char *end)
{
    if (end - from < 2)
        return k->all && end > from;
    unsigned c = (unsigned char)end[-1] | 0x20u, b = (unsigned char)end[-2] | 0x20u;
    if (c - 'a' >= 26u || b - 'a' >= 26u)
        return true;
    if (k->all)
        return true;
    unsigned two = (b - 'a') << 5 | (c - 'a');
    if (!(k->ends2[two / 64] >> (two % 64) & 1))
        return false;
    unsigned a = end - from > 2 ? (unsigned char)end[-3] | 0x20u : 0;
    if (a - 'a' >= 26u)
        return true;
    unsigned three = (a - 'a') << 10 | two;
    return k->ends[three / 64] >> (three % 64) & 1;
}

/* Of redact_key_table.c; each list ends with {NULL}. */
extern const struct key_rule key_secrets[];
extern const struct key_rule key_kept[];
extern const struct key_rule key_contents[];

#endif
