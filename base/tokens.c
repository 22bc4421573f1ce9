#include "base/tokens.h"

enum kind { START, LOWER, UPPER, CAPITALS, DIGIT, PUNCTUATION, SPACE, NEWLINE, OTHER };

/* Hundredths of a token. */
static const int64_t weights[TOKENS_CLASSES] = {
    [TOKENS_WORD] = 89,
    [TOKENS_WORD_MIDDLE] = 117,
    [TOKENS_WORD_LONG] = 113,
    [TOKENS_LETTER] = 12,
    [TOKENS_JOINED] = 116,
    [TOKENS_CAPITALS] = 148,
    [TOKENS_DIGITS] = 119,
    [TOKENS_PREFIX] = 56,
    [TOKENS_PUNCTUATION] = 91,
    [TOKENS_MORE] = 54,
    [TOKENS_REPEATED] = 16,
    [TOKENS_SPACE] = 61,
    [TOKENS_BLANK] = 148,
    [TOKENS_NEWLINE] = 78,
    [TOKENS_WIDTH] = 100,
    [TOKENS_LATIN] = 77,
    [TOKENS_GREEK_CYRILLIC] = 27,
    [TOKENS_NEAR_EAST] = 57,
    [TOKENS_INDIC] = 80,
    [TOKENS_SYMBOL] = 52,
    [TOKENS_KANA] = 80,
    [TOKENS_HAN] = 68,
    [TOKENS_HANGUL] = 75,
    [TOKENS_OTHER] = 180,
    [TOKENS_CONTROL] = 100,
};

static void tokens_end_word(struct tokens *t)
{
    bool joined = t->before == LOWER || t->before == UPPER || t->before == CAPITALS ||
                  t->before == DIGIT;
    if (t->kind == CAPITALS)
        t->n[TOKENS_CAPITALS]++;
    else if (joined)
        t->n[TOKENS_JOINED]++;
    else
        t->n[t->run <= 6 ? TOKENS_WORD : t->run <= 10 ? TOKENS_WORD_MIDDLE : TOKENS_WORD_LONG]++;
    t->n[TOKENS_LETTER] += t->run > 10 ? (int64_t)t->run - 10 : 0;
}

/* Counts the current run. next: what follows. */
static void tokens_end_run(struct tokens *t, enum kind next)
{
    bool letter = next == LOWER || next == UPPER;
    switch ((enum kind)t->kind) {
    case LOWER:
    case UPPER:
    case CAPITALS:
        tokens_end_word(t);
        break;
    case DIGIT:
        t->n[TOKENS_DIGITS] += (int64_t)(t->run + 2) / 3;
        break;
    case PUNCTUATION:
        t->n[t->run == 1 && letter ? TOKENS_PREFIX : TOKENS_PUNCTUATION]++;
        break;
    case SPACE:
        if (t->run > 1)
            t->n[TOKENS_BLANK]++;
        else if (!letter)
            t->n[TOKENS_SPACE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case NEWLINE:
        t->n[TOKENS_NEWLINE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case START:
    case OTHER:
        break;
    }
}

/* Of ASCII characters; of other bytes START. */
#define O OTHER
#define P PUNCTUATION
#define D DIGIT
#define U UPPER
#define L LOWER
static const uint8_t kinds[256] = {
    O, O, O, O, O, O, O, O, O, SPACE, NEWLINE, O, O, NEWLINE, O, O, /* controls */
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,                 /* controls */
    SPACE, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P,             /* space to / */
    D, D, D, D, D, D, D, D, D, D, P, P, P, P, P, P,                 /* 0 to ? */
    P, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U,                 /* @ to O */
    U, U, U, U, U, U, U, U, U, U, U, P, P, P, P, P,                 /* P to _ */
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,                 /* ` to o */
    L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, O,                 /* p to DEL */
};
#undef O
#undef P
#undef D
#undef U
#undef L

static void tokens_begin_run(struct tokens *t, enum kind kind)
{
    tokens_end_run(t, kind);
    t->before = t->kind;
    t->kind = (uint8_t)kind;
    t->run = 1;
    t->same = 1;
    t->width = 0;
}

/* Continues the run, or begins one. */
static void tokens_step(struct tokens *t, enum kind kind)
{
    if (t->kind == kind)
        t->run++;
    else
        tokens_begin_run(t, kind);
}

static void tokens_letter(struct tokens *t, enum kind kind)
{
    if (kind == LOWER && t->kind == CAPITALS) { /* HTTPServer: the last capital begins a word */
        t->run--;
        t->kind = t->run > 1 ? CAPITALS : UPPER;
        tokens_begin_run(t, UPPER);
    }
    if (t->kind == UPPER) {
        t->run++;
        t->kind = kind == UPPER ? CAPITALS : LOWER;
    } else if (kind == UPPER && t->kind == CAPITALS) {
        t->run++;
    } else {
        tokens_step(t, kind);
    }
}

static void tokens_punctuation(struct tokens *t, unsigned char c)
{
    tokens_step(t, PUNCTUATION);
    if (t->run > 1)
        t->same = (uint8_t)(c != t->last ? 1 : t->same < 3 ? t->same + 1 : 3);
    if (t->same == 3)
        t->n[TOKENS_REPEATED]++;
    else if (t->run > 3)
        t->n[TOKENS_MORE]++;
    t->last = c;
}

/* Tokenizers have one token for up to about 128 spaces, 16 tabs or ends of line, or 4 pairs of \r\n; where white space changes from
 * one character to another, fewer go into one. */
static void tokens_white(struct tokens *t, enum kind kind, unsigned char c)
{
    tokens_step(t, t->kind == NEWLINE ? NEWLINE : kind);
    t->width += c == ' ' ? 1 : c == '\r' ? 24 : 8;
    if (t->run > 1 && c != t->last && c != '\r' && t->last != '\r')
        t->width += 32;
    t->last = c;
}

/* Reads the characters before the first one that is not ASCII. Returns their number. */
static size_t tokens_ascii(struct tokens *t, const char *p, size_t n)
{
    size_t i = 0, start;
    while (i < n && kinds[(unsigned char)p[i]] != START) {
        unsigned char c = (unsigned char)p[i++];
        enum kind kind = kinds[c];
        switch (kind) {
        case LOWER:
        case UPPER:
            tokens_letter(t, kind);
            break;
        case DIGIT:
            tokens_step(t, DIGIT);
            break;
        case PUNCTUATION:
            tokens_punctuation(t, c);
            continue;
        case SPACE:
        case NEWLINE:
            tokens_white(t, kind, c);
            continue;
        default:
            tokens_step(t, OTHER);
            t->n[TOKENS_CONTROL]++;
            continue;
        }
        if (t->kind != LOWER && t->kind != DIGIT)
            continue;
        start = i;
        while (i < n && kinds[(unsigned char)p[i]] == kind)
            i++;
        t->run += i - start;
        /* Prose: a space between two words is a part of the second one. */
        while (kind == LOWER && i + 1 < n && p[i] == ' ' && kinds[(unsigned char)p[i + 1]] == LOWER) {
            tokens_end_word(t);
            t->before = SPACE;
            start = ++i;
            while (i < n && kinds[(unsigned char)p[i]] == LOWER)
                i++;
            t->run = i - start;
        }
    }
    return i;
}

static enum tokens_class tokens_class_of(uint32_t c)
{
    static const struct {
        uint32_t below;
        enum tokens_class class;
    } scripts[] = {
        {0xA0, TOKENS_CONTROL},         {0x370, TOKENS_LATIN},   {0x530, TOKENS_GREEK_CYRILLIC},
        {0x900, TOKENS_NEAR_EAST},      {0x1E00, TOKENS_INDIC},  {0x1F00, TOKENS_LATIN},
        {0x2000, TOKENS_GREEK_CYRILLIC}, {0x2E80, TOKENS_SYMBOL}, {0x3040, TOKENS_HAN},
        {0x3130, TOKENS_KANA},          {0x3190, TOKENS_HANGUL}, {0xA000, TOKENS_HAN},
        {0xAC00, TOKENS_OTHER},         {0xD7B0, TOKENS_HANGUL}, {0xFF00, TOKENS_OTHER},
        {0xFFF0, TOKENS_HAN},
    };
    for (size_t i = 0; i < MI_COUNT(scripts); i++)
        if (c < scripts[i].below)
            return scripts[i].class;
    return TOKENS_OTHER;
}

static void tokens_other(struct tokens *t, enum tokens_class class)
{
    tokens_begin_run(t, OTHER);
    t->n[class]++;
}

/* The first byte of a character of several; RFC 3629. */
static void tokens_lead(struct tokens *t, unsigned char c)
{
    t->want = c < 0xC2 || c > 0xF4 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    t->code = c & (0x3Fu >> t->want);
    t->low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    t->high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (t->want == 0)
        tokens_other(t, TOKENS_CONTROL);
}

void tokens_add(struct tokens *t, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (t->want == 0)
            i += tokens_ascii(t, p + i, n - i);
        if (i == n)
            return;
        unsigned char c = (unsigned char)p[i];
        if (t->want > 0 && c >= t->low && c <= t->high) {
            t->code = t->code << 6 | (c & 0x3F);
            t->low = 0x80;
            t->high = 0xBF;
            if (--t->want == 0)
                tokens_other(t, tokens_class_of(t->code));
            continue;
        }
        if (t->want > 0) { /* cut off */
            t->want = 0;
            tokens_other(t, TOKENS_CONTROL);
        }
        if (c < 0x80)
            (void)tokens_ascii(t, p + i, 1);
        else
            tokens_lead(t, c);
    }
}

int64_t tokens_count(const struct tokens *t)
{
    struct tokens end = *t;
    int64_t sum = 0;
    if (end.want > 0)
        tokens_other(&end, TOKENS_CONTROL);
    tokens_end_run(&end, START);
    for (size_t i = 0; i < TOKENS_CLASSES; i++)
        sum += end.n[i] * weights[i];
    bool any = end.kind != START;
    sum = (sum + 50) / 100;
    return sum > 0 ? sum : any;
}

int64_t tokens_estimate(const char *p, size_t n)
{
    struct tokens t = {0};
    tokens_add(&t, p, n);
    return tokens_count(&t);
}
