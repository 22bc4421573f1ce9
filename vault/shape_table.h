/* shape_table.h - the built-in rules as data, and what their functions share. Between the shape*.c files.
 *
 * A rule has an anchor, which is searched for, and a form, which is tried where the anchor stands. A form is
 * a small pattern without alternatives and without going back, so that trying one costs what it reads:
 *
 *     c           this letter; \c: this letter, though it means something here
 *     [a-f0-9_]   one of these; '-' last is itself
 *     \d \h \x    digit; 0-9a-f; 0-9a-fA-F
 *     \a \w \b    0-9A-Za-z; the same with _ and -; the same with + and /
 *     {3} {3,} {3,9} ?     so many of the last
 *     |           the anchor ends here: at least three letters or small classes stand before
 *     <           what stands before, one class with its number, is read leftwards from the anchor
 *     ( )         the hit, when it is not all
 *
 * A token needs an edge on either side: no letter or digit next to it. */
#ifndef MI_VAULT_SHAPE_TABLE_H
#define MI_VAULT_SHAPE_TABLE_H

#include "vault/shape.h"

#define SHAPE_BACK_MAX 96 /* bytes before its anchor at which a hit may begin */
#define SHAPE_MARK "[redacted:"

/* Is there a hit for the anchor that stands at text[at]? Writes ret->from and ret->n. */
typedef bool (*shape_fn)(struct slice text, size_t at, struct shape_hit *ret);

enum shape_flag {
    SHAPE_FOLD = 1, /* the anchor's letters in either case */
    SHAPE_CRC =
        2, /* six last letters are the CRC-32 of those between prefix and them, in base 62 */
    SHAPE_EDGELESS = 4,  /* may stand in the middle of a word */
    SHAPE_ALONE = 8,     /* no + / = next to it, else it is a part of some base64 */
    SHAPE_LOOSE = 16,    /* escapes in the text may hide what its function looks for */
    SHAPE_CAPITALS = 32, /* letters of one case alone may be a token */
};

struct shape_rule {
    const char *name;
    const char *form; /* with a function: the anchor alone */
    shape_fn fn;      /* NULL: the form says it all */
    unsigned flags;   /* enum shape_flag */
};

/* The special ones first: of two that find the same bytes the first gives its name. */
extern const struct shape_rule shape_rules[];
extern const size_t shape_rules_n;

extern uint64_t shape_work; /* what shapes_work() tells */

/* ---- letters ---- */

static inline bool shape_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool shape_lower(char c)
{
    return c >= 'a' && c <= 'z';
}
static inline bool shape_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static inline bool shape_alnum(char c)
{
    return shape_digit(c) || shape_lower((char)(c | 0x20));
}
static inline bool shape_blank(char c)
{
    return c == ' ' || c == '\t';
}
static inline char shape_fold(char c)
{
    return shape_upper(c) ? (char)(c | 0x20) : c;
}
static inline bool shape_base64(char c) /* either alphabet, without '=' */
{
    return shape_alnum(c) || c == '+' || c == '/' || c == '-' || c == '_';
}

/* One atom of a form. *p moves behind it. */
struct shape_set {
    uint64_t bits[4];
};
void shape_atom(const char **p, bool fold, struct shape_set *ret);
static inline bool shape_in(const struct shape_set *s, char c)
{
    return (s->bits[(unsigned char)c >> 6] >> ((unsigned char)c & 63) & 1) != 0;
}

/* The letters of a set; how many. */
size_t shape_letters(const struct shape_set *s, unsigned char ret[256]);

/* Is there a hit for the rule whose anchor stands at text[at]? */
bool shape_form(const struct shape_rule *rule, struct slice text, size_t at, struct shape_hit *ret);
/* A text is another one now, though it may lie where the last one lay. */
void shape_form_begin(void);

/* ---- judging text ---- */

/* Does no word run into text[at]? A letter that ends an escape (\n, %3D, a colour) is none of a word. */
bool shape_edge_left(struct slice text, size_t at);
/* An example, not a secret: a word that says so, one letter many times, the alphabet, few letters. */
bool shape_made_up(struct slice s);
/* Letters of two kinds at least (lower, upper, digit, other), and enough of them differ. */
bool shape_varied(struct slice s);
/* A name or expression in place of a value: ${X}, <password>, {{ x }}, %s, ****, $(cmd). */
bool shape_template(struct slice s);
/* Is this word, in any case, one of the list? Its words are in small letters, with blanks between. */
bool shape_listed(struct slice word, const char *list);
/* Does s hold one of the words of the list, in any case? */
bool shape_holds(struct slice s, const char *list);
/* Where a mark `[redacted:RULE]` that begins at text[at] ends; 0: there is none. */
size_t shape_mark_end(struct slice text, size_t at);

/* ---- rules that are more than a form ---- */

bool shape_anchor(struct slice text, size_t at, struct shape_hit *ret); /* always one */
bool shape_mark(struct slice text, size_t at, struct shape_hit *ret);   /* never a hit */
bool shape_pem(struct slice text, size_t at, struct shape_hit *ret);
bool shape_pem_base64(struct slice text, size_t at, struct shape_hit *ret);
bool shape_jwt(struct slice text, size_t at, struct shape_hit *ret);
bool shape_aws_secret(struct slice text, size_t at, struct shape_hit *ret);
bool shape_url(struct slice text, size_t at, struct shape_hit *ret);
bool shape_url_encoded(struct slice text, size_t at, struct shape_hit *ret);
bool shape_bearer(struct slice text, size_t at, struct shape_hit *ret);
bool shape_basic(struct slice text, size_t at, struct shape_hit *ret);
bool shape_digest(struct slice text, size_t at, struct shape_hit *ret);
bool shape_authorization(struct slice text, size_t at, struct shape_hit *ret);
bool shape_cookie(struct slice text, size_t at, struct shape_hit *ret);
bool shape_signature(struct slice text, size_t at, struct shape_hit *ret);
bool shape_curl(struct slice text, size_t at, struct shape_hit *ret);
/* Is this the name of a secret, whatever follows? */
bool shape_assignment_name(struct slice text, size_t at);
bool shape_assignment(struct slice text, size_t at, struct shape_hit *ret);

#endif
