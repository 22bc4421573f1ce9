#include "base/ecma.h"

/* The general categories of Unicode whose long names PCRE2 does not know. */
static const struct {
    const char *name, *code;
} categories[] = {
    {"Cased_Letter", "L&"},
    {"Close_Punctuation", "Pe"},
    {"Connector_Punctuation", "Pc"},
    {"Control", "Cc"},
    {"Currency_Symbol", "Sc"},
    {"Dash_Punctuation", "Pd"},
    {"Decimal_Number", "Nd"},
    {"Enclosing_Mark", "Me"},
    {"Final_Punctuation", "Pf"},
    {"Format", "Cf"},
    {"Initial_Punctuation", "Pi"},
    {"LC", "L&"},
    {"Letter", "L"},
    {"Letter_Number", "Nl"},
    {"Line_Separator", "Zl"},
    {"Lowercase_Letter", "Ll"},
    {"Mark", "M"},
    {"Math_Symbol", "Sm"},
    {"Modifier_Letter", "Lm"},
    {"Modifier_Symbol", "Sk"},
    {"Nonspacing_Mark", "Mn"},
    {"Number", "N"},
    {"Open_Punctuation", "Ps"},
    {"Other", "C"},
    {"Other_Letter", "Lo"},
    {"Other_Number", "No"},
    {"Other_Punctuation", "Po"},
    {"Other_Symbol", "So"},
    {"Paragraph_Separator", "Zp"},
    {"Private_Use", "Co"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Spacing_Mark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecase_Letter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercase_Letter", "Lu"},
    {"cntrl", "Cc"},
    {"digit", "Nd"},
    {"punct", "P"},
};

/* The white space of ECMA-262, as members of a character class. \p{Z} must be first and \s last: they cannot begin or
 * end a range, so a hyphen before or after them is taken literally. */
#define SPACES "\\p{Z}\\ufeff\\s"

/* Translates the escape \p{…} or \P{…} that begins at s.p[i]. Returns its length, or 0 if the caller must copy the
 * escape unchanged. */
static size_t translate_property(struct buf *b, struct slice s, size_t i)
{
    const char *end = i + 2 < s.n && s.p[i + 2] == '{' ? memchr(s.p + i, '}', s.n - i) : NULL;
    if (end == NULL)
        return 0;
    struct slice name = {s.p + i + 3, (size_t)(end - s.p) - i - 3};
    const char *equals = name.n > 0 ? memchr(name.p, '=', name.n) : NULL;
    struct slice left = {name.p, equals != NULL ? (size_t)(equals - name.p) : 0};
    if (slice_is(left, "gc") || slice_is(left, "General_Category"))
        name = (struct slice){equals + 1, name.n - left.n - 1};
    buf_add(b, s.p + i, 3);
    size_t before = b->n;
    for (size_t c = 0; c < MI_COUNT(categories); c++)
        if (slice_is(name, categories[c].name))
            buf_adds(b, categories[c].code);
    if (b->n == before)
        buf_slice_add(b, name);
    buf_addc(b, '}');
    return (size_t)(end - s.p) - i + 1;
}

void ecma_regex_to_pcre(struct buf *b, struct slice s)
{
    bool class = false;
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        char c = i + 1 < s.n && s.p[i] == '\\' ? s.p[i + 1] : '\0';
        if (c == 'p' || c == 'P') {
            n = translate_property(b, s, i);
        } else if (c == 's' || (c == 'S' && !class)) {
            buf_adds(b, class ? SPACES : c == 's' ? "[" SPACES "]" : "[^" SPACES "]");
            n = 2;
        }
        if (n == 0) {
            n = c != '\0' ? 2 : 1;
            buf_add(b, s.p + i, n);
        }
        class = n == 1 ? s.p[i] == '[' || (class && s.p[i] != ']') : class;
        i += n;
    }
}
