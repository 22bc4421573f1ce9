#include "redact/key.h"

#include "base/chars.h"

#include <assert.h>
#include <stdlib.h>

struct key_user {
    enum key_list list;
    /* `any_before`: the user's name begins with `*`; `any_behind`: the user's name ends with `*` */
    bool any_before, any_behind;
    struct key_name name;
    char rule[KEY_MAX + 1]; /* RULE of the mark [redacted:RULE] */
    struct key_rule as_rule;
};

/* ---- the normal form ----------------------------------------------------------------------- */

/* Returns the letter that `%XX` encodes, or 0. */
static char decode_percent(struct slice s, size_t i)
{
    if (s.p[i] != '%' || s.n - i < 3)
        return 0;
    int high = char_hex_digit_value(s.p[i + 1]), low = char_hex_digit_value(s.p[i + 2]);
    if (high < 0 || low < 0)
        return 0;
    return (char)(high << 4 | low);
}

static void key_name_append_char(struct key_name *k, char c, bool word)
{
    if (k->n == KEY_MAX) { /* drop the first character, because only the end counts */
        memmove(k->p, k->p + 1, KEY_MAX - 1);
        k->words >>= 1;
        k->n--;
        k->truncated = true;
    }
    if (word)
        k->words |= (uint64_t)1 << k->n;
    k->p[k->n++] = c;
}

static void make_key_name(struct slice name, struct key_name *ret)
{
    /* Read only the last KEY_MAX * 3 bytes of the name: %XX has three bytes, but is one
     * character. */
    size_t max = (size_t)KEY_MAX * 3;
    struct slice s = name;
    ret->n = 0;
    ret->words = 0;
    ret->truncated = name.n > max;
    if (ret->truncated)
        s = (struct slice){name.p + name.n - max, max};
    char before = 0; /* the preceding character; 0: none, or a separator */
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        char coded = decode_percent(s, i);
        if (coded != 0) {
            c = coded;
            i += 2;
        }
        char next = i + 1 < s.n ? s.p[i + 1] : 0;
        if (char_is_upper(c))
            key_name_append_char(ret, (char)(c | 0x20),
                                 !char_is_upper(before) || char_is_lower(next));
        else if (char_is_lower(c) || char_is_digit(c) || (unsigned char)c >= 0x80)
            key_name_append_char(ret, c, before == 0);
        else
            c = 0;
        before = c;
    }
}

/* ---- rules -------------------------------------------------------------------------------- */

static bool name_matches_rule_ending(const struct key_name *k, const struct key_rule *r)
{
    size_t n = strlen(r->end);
    if (n > k->n || memcmp(k->p + k->n - n, r->end, n) != 0)
        return false;
    if (r->flags & KEY_EXACT)
        return n == k->n && !k->truncated;
    return !(r->flags & KEY_WORD) || (k->words >> (k->n - n) & 1) != 0;
}

static const struct key_rule *find_rule_in_table(const struct key_rule *table,
                                                 const struct key_name *k)
{
    for (const struct key_rule *r = table; r->end != NULL; r++)
        if (name_matches_rule_ending(k, r))
            return r;
    return NULL;
}

/* Returns the index in keys.first of the rules for names that end with the two letters before
 * `end`. */
static unsigned get_rule_bucket_of_ending(const char *end)
{
    return ((unsigned char)end[-2] & 31u) << 5 | ((unsigned char)end[-1] & 31u);
}

static const struct key_rule *find_secret_rule(const struct keys *keys, const struct key_name *k)
{
    if (k->n < 2)
        return NULL;
    for (unsigned i = keys->first[get_rule_bucket_of_ending(k->p + k->n)]; i != 0;
         i = keys->next[i - 1])
        if (name_matches_rule_ending(k, &key_secrets[i - 1]))
            return &key_secrets[i - 1];
    return NULL;
}

static bool user_rule_matches(const struct key_user *u, const struct key_name *k)
{
    size_t n = u->name.n;
    if (n > k->n)
        return false;
    if (u->any_before && u->any_behind)
        return memmem(k->p, k->n, u->name.p, n) != NULL;
    if (u->any_before)
        return memcmp(k->p + k->n - n, u->name.p, n) == 0;
    if (k->truncated || memcmp(k->p, u->name.p, n) != 0)
        return false;
    return u->any_behind || n == k->n;
}

static const struct key_user *find_user_rule(const struct keys *keys, enum key_list list,
                                             const struct key_name *k)
{
    for (size_t i = 0; i < keys->user_n; i++)
        if (keys->user[i].list == list && user_rule_matches(&keys->user[i], k))
            return &keys->user[i];
    return NULL;
}

static const struct key_rule *find_rule_for_name(const struct keys *keys, const struct key_name *k)
{
    if (find_user_rule(keys, KEYS_KEEP, k) != NULL)
        return NULL;
    const struct key_user *u = find_user_rule(keys, KEYS_SECRET, k);
    if (u != NULL)
        return &u->as_rule;
    const struct key_rule *r = find_secret_rule(keys, k);
    return r != NULL && find_rule_in_table(key_kept, k) == NULL ? r : NULL;
}

/* Removes the digits at the end. Returns true if there were digits, and characters before them. */
static bool key_name_drop_digits(struct key_name *k)
{
    size_t n = k->n;
    while (n > 0 && char_is_digit(k->p[n - 1]))
        n--;
    bool some = n < k->n && n > 0;
    k->n = n;
    return some;
}

const struct key_rule *key_find_rule(const struct keys *keys, struct slice name)
{
    if (!key_name_may_match_rule(keys, name.p, name.p + name.n))
        return NULL;
    struct key_name k;
    make_key_name(name, &k);
    const struct key_rule *r = find_rule_for_name(keys, &k);
    if (r == NULL && key_name_drop_digits(&k))
        r = find_rule_for_name(keys, &k);
    if (r != NULL && memmem(name.p, name.n, "[redacted:", 10) != NULL)
        return NULL; /* a name that contains a redaction mark is not the name of a secret */
    return r;
}

static const struct key_rule *find_rule_for_form_field(const struct keys *keys, struct slice name,
                                                       bool exact)
{
    struct key_name k;
    make_key_name(name, &k);
    const struct key_rule *r =
        find_user_rule(keys, KEYS_KEEP, &k) == NULL ? find_rule_in_table(key_asked, &k) : NULL;
    if (r == NULL && key_name_drop_digits(&k))
        r = find_rule_in_table(key_asked, &k);
    return r != NULL && (!exact || (r->flags & KEY_EXACT)) ? r : NULL;
}

const struct key_rule *key_find_form_field_rule(const struct keys *keys, struct slice name)
{
    const struct key_rule *r = key_find_rule(keys, name);
    return r != NULL ? r : find_rule_for_form_field(keys, name, false);
}

const struct key_rule *key_find_exact(const struct keys *keys, struct slice name)
{
    return find_rule_for_form_field(keys, name, true);
}

bool key_is_plain_header(const struct keys *keys, struct slice name)
{
    struct key_name k;
    make_key_name(name, &k);
    return find_user_rule(keys, KEYS_KEEP, &k) != NULL ||
           find_rule_in_table(key_plain_headers, &k) != NULL;
}

bool key_is_content(const struct keys *keys, struct slice name)
{
    struct key_name k;
    make_key_name(name, &k);
    if (find_user_rule(keys, KEYS_CONTENT, &k) != NULL)
        return true;
    return find_user_rule(keys, KEYS_KEEP, &k) == NULL &&
           find_rule_in_table(key_contents, &k) != NULL;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Makes key_name_may_match_rule() true for names that end with the n bytes at p.
 * key_name_may_match_rule() is always true for names that do not end with two letters. */
static void add_name_ending_to_filter(struct keys *k, const char *p, size_t n)
{
    if (n < 2) {
        k->all = true;
        return;
    }
    if (!char_is_lower(p[n - 2]) || !char_is_lower(p[n - 1]))
        return;
    unsigned two = (unsigned)(p[n - 2] - 'a') << 5 | (unsigned)(p[n - 1] - 'a');
    if (n < k->least[two])
        k->least[two] = (uint8_t)n;
    /* Set the bit of the last three characters, if they are letters. If the name has only two
     * letters, any letter may precede them: set the bits of all 26. */
    for (unsigned a = 0; a < 26; a++) {
        unsigned three = a << 10 | two;
        if (n == 2 || p[n - 3] == (char)('a' + a))
            k->ends[three / 64] |= (uint64_t)1 << (three % 64);
    }
}

void keys_open(struct keys *k)
{
    *k = (struct keys){0};
    memset(k->least, UINT8_MAX, sizeof k->least);
    for (size_t i = 0; key_secrets[i].end != NULL; i++) {
        const char *end = key_secrets[i].end;
        size_t n = strlen(end);
        add_name_ending_to_filter(k, end, n);
        assert(n >= 2 && i < KEY_RULES_MAX);
        unsigned b = get_rule_bucket_of_ending(end + n);
        k->next[i] = k->first[b];
        k->first[b] = (uint8_t)(i + 1);
    }
}

void keys_close(struct keys *k)
{
    free(k->user);
    *k = (struct keys){0};
}

int keys_add_user_rule(struct keys *k, enum key_list list, struct slice name)
{
    struct key_user u = {.list = list};
    if (k->user_n == KEYS_USER_MAX)
        return MI_EFULL;
    u.any_before = name.n > 0 && name.p[0] == '*';
    u.any_behind = name.n > 1 && name.p[name.n - 1] == '*';
    make_key_name(name, &u.name);
    if (u.name.n == 0 || u.name.truncated)
        return MI_EINVAL;
    /* RULE of the redaction mark is the user's name in normal form, without non-ASCII bytes. */
    size_t n = 0;
    for (size_t i = 0; i < u.name.n && n < 32; i++)
        if ((unsigned char)u.name.p[i] < 0x80)
            u.rule[n++] = u.name.p[i];
    u.rule[n] = '\0';
    if (n == 0)
        memcpy(u.rule, "key", sizeof "key");
    struct key_user *more = realloc(k->user, (k->user_n + 1) * sizeof *more);
    if (more == NULL)
        return MI_ENOMEM;
    k->user = more;
    more[k->user_n++] = u;
    /* set all pointers again: realloc() may have moved the array */
    for (size_t i = 0; i < k->user_n; i++)
        more[i].as_rule = (struct key_rule){.end = "", .rule = more[i].rule};
    if (list == KEYS_SECRET && u.any_behind)
        k->all = true;
    else if (list == KEYS_SECRET)
        add_name_ending_to_filter(k, u.name.p, u.name.n);
    return 0;
}
