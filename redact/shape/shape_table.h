/* shape_table.h - the built-in rules, and helpers for their functions. Internal to redact/shape/.
 *
 * A rule has an anchor, which is searched for, and a form, which is matched at each anchor. A form
 * is a small pattern without alternatives or backtracking, so the time to match it is linear in the
 * bytes it reads:
 *
 *     c           the letter c; \c: c, if it is a special character
 *     [a-f0-9_]   one of these; a final '-' is literal
 *     \d \h \x    digit; 0-9a-f; 0-9a-fA-F
 *     \a \w \b    0-9A-Za-z; the same with _ and -; the same with + and /
 *     {3} {3,} {3,9} ?     repeats the preceding item
 *     |           ends the anchor, which consists of at least three letters or small classes
 *     <           matches the preceding class and its count leftwards from the anchor
 *     ( )         the hit, if it is only a part of the match
 *
 * A hit must have an edge on both sides: no letter or digit next to it (see SHAPE_EDGELESS).
 * Nothing here blocks. */
#ifndef MI_REDACT_SHAPE_SHAPE_TABLE_H
#define MI_REDACT_SHAPE_SHAPE_TABLE_H

#include "base/chars.h"
#include "redact/shape/find.h"

#define SHAPE_BACK_MAX 96 /* a hit begins at most this many bytes before its anchor */
#define SHAPE_MARK "[redacted:"

/* Returns whether there is a hit for the anchor at text[at]. Sets ret->from and ret->n. */
typedef bool (*shape_fn)(struct slice text, size_t at, struct shape_hit *ret);

enum shape_flag {
    SHAPE_FOLD = 1, /* the anchor matches capital and small letters */
    /* The token is not a placeholder if its last six characters are, in base 62, the CRC-32 of the
     * preceding ones. */
    SHAPE_CRC = 2,
    SHAPE_EDGELESS = 4,  /* a hit may be in the middle of a word */
    SHAPE_ALONE = 8,     /* a match next to + / = is not a hit, but part of longer base64 */
    SHAPE_LOOSE = 16,    /* the rule's function may miss a hit if the text contains escapes */
    SHAPE_CAPITALS = 32, /* a hit may have letters of one case only and no digits */
};

struct shape_rule {
    const char *name;
    const char *form; /* pattern of a hit; if `fn` is set, only the pattern of the anchor */
    shape_fn fn;      /* function that finds the hit; NULL: `form` is enough to find it */
    unsigned flags;   /* enum shape_flag */
};

/* Specific rules come first: if two rules have the same hit, the first one is reported. */
extern const struct shape_rule shape_rules[];
extern const size_t shape_rules_n;

extern uint64_t shape_work; /* number that shapes_count_examined_bytes() returns */

/* ---- letters ---- */

static inline bool shape_is_alnum(char c)
{
    return char_is_digit(c) || char_is_lower((char)(c | 0x20));
}
static inline bool shape_is_blank(char c)
{
    return c == ' ' || c == '\t';
}
static inline char shape_to_lower_case(char c)
{
    return char_is_upper(c) ? (char)(c | 0x20) : c;
}
static inline bool shape_is_base64(char c) /* both alphabets of base64, without '=' */
{
    return shape_is_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

/* The set of characters that an item of a rule's form matches, such as [a-f0-9].
 * shape_read_char_set() reads the item at *p, and moves *p behind the item. */
struct shape_set {
    uint64_t bits[4];
};
void shape_read_char_set(const char **p, bool fold, struct shape_set *ret);
static inline bool shape_set_has_char(const struct shape_set *s, char c)
{
    return (s->bits[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1) != 0;
}

/* Writes the letters of a set; returns their number. */
size_t shape_set_get_letters(const struct shape_set *s, unsigned char ret[256]);

/* Whether there is a hit for the rule whose anchor is at text[at]. */
bool shape_match_rule_form(const struct shape_rule *rule, struct slice text, size_t at,
                           struct shape_hit *ret);
/* Call this function for each new text: drops cached results, which are identified by address. */
void shape_form_reset_cache(void);

/* ---- judging text ---- */

/* Whether a token may begin at text[at]: no letter or digit stands before it, except the last
 * letter of an escape (\n, %3D, a colour). */
bool shape_token_may_begin_at(struct slice text, size_t at);
/* Whether s is an example: it contains a word such as "example" or a part of the alphabet, repeats
 * letters, or has few different letters. Used for shapes that many texts have. A text with the
 * prefix and length of a provider's token is replaced even if it is an example. */
bool shape_text_is_example(struct slice s);
/* Whether s has at least two kinds of characters (lower, upper, digit, other), and enough different
 * characters. */
bool shape_has_varied_characters(struct slice s);
/* Whether s is a placeholder: ${X}, <password>, {{ x }}, %s, ****, $(cmd). */
bool shape_is_template(struct slice s);
/* Whether the word is in the list, ignoring case. The list has words in lower case, separated by
 * blanks. */
bool shape_word_is_in_list(struct slice word, const char *list);
/* Whether s contains a word of the list, ignoring case. */
bool shape_contains_listed_word(struct slice s, const char *list);
/* Returns the end of the mark `[redacted:RULE]` that begins at text[at], or 0 if no mark begins
 * there. */
size_t shape_find_end_of_redaction_mark(struct slice text, size_t at);

/* ---- functions of rules for which a form is not enough ---- */

/* A rule with this function has a hit at every anchor. */
bool shape_match_anchor(struct slice text, size_t at, struct shape_hit *ret);
/* A rule with this function never has a hit. */
bool shape_match_nothing(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_pem(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_pem_base64(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_jwt(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_aws_secret(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_url(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_url_encoded(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_bearer(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_basic_auth(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_digest(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_authorization(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_cookie(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_signature(struct slice text, size_t at, struct shape_hit *ret);
bool shape_match_curl(struct slice text, size_t at, struct shape_hit *ret);
/* Whether the name at text[at] is the name of a secret; its value is not examined. */
bool shape_name_may_be_secret(struct slice text, size_t at);
bool shape_match_assignment(struct slice text, size_t at, struct shape_hit *ret);

#endif
