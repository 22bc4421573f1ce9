/* form.c - matches forms, and recognizes examples, placeholders and words. */
#include "redact/shape/shape_table.h"

#include <stdlib.h>
#include <strings.h>

uint64_t shape_work;

/* ---- forms ---- */

static void shape_set_add_range(struct shape_set *s, char from, char to)
{
    for (unsigned c = (unsigned char)from; c <= (unsigned char)to; c++)
        s->bits[c >> 6] |= UINT64_C(1) << (c & 63);
}

static void shape_set_add_chars(struct shape_set *s, const char *chars)
{
    for (; *chars != '\0'; chars++)
        shape_set_add_range(s, *chars, *chars);
}

static void shape_set_add_escape(struct shape_set *s, char c)
{
    if (strchr("awbdhx", c) == NULL) {
        shape_set_add_range(s, c, c);
        return;
    }
    shape_set_add_range(s, '0', '9');
    if (c == 'h' || c == 'x')
        shape_set_add_range(s, 'a', 'f');
    if (c == 'x')
        shape_set_add_range(s, 'A', 'F');
    if (c == 'a' || c == 'w' || c == 'b') {
        shape_set_add_range(s, 'A', 'Z');
        shape_set_add_range(s, 'a', 'z');
    }
    if (c == 'w')
        shape_set_add_chars(s, "_-");
    if (c == 'b')
        shape_set_add_chars(s, "+/");
}

size_t shape_set_get_letters(const struct shape_set *s, unsigned char ret[256])
{
    size_t n = 0;
    for (unsigned i = 0; i < 4; i++)
        for (uint64_t bits = s->bits[i]; bits != 0; bits &= bits - 1)
            ret[n++] = (unsigned char)(i * 64 + (unsigned)__builtin_ctzll(bits));
    return n;
}

void shape_read_char_set(const char **p, bool fold, struct shape_set *ret)
{
    const char *f = *p;
    *ret = (struct shape_set){{0}};
    if (*f == '\\') {
        shape_set_add_escape(ret, f[1]);
        f += 2;
    } else if (*f == '[') {
        for (f++; *f != ']'; f++) {
            bool range = f[1] == '-' && f[2] != ']';
            shape_set_add_range(ret, f[0], range ? f[2] : f[0]);
            f += range ? 2 : 0;
        }
        f++;
    } else {
        shape_set_add_range(ret, *f, *f);
        if (fold && char_is_lower(*f))
            shape_set_add_range(ret, (char)(*f ^ 0x20), (char)(*f ^ 0x20));
        f++;
    }
    *p = f;
}

/* Reads the count after an item of a form: {3}, {3,}, {3,9} or ?. Without a count, the item occurs
 * once. */
static void read_form_count(const char **p, size_t *min, size_t *max)
{
    char *end;
    *min = *max = 1;
    if (**p == '?') {
        *min = 0;
        (*p)++;
    } else if (**p == '{') {
        *min = *max = strtoul(*p + 1, &end, 10);
        if (*end == ',')
            *max = end[1] == '}' ? SIZE_MAX : strtoul(end + 1, &end, 10);
        *p = strchr(end, '}') + 1;
    }
}

/* Matches the part of the form before '<' leftwards from text[at]. */
static bool match_backwards_from_anchor(const char **form, struct slice text, size_t at,
                                        size_t *from)
{
    const char *f = *form, *mark = strchr(f, '<');
    if (mark == NULL)
        return true;
    struct shape_set set;
    size_t min, max, n = 0;
    shape_read_char_set(&f, false, &set);
    read_form_count(&f, &min, &max);
    while (n < at && n < max && shape_set_has_char(&set, text.p[at - n - 1]))
        n++;
    shape_work += n;
    *from = at - n;
    *form = mark + 1;
    return n >= min;
}

#define FORM_FIRST 300 /* number of characters that are examined at the start of a token */

/* Returns the number of characters from text[i] on that are in the set, at most `max`. */
static size_t count_chars_of_set(const struct shape_set *set, struct slice text, size_t i,
                                 size_t max)
{
    size_t n = 0;
    while (n < max && i + n < text.n && shape_set_has_char(set, text.p[i + n]))
        n++;
    shape_work += n + 1;
    return n;
}

#define WORD_MAX 24 /* maximum letters of a word */

/* Whether s consists of words separated by dashes: s has no digit, its letters have one case, and
 * no word is too long. Then s is not a token. */
static bool has_only_plain_words(struct slice s)
{
    bool lower = false, upper = false;
    size_t word = 0;
    for (size_t i = 0; i < s.n; i++) {
        lower = lower || char_is_lower(s.p[i]);
        upper = upper || char_is_upper(s.p[i]);
        word = shape_is_alnum(s.p[i]) ? word + 1 : 0;
        if (char_is_digit(s.p[i]) || (lower && upper) || word > WORD_MAX)
            return false;
    }
    return s.n > 0;
}

/* A cache: the last long run of characters of one set. A long token may contain an anchor every few
 * letters. Without the cache, the run would be read again for each anchor. */
static struct {
    struct shape_set set;
    const char *from, *to;
} long_run;

void shape_form_reset_cache(void)
{
    long_run.from = long_run.to = NULL;
}

static size_t count_run_chars_from(const struct shape_set *set, struct slice text, size_t i,
                                   size_t max)
{
    const char *p = text.p + i;
    if (max > text.n && p >= long_run.from && p < long_run.to &&
        memcmp(set, &long_run.set, sizeof *set) == 0)
        return (size_t)(long_run.to - p);
    size_t n = count_chars_of_set(set, text, i, max);
    long_run.set = *set;
    long_run.from = p;
    long_run.to = p + n;
    return n;
}

/* Whether the last six characters are the CRC-32 of the preceding characters, as in tokens of
 * GitHub and npm. Such a token is not a placeholder, even if it looks like one. */
static bool token_has_checksum(struct slice body)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if (body.n <= 6)
        return false;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < body.n - 6; i++) {
        crc ^= (unsigned char)body.p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0 - (crc & 1)));
    }
    crc = ~crc;
    for (size_t i = 1; i <= 6; i++, crc /= 62)
        if (body.p[body.n - i] != digits[crc % 62])
            return false;
    return true;
}

static bool slice_is_placeholder(struct slice s);

bool shape_match_rule_form(const struct shape_rule *rule, struct slice text, size_t at,
                           struct shape_hit *ret)
{
    const char *f = rule->form;
    size_t from = at, end = 0, i = at, head = 0, min = 0, max = 0, n = 0;
    bool fold = (rule->flags & SHAPE_FOLD) != 0, edgeless = (rule->flags & SHAPE_EDGELESS) != 0;
    struct shape_set set = {{0}};
    if (!match_backwards_from_anchor(&f, text, at, &from))
        return false;
    while (*f != '\0') {
        if (*f == '|') {
            head = i;
            if (rule->fn == NULL && !edgeless && !shape_token_may_begin_at(text, from))
                return false;
        } else if (*f == '(') {
            from = i;
        } else if (*f == ')') {
            end = i;
        } else {
            shape_read_char_set(&f, fold, &set);
            read_form_count(&f, &min, &max);
            n = count_chars_of_set(&set, text, i, size_min(max, FORM_FIRST));
            if (n < min)
                return false;
            i += n;
            continue;
        }
        f++;
    }
    if (rule->fn != NULL) {
        ret->rule = rule->name;
        return rule->fn(text, at, ret);
    }
    if (i < text.n && n < FORM_FIRST && shape_is_alnum(text.p[i]) && shape_is_alnum(text.p[i - 1]))
        return false;
    struct slice hit = {text.p + from, (end != 0 ? end : i) - from},
                 body = {text.p + head, i - head};
    bool words = !(rule->flags & SHAPE_CAPITALS) && has_only_plain_words(from < at ? hit : body);
    if (!(rule->flags & SHAPE_CRC && token_has_checksum(body)) &&
        (words || slice_is_placeholder(hit)))
        return false;
    if (rule->flags & SHAPE_ALONE && ((from > 0 && strchr("+/", text.p[from - 1]) != NULL) ||
                                      (i < text.n && strchr("+/=", text.p[i]) != NULL)))
        return false;
    if (end == 0 && n == FORM_FIRST)
        i += count_run_chars_from(&set, text, i, max - n);
    while (end == 0 && text.p[i - 1] == '.') /* the end of a sentence */
        i--;
    *ret = (struct shape_hit){from, (end != 0 ? end : i) - from, rule->name};
    return true;
}

/* ---- judging text ---- */

static bool is_hex_char(char c)
{
    return char_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool escape_sequence_ends_at(const char *end, size_t n)
{
    if (n >= 2 && end[-2] == '\\' && strchr("nrtbf0", end[-1]) != NULL)
        return true;
    if (n >= 3 && end[-3] == '%' && is_hex_char(end[-2]) && is_hex_char(end[-1]))
        return true;
    if (n >= 4 && end[-4] == '\\' && end[-3] == 'x' && is_hex_char(end[-2]) && is_hex_char(end[-1]))
        return true;
    return n >= 6 && end[-6] == '\\' && end[-5] == 'u' && is_hex_char(end[-4]) &&
           is_hex_char(end[-3]) && is_hex_char(end[-2]) && is_hex_char(end[-1]);
}

/* Whether a colour code, such as ESC [ 1 ; 31 m, ends at `end`. */
static bool colour_code_ends_at(const char *end, size_t n)
{
    size_t i = 1;
    if (end[-1] != 'm')
        return false;
    while (i < n && i < 16 &&
           (char_is_digit(end[-(ptrdiff_t)i - 1]) || end[-(ptrdiff_t)i - 1] == ';'))
        i++;
    return i < n && end[-(ptrdiff_t)i - 1] == '[';
}

bool shape_token_may_begin_at(struct slice text, size_t at)
{
    if (at == 0 || !shape_is_alnum(text.p[at - 1]))
        return true;
    return escape_sequence_ends_at(text.p + at, at) || colour_code_ends_at(text.p + at, at);
}

/* Whether the text begins with a word of the list, ignoring case. */
static bool text_begins_with_listed_word(const char *p, size_t n, const char *list)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " ");
        if (len <= n && strncasecmp(p, list, len) == 0)
            return true;
        list += len + strspn(list + len, " ");
    }
    return false;
}

bool shape_contains_listed_word(struct slice s, const char *list)
{
    struct shape_set first = {{0}};
    for (const char *p = list; *p != '\0'; p++)
        if (p == list || p[-1] == ' ')
            shape_set_add_range(&first, *p, *p);
    for (size_t i = 0; i < s.n; i++)
        if (shape_set_has_char(&first, shape_to_lower_case(s.p[i])) &&
            text_begins_with_listed_word(s.p + i, s.n - i, list))
            return true;
    shape_work += s.n;
    return false;
}

#define LISTED_MAX 32 /* bytes of the longest word in a list */

bool shape_word_is_in_list(struct slice word, const char *list)
{
    if (word.n == 0 || word.n > LISTED_MAX)
        return false;
    char first = shape_to_lower_case(word.p[0]);
    /* Called often with long lists: compares only words of the same length and first letter. */
    while (*list != '\0') {
        size_t n = 0;
        while (list[n] != ' ' && list[n] != '\0')
            n++;
        if (n == word.n && list[0] == first && strncasecmp(word.p, list, n) == 0)
            return true;
        list += n + (list[n] == ' ');
    }
    return false;
}

static size_t count_distinct_letters(struct slice s)
{
    struct shape_set seen = {{0}};
    for (size_t i = 0; i < s.n; i++)
        seen.bits[(unsigned char)s.p[i] >> 6] |= UINT64_C(1) << ((unsigned char)s.p[i] & 63);
    size_t n = 0;
    for (size_t i = 0; i < 4; i++)
        n += (size_t)__builtin_popcountll(seen.bits[i]);
    return n;
}

/* Whether s cannot be a secret: it contains a word such as "example", repeats letters, or has few
 * different letters. */
static bool slice_is_placeholder(struct slice s)
{
    size_t same = 1;
    s.n = size_min(s.n, 256);
    for (size_t i = 1; i < s.n && same < 10; i++)
        same = s.p[i] == s.p[i - 1] ? same + 1 : 1;
    shape_work += s.n;
    if (same >= 10 || (s.n >= 16 && count_distinct_letters(s) < 7))
        return true;
    return shape_contains_listed_word(
        s, "example placeholder changeme your_ your- yourtoken yourkey xxxxxx");
}

bool shape_text_is_example(struct slice s)
{
    size_t up = 1;
    for (size_t i = 1; i < size_min(s.n, 256) && up < 10; i++)
        up = s.p[i] == s.p[i - 1] + 1 ? up + 1 : 1;
    return up >= 10 || slice_is_placeholder(s);
}

bool shape_has_varied_characters(struct slice s)
{
    unsigned kinds = 0;
    for (size_t i = 0; i < s.n; i++)
        kinds |= char_is_digit(s.p[i])   ? 1u
                 : char_is_lower(s.p[i]) ? 2u
                 : char_is_upper(s.p[i]) ? 4u
                                         : 8u;
    shape_work += s.n;
    return __builtin_popcount(kinds) >= 2 && count_distinct_letters(s) >= size_min(s.n / 2, 8);
}

bool shape_is_template(struct slice s)
{
    if (s.n == 0)
        return true;
    char a = s.p[0], b = s.n > 1 ? s.p[1] : '\0', z = s.p[s.n - 1];
    if (a == '$' && (b == '{' || b == '(' || b == '_' || char_is_upper(b)))
        return true;
    if (a == '$' && char_is_lower(b)) { /* a variable of a shell or of Perl */
        size_t k = 1;
        while (k < s.n && (char_is_lower(s.p[k]) || strchr("_->", s.p[k]) != NULL))
            k++;
        if (k == s.n)
            return true;
    }
    if (memmem(s.p, s.n, "%s", 2) != NULL)
        return true;
    if ((a == '<' && z == '>') || (a == '{' && z == '}') || (a == '[' && z == ']'))
        return true;
    if (a == '%' && (s.n == 2 || b == '(' || z == '%'))
        return true;
    /* characters that replace hidden text: stars, dots, and the bytes of U+2022, U+25CF, U+2026 */
    static const char hidden[] = "*.:xX-_#?\xE2\x80\xA2\x97\x8F\xA6";
    size_t n = 0;
    while (n < s.n && memchr(hidden, s.p[n], sizeof hidden - 1) != NULL)
        n++;
    return n == s.n;
}

size_t shape_find_end_of_redaction_mark(struct slice text, size_t at)
{
    struct slice rest = {text.p + at, text.n - at};
    if (!slice_begins(rest, SHAPE_MARK))
        return 0;
    for (size_t i = strlen(SHAPE_MARK); i < rest.n && i < 96; i++) {
        if (rest.p[i] == ']')
            return at + i + 1;
        if (!shape_is_alnum(rest.p[i]) && strchr("._-", rest.p[i]) == NULL)
            return 0;
    }
    return 0;
}

bool shape_match_nothing(struct slice text, size_t at, struct shape_hit *ret)
{
    (void)text, (void)at, (void)ret;
    return false;
}

bool shape_match_anchor(struct slice text, size_t at, struct shape_hit *ret)
{
    (void)text, (void)at, (void)ret;
    return true;
}
