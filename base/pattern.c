#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stddef.h>
#include <stdlib.h>

struct pattern {
    pcre2_general_context *memory; /* allocates for PCRE2; NULL: PCRE2 uses malloc() */
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint32_t backreferences; /* highest number of a backreference; 0: there is none */
};

/* Options of PCRE2: for both syntaxes, for ECMA-262, and for PCRE2's own syntax. \C is forbidden,
 * because it would split a character. */
#define BOTH (PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C)
#define ECMA                                                                                       \
    (PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS |                  \
     PCRE2_AUTO_CALLOUT)
#define OWN (PCRE2_MATCH_INVALID_UTF | PCRE2_USE_OFFSET_LIMIT)

/* ---- memory that is counted ------------------------------------------------------------------ */

/* A header in front of each allocation. Its size keeps the alignment. */
union block {
    size_t n; /* size of the allocation, including this header */
    max_align_t align;
};

static void *allocate_from_quota(size_t n, void *quota)
{
    union block *b = NULL;
    size_t all = n + sizeof *b;
    if (!quota_reserve(quota, all))
        return NULL;
    b = malloc(all);
    if (b == NULL) {
        quota_return_bytes(quota, all);
        return NULL;
    }
    b->n = all;
    return b + 1;
}

static void free_and_return_to_quota(void *p, void *quota)
{
    if (p == NULL)
        return;
    union block *b = (union block *)p - 1;
    quota_return_bytes(quota, b->n);
    free(b);
}

/* ---- ECMA-262 -------------------------------------------------------------------------------- */

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

/* The white space of ECMA-262, as members of a character class. \p{Z} must be first and \s last:
 * they cannot begin or end a range, so a hyphen before or after them is taken literally. */
#define SPACES "\\p{Z}\\ufeff\\s"

/* Translates the escape \p{…} or \P{…} that begins at s.p[i]. Returns its length, or 0 if the
 * caller must copy the escape unchanged. */
static size_t translate_unicode_property(struct buf *b, struct slice s, size_t i)
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

/* Translates a regular expression of ECMA-262, as JSON Schema uses it, to the syntax of PCRE2;
 * appends at most 20 bytes for each byte of the expression. \p{Letter} and \p{gc=Lu} become \p{L}
 * and \p{Lu}; \s and \S get the meaning that ECMA-262 gives them. (Inside brackets \S has its ASCII
 * meaning, but \s and \S together still match everything.) All other text is copied, because with
 * the options in ECMA its meaning is the same. */
static void ecma_regex_to_pcre(struct buf *b, struct slice s)
{
    bool class = false;
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        char c = i + 1 < s.n && s.p[i] == '\\' ? s.p[i + 1] : '\0';
        if (c == 'p' || c == 'P') {
            n = translate_unicode_property(b, s, i);
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

/* ---- compiling ------------------------------------------------------------------------------- */

static int pattern_memory_error_code(const struct pattern_rules *rules)
{
    return rules->quota != NULL && rules->quota->refused ? MI_EFULL : MI_ENOMEM;
}

static int pattern_set_compile_error(const struct pattern_rules *rules, int code, size_t at,
                                     struct buf *error)
{
    PCRE2_UCHAR why[160];
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return pattern_memory_error_code(rules);
    if (error != NULL && pcre2_get_error_message(code, why, sizeof why) > 0)
        buf_printf(error, "%s, at character %zu of the expression", (const char *)why, at + 1);
    return MI_EINVAL;
}

static int pattern_compile(struct pattern *p, const struct pattern_rules *rules, struct slice regex,
                           struct buf *error)
{
    int code;
    PCRE2_SIZE at;
    struct buf text = {0};
    pcre2_compile_context *cc = pcre2_compile_context_create(p->memory);
    if (cc == NULL)
        return pattern_memory_error_code(rules);
    if (regex.n > PATTERN_MAX || !rules->ecma) {
        (void)pcre2_set_max_pattern_length(cc, PATTERN_MAX); /* PCRE2 rejects longer expressions */
    } else {
        (void)pcre2_set_compile_extra_options(cc, PCRE2_EXTRA_ALT_BSUX);
        ecma_regex_to_pcre(&text, regex);
        regex = buf_slice(&text);
    }
    p->code = text.failed ? NULL
                          : pcre2_compile((PCRE2_SPTR)regex.p, regex.n,
                                          BOTH | (rules->ecma ? ECMA : OWN), &code, &at, cc);
    pcre2_compile_context_free(cc);
    bool no_text = text.failed;
    buf_close(&text);
    if (no_text)
        return MI_ENOMEM;
    if (p->code == NULL)
        return pattern_set_compile_error(rules, code, at, error);
    if (rules->jit) /* if the system forbids JIT, searches are slower, with the same limits */
        (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    return pcre2_pattern_info(p->code, PCRE2_INFO_BACKREFMAX, &p->backreferences) == 0 ? 0
                                                                                       : MI_EINVAL;
}

int pattern_open(struct pattern **ret, const struct pattern_rules *rules, struct slice regex,
                 struct buf *error)
{
    struct pattern *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    int st = 0;
    if (rules->quota != NULL) {
        rules->quota->refused = false;
        p->memory = pcre2_general_context_create(allocate_from_quota, free_and_return_to_quota,
                                                 rules->quota);
        st = p->memory == NULL ? pattern_memory_error_code(rules) : 0;
    }
    if (st == 0)
        st = pattern_compile(p, rules, regex, error);
    if (st < 0)
        goto fail;
    p->data = pcre2_match_data_create_from_pattern(p->code, p->memory);
    p->context = pcre2_match_context_create(p->memory);
    st = pattern_memory_error_code(rules);
    if (p->data == NULL || p->context == NULL)
        goto fail;
    (void)pcre2_set_match_limit(p->context, rules->steps);
    (void)pcre2_set_depth_limit(p->context, rules->depth);
    (void)pcre2_set_heap_limit(p->context, rules->heap_kib);
    *ret = p;
    return 0;

fail:
    pattern_close(p);
    return st;
}

void pattern_close(struct pattern *p)
{
    if (p == NULL)
        return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    pcre2_general_context_free(p->memory);
    free(p);
}

/* ---- searching ------------------------------------------------------------------------------- */

static enum pattern_result pattern_result_of_pcre(int rc)
{
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NO;
    return rc >= 0 ? PATTERN_YES : PATTERN_GAVE_UP;
}

/* State of a search, for counting its work. */
struct progress {
    struct work *work;
    size_t at;   /* offset in the text at the last callout */
    size_t item; /* steps counted for each item of the expression that PCRE2 tries */
};

/* PCRE2 calls this function before it tries an item of the expression. PCRE2's own limit of steps
 * is not sufficient: its count starts again at each starting point in the text. */
static int pattern_count_match_steps(pcre2_callout_block *b, void *ctx)
{
    struct progress *r = ctx;
    size_t now = b->current_position;
    size_t moved = now > r->at ? now - r->at : r->at - now;
    r->at = now;
    return work_count_steps(r->work, r->item + moved / 8) ? 0 : PCRE2_ERROR_CALLOUT;
}

enum pattern_result pattern_search(struct pattern *p, struct slice text, struct work *w)
{
    /* An item costs more if the expression has backreferences: a backreference may compare many
     * characters although the position does not change. */
    struct progress r = {.work = w, .item = 1 + (p->backreferences > 0 ? text.n / 16 : 0)};
    if (!work_count_steps(w, 20 + text.n / 8))
        return PATTERN_GAVE_UP;
    (void)pcre2_set_callout(p->context, pattern_count_match_steps, &r);
    return pattern_result_of_pcre(pcre2_match(p->code, (PCRE2_SPTR)(text.p != NULL ? text.p : ""),
                                              text.n, 0, 0, p->data, p->context));
}

enum pattern_result pattern_find_match(struct pattern *p, const struct pattern_piece *piece,
                                       struct slice *ret)
{
    struct slice text = piece->text;
    uint32_t options = PCRE2_NOTEMPTY | (piece->more_front ? PCRE2_NOTBOL : 0) |
                       (piece->more_end ? PCRE2_NOTEOL : 0);
    (void)pcre2_set_offset_limit(p->context, piece->limit - 1);
    int rc =
        pcre2_match(p->code, (PCRE2_SPTR)text.p, text.n, piece->from, options, p->data, p->context);
    if (rc < 0)
        return pattern_result_of_pcre(rc);
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(p->data);
    size_t group = rc > 1 && v[2] != PCRE2_UNSET && v[3] > v[2] ? 1 : 0;
    size_t a = v[2 * group], b = v[2 * group + 1];
    /* A group in a lookbehind can match text before piece->from. Such text is not reported as a
     * match. */
    if (b <= a || a < piece->from)
        return PATTERN_NO;
    *ret = (struct slice){text.p + a, b - a};
    return PATTERN_YES;
}

void pattern_append_library_version(struct buf *b)
{
    char text[64]; /* "10.42 2022-12-11" */
    int n = pcre2_config(PCRE2_CONFIG_VERSION, NULL);
    if (n > 0 && (size_t)n <= sizeof text && pcre2_config(PCRE2_CONFIG_VERSION, text) > 0)
        buf_add(b, text, strcspn(text, " "));
    else
        buf_adds(b, "(unknown version)");
}
