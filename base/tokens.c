#include "base/tokens.h"

#include "base/token_run.h"
#include "base/token_words.h"

/* The weight of a piece of each class, in hundredths of a token. */
static const int64_t weights[TOKENS_CLASSES] = {
    [TOKENS_WORD] = 89,     [TOKENS_WORD_MIDDLE] = 117,   [TOKENS_WORD_LONG] = 113,
    [TOKENS_LETTER] = 12,   [TOKENS_JOINED] = 116,        [TOKENS_CAPITALS] = 148,
    [TOKENS_DIGITS] = 119,  [TOKENS_PREFIX] = 56,         [TOKENS_PUNCTUATION] = 91,
    [TOKENS_MORE] = 54,     [TOKENS_REPEATED] = 16,       [TOKENS_SPACE] = 61,
    [TOKENS_BLANK] = 148,   [TOKENS_NEWLINE] = 78,        [TOKENS_WIDTH] = 100,
    [TOKENS_LATIN] = 77,    [TOKENS_GREEK_CYRILLIC] = 27, [TOKENS_NEAR_EAST] = 57,
    [TOKENS_INDIC] = 80,    [TOKENS_SYMBOL] = 52,         [TOKENS_KANA] = 80,
    [TOKENS_HAN] = 68,      [TOKENS_HANGUL] = 75,         [TOKENS_OTHER] = 180,
    [TOKENS_CONTROL] = 100,
};

/* Returns the class of a character that is not ASCII. */
static enum tokens_class token_class_of_char(uint32_t c)
{
    static const struct {
        uint32_t below;
        enum tokens_class class;
    } scripts[] = {
        {0xA0, TOKENS_CONTROL},
        {0x370, TOKENS_LATIN},
        {0x530, TOKENS_GREEK_CYRILLIC},
        {0x900, TOKENS_NEAR_EAST},
        {0x1E00, TOKENS_INDIC},
        {0x1F00, TOKENS_LATIN},
        {0x2000, TOKENS_GREEK_CYRILLIC},
        {0x2E80, TOKENS_SYMBOL},
        {0x3040, TOKENS_HAN},
        {0x3130, TOKENS_KANA},
        {0x3190, TOKENS_HANGUL},
        {0xA000, TOKENS_HAN},
        {0xAC00, TOKENS_OTHER},
        {0xD7B0, TOKENS_HANGUL},
        {0xFF00, TOKENS_OTHER},
        {0xFFF0, TOKENS_HAN},
    };
    for (size_t i = 0; i < MI_COUNT(scripts); i++)
        if (c < scripts[i].below)
            return scripts[i].class;
    return TOKENS_OTHER;
}

/* Reads the characters before the first character that is not ASCII. Returns how many characters
 * were read. */
static size_t tokens_read_ascii(struct tokens *t, const char *p, size_t n)
{
    size_t i = 0, start;
    while (i < n && token_kinds[(unsigned char)p[i]] != TOKEN_START) {
        unsigned char c = (unsigned char)p[i++];
        enum token_kind kind = token_kinds[c];
        switch (kind) {
        case TOKEN_LOWER:
            tokens_add_letter(t, kind);
            i = tokens_scan_words(t, p, i, n);
            break;
        case TOKEN_UPPER:
            tokens_add_letter(t, kind);
            break;
        case TOKEN_DIGIT:
            tokens_extend_run(t, TOKEN_DIGIT);
            start = i;
            while (i < n && token_kinds[(unsigned char)p[i]] == TOKEN_DIGIT)
                i++;
            t->run += i - start;
            break;
        case TOKEN_PUNCTUATION:
            tokens_add_punctuation(t, c);
            break;
        case TOKEN_SPACE:
        case TOKEN_NEWLINE:
            tokens_add_white_space(t, kind, c);
            if (c != ' ')
                break;
            start = i;
            while (i < n && p[i] == ' ')
                i++;
            t->run += i - start;
            t->width += i - start;
            break;
        default:
            tokens_extend_run(t, TOKEN_OTHER);
            t->n[TOKENS_CONTROL]++;
            break;
        }
    }
    return i;
}

static void tokens_add_other_char(struct tokens *t, enum tokens_class class)
{
    tokens_begin_run(t, TOKEN_OTHER);
    t->n[class]++;
}

/* Reads the first byte of a character of several bytes (RFC 3629). */
static void tokens_begin_multibyte(struct tokens *t, unsigned char c)
{
    t->want = c < 0xC2 || c > 0xF4 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    t->code = c & (0x3Fu >> t->want);
    t->low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    t->high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (t->want == 0)
        tokens_add_other_char(t, TOKENS_CONTROL);
}

void tokens_add(struct tokens *t, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (t->want == 0)
            i += tokens_read_ascii(t, p + i, n - i);
        if (i == n)
            return;
        unsigned char c = (unsigned char)p[i];
        if (t->want > 0 && c >= t->low && c <= t->high) {
            t->code = t->code << 6 | (c & 0x3F);
            t->low = 0x80;
            t->high = 0xBF;
            if (--t->want == 0)
                tokens_add_other_char(t, token_class_of_char(t->code));
            continue;
        }
        if (t->want > 0) { /* the character is incomplete */
            t->want = 0;
            tokens_add_other_char(t, TOKENS_CONTROL);
        }
        if (c < 0x80)
            (void)tokens_read_ascii(t, p + i, 1);
        else
            tokens_begin_multibyte(t, c);
    }
}

int64_t tokens_count(const struct tokens *t)
{
    struct tokens end = *t;
    int64_t sum = 0;
    if (end.want > 0)
        tokens_add_other_char(&end, TOKENS_CONTROL);
    tokens_count_char_run(&end, TOKEN_START);
    for (size_t i = 0; i < TOKENS_CLASSES; i++)
        sum += end.n[i] * weights[i];
    bool any = end.kind != TOKEN_START;
    sum = (sum + 50) / 100;
    return sum > 0 ? sum : any;
}

int64_t tokens_estimate(const char *p, size_t n)
{
    struct tokens t = {0};
    tokens_add(&t, p, n);
    return tokens_count(&t);
}
