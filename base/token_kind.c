#include "base/token_kind.h"

#define O TOKEN_OTHER
#define P TOKEN_PUNCTUATION
#define D TOKEN_DIGIT
#define U TOKEN_UPPER
#define L TOKEN_LOWER
/* clang-format off */
const uint8_t token_kinds[256] = {
    O, O, O, O, O, O, O, O, O, TOKEN_SPACE, TOKEN_NEWLINE, O, O, TOKEN_NEWLINE, O, O, /* controls */
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, /* controls */
    TOKEN_SPACE, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, /* space to / */
    D, D, D, D, D, D, D, D, D, D, P, P, P, P, P, P, /* 0 to ? */
    P, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, /* @ to O */
    U, U, U, U, U, U, U, U, U, U, U, P, P, P, P, P, /* P to _ */
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* ` to o */
    L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, O, /* p to DEL */
};
/* clang-format on */
#undef O
#undef P
#undef D
#undef U
#undef L

enum tokens_class token_class_of_char(uint32_t c)
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
