/* Schemas, patterns and values that a hostile server makes, and lists of tools with them. The input chooses what is written;
 * a piece of it may be repeated thousands of times. What is measured: the CPU time of compiling and of checking, and the
 * memory in use, against the limits of wire/schema/compile.h. At the end the highest figures are printed. With HOSTILE_SHOW=1 in the
 * environment each schema and value are printed, too.
 *
 * malloc() and free() are replaced by --wrap (Makefile): the memory of PCRE2 is counted because it comes from base/pattern.c. */
#include "base/clock.h"
#include "base/pattern.h"
#include "proxy/session/arguments.h"
#include "tests/fuzz/fuzz.h"
#include "wire/schema/tools.h"

#include <malloc.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define SLOWER 12 /* than without sanitizers */
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

/* In µs of CPU: several times what is measured without the instrumentation of the fuzzer, on a machine that others use, too. */
#define OPEN_MOST_US (150000 * SLOWER)
#define CHECK_MOST_US (50000 * SLOWER)
#define LIVE_MOST_US (ARGUMENTS_CPU_US + 15000 * SLOWER)
/* The quota, and what compiling needs besides: a tree and the names in it, one at a time. */
#define MEMORY_MOST (SCHEMA_BYTES_MAX + ((size_t)40 << 20))
#define TRIES 3 /* the shortest time of several counts: the first may have been disturbed */

/* ---- memory ----------------------------------------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static size_t used, most_used;

static void *count(void *p)
{
    used += p != NULL ? malloc_usable_size(p) : 0;
    most_used = used > most_used ? used : most_used;
    return p;
}

void *__wrap_malloc(size_t n)
{
    return count(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return count(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    size_t before = p != NULL ? malloc_usable_size(p) : 0;
    void *new = __real_realloc(p, n);
    if (new != NULL)
        used -= before;
    return new != NULL ? count(new) : NULL;
}

void __wrap_free(void *p)
{
    used -= p != NULL ? malloc_usable_size(p) : 0;
    __real_free(p);
}

/* ---- the input -------------------------------------------------------------------------------- */

struct input {
    const uint8_t *p;
    size_t n;
};

static unsigned byte(struct input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->p++;
}

static unsigned below(struct input *in, unsigned n)
{
    return byte(in) % n;
}

/* A number of repetitions: mostly few. */
static unsigned times(struct input *in)
{
    static const unsigned many[] = {1, 1, 1, 2, 2, 3, 5, 9, 20, 60, 200, 1000, 5000, 20000, 65000};
    unsigned a = many[below(in, MI_COUNT(many))];
    return a > 9 ? a + below(in, a < 200 ? a : 200) : a;
}

/* A text of several times `piece`; in each, every '`' becomes its number. Ends before `max` bytes. */
static void repeat(struct buf *b, struct slice piece, const char *between, unsigned n, size_t max)
{
    for (unsigned i = 0; i < n && b->n + piece.n + 8 < max; i++) {
        buf_adds(b, i > 0 ? between : "");
        for (size_t k = 0; k < piece.n; k++)
            if (piece.p[k] == '`')
                buf_add_uint(b, i);
            else
                buf_addc(b, piece.p[k]);
    }
}

/* ---- names, patterns, values -------------------------------------------------------------------- */

/* The inside of a JSON string. */
static void write_name(struct input *in, struct buf *b)
{
    static const char *const names[] = {
        "a",    "b",     "n`",    "n`", "\\u0061", "x\\u0061`",      "",    "/",
        "~1~0", "oneOf", "$defs", "0",  "1",       "\\ud83d\\ude00", "%25", "type"};
    const char *name = names[below(in, MI_COUNT(names))];
    unsigned n = below(in, 8) == 0 ? times(in) : 1;
    for (unsigned i = 0; i < n && i < 300000; i++)
        buf_adds(b, name);
}

static void write_pattern(struct input *in, struct buf *b, int depth)
{
    static const char *const atoms[] = {
        "a",     "a",           "b",         ".",         "[ab]",      "[^b]",
        "\\\\w", "\\\\d",       "\\\\p{L}",  "\\\\s",     "^",         "$",
        "\\\\b", "\\\\1",       "\\\\2",     "(?R)",      "(?1)",      "[a-z\\\\p{L}]",
        "\\\\X", "\\\\R",       "(?C1)",     "(*ACCEPT)", "(*SKIP)",   "(*COMMIT)",
        "\\\\K", "[[:alpha:]]", "\\\\u0061", "a`",        "(?(1)a|b)", "(?i)",
        "\\\\G", "\\\\Qaa\\\\E"};
    static const char *const groups[] = {"(",    "(",    "(?:", "(?:", "(?=",    "(?!",
                                         "(?<=", "(?<!", "(?>", "(?|", "(?<n`>", "(*atomic:"};
    static const char *const quantities[] = {"",   "",    "*",    "+",       "?",    "*?",    "+?",
                                             "*+", "{2}", "{0,}", "{1,200}", "{99}", "{1000}"};
    unsigned parts = 1 + below(in, 4);
    for (unsigned i = 0; i < parts && b->n < PATTERN_MAX; i++) {
        if (depth < 9 && below(in, 3) == 0) {
            buf_adds(b, groups[below(in, MI_COUNT(groups))]);
            write_pattern(in, b, depth + 1);
            buf_addc(b, ')');
        } else {
            buf_adds(b, atoms[below(in, MI_COUNT(atoms))]);
        }
        if (below(in, 16) == 0)
            buf_printf(b, "{%u,%u}", below(in, 40), byte(in) * 4);
        else
            buf_adds(b, quantities[below(in, MI_COUNT(quantities))]);
        if (below(in, 5) == 0)
            buf_addc(b, '|');
    }
}

static void write_number(struct input *in, struct buf *b)
{
    static const char *const numbers[] = {
        "0",    "1",     "2",     "-1",        "0.1",    "3.5",
        "1e99", "1e-99", "65000", "123456789", "17e17",  "9007199254740993",
        "1E+2", "-0",    "7",     "0.0000001", "1e1000", "99999999999999999"};
    unsigned n = below(in, 8) == 0 ? times(in) : 0;
    buf_adds(b, numbers[below(in, MI_COUNT(numbers))]);
    if (n > 0 && b->p[b->n - 1] != '0')
        for (unsigned i = 0; i < n; i++)
            buf_adds(b, "17");
}

static void write_string(struct input *in, struct buf *b)
{
    static const char *const pieces[] = {"a",       "aa", "ab", "b",     "é",
                                         "\\u0061", "1",  " ",  "a@b.c", "2026-01-01T00:00:00Z",
                                         "x:",      "n`"};
    buf_addc(b, '"');
    for (unsigned parts = 1 + below(in, 3); parts > 0; parts--) {
        const char *piece = pieces[below(in, MI_COUNT(pieces))];
        repeat(b, slice_of(piece), "", times(in), SCHEMA_VALUE_MAX);
    }
    buf_addc(b, '"');
}

static void write_value(struct input *in, struct buf *b, int depth, size_t max)
{
    struct buf one = {0};
    unsigned n;
    switch (depth < 6 ? below(in, 8) : below(in, 4)) {
    case 0:
        buf_adds(b, below(in, 2) == 0 ? "null" : "true");
        break;
    case 1:
        write_number(in, b);
        break;
    case 2:
    case 3:
        write_string(in, b);
        break;
    case 4: /* levels */
        n = times(in) % 1200;
        write_value(in, &one, depth + 1, max);
        for (unsigned i = 0; i < n; i++)
            buf_addc(b, '[');
        buf_slice_add(b, buf_slice(&one));
        for (unsigned i = 0; i < n; i++)
            buf_addc(b, ']');
        break;
    case 5:
        n = times(in);
        write_value(in, &one, depth + 1, max / 2);
        buf_addc(b, '[');
        repeat(b, buf_slice(&one), ",", n, max);
        buf_addc(b, ']');
        break;
    default:
        n = times(in);
        buf_addc(&one, '"');
        write_name(in, &one);
        buf_adds(&one, "\":");
        write_value(in, &one, depth + 1, max / 2);
        buf_addc(b, '{');
        repeat(b, buf_slice(&one), ",", n, max);
        buf_addc(b, '}');
    }
    buf_close(&one);
}

/* ---- schemas ------------------------------------------------------------------------------------ */

static void write_schema(struct input *in, struct buf *b, int depth);

/* The text of a reference, an anchor or an address. */
static void write_reference(struct input *in, struct buf *b)
{
    static const char *const references[] = {
        "#",     "#/$defs/", "#/$defs/n`", "#/oneOf/`", "#n`",    "n`",    "n`/",   "/n`/",
        "../n`", "x://h/",   "x://h/n`",   "#/anyOf/0", "%23%2F", "#/a/b", "n`/`/", "#/items"};
    buf_addc(b, '"');
    buf_adds(b, references[below(in, MI_COUNT(references))]);
    if (below(in, 4) == 0)
        write_name(in, b);
    buf_addc(b, '"');
}

/* `[` or `{` with several elements or members of one kind. */
static void write_many(struct input *in, struct buf *b, bool named,
                       void (*element)(struct input *, struct buf *, int), int depth)
{
    struct buf one = {0};
    unsigned n = times(in);
    if (named) {
        buf_addc(&one, '"');
        if (below(in, 3) == 0)
            write_pattern(in, &one, depth > 5 ? 5 : depth);
        else
            write_name(in, &one);
        buf_adds(&one, "\":");
    }
    element(in, &one, depth + 1);
    buf_addc(b, named ? '{' : '[');
    repeat(b, buf_slice(&one), ",", n, SCHEMA_TEXT_MAX - 5000);
    if (below(in, 3) == 0) { /* and one that is different */
        if (b->p[b->n - 1] != '[' && b->p[b->n - 1] != '{')
            buf_addc(b, ',');
        buf_adds(b, named ? "\"last\":" : "");
        element(in, b, depth + 1);
    }
    buf_addc(b, named ? '}' : ']');
    buf_close(&one);
}

static void write_string_element(struct input *in, struct buf *b, int depth)
{
    (void)depth;
    buf_addc(b, '"');
    write_name(in, b);
    buf_addc(b, '"');
}

static void write_any(struct input *in, struct buf *b, int depth)
{
    write_value(in, b, depth, SCHEMA_TEXT_MAX / 2);
}

static void write_names(struct input *in, struct buf *b, int depth)
{
    write_many(in, b, false, write_string_element, depth);
}

enum form {
    SCHEMA,
    LIST,
    MAP,
    REFERENCE,
    PATTERN,
    NUMBER,
    NAMES,
    NAMES_OF,
    VALUES,
    VALUE,
    FORMAT,
    DIALECT,
    TRUE
};

static const struct {
    const char *word;
    enum form form;
} words[] = {
    {"$ref", REFERENCE},
    {"$ref", REFERENCE},
    {"$id", REFERENCE},
    {"$anchor", REFERENCE},
    {"pattern", PATTERN},
    {"pattern", PATTERN},
    {"patternProperties", MAP},
    {"patternProperties", MAP},
    {"properties", MAP},
    {"$defs", MAP},
    {"definitions", MAP},
    {"dependentSchemas", MAP},
    {"dependencies", MAP},
    {"allOf", LIST},
    {"anyOf", LIST},
    {"oneOf", LIST},
    {"prefixItems", LIST},
    {"items", LIST},
    {"items", SCHEMA},
    {"items", SCHEMA},
    {"contains", SCHEMA},
    {"additionalProperties", SCHEMA},
    {"additionalItems", SCHEMA},
    {"propertyNames", SCHEMA},
    {"not", SCHEMA},
    {"if", SCHEMA},
    {"then", SCHEMA},
    {"else", SCHEMA},
    {"required", NAMES},
    {"type", NAMES},
    {"dependentRequired", NAMES_OF},
    {"enum", VALUES},
    {"const", VALUE},
    {"minimum", NUMBER},
    {"multipleOf", NUMBER},
    {"maxLength", NUMBER},
    {"minContains", NUMBER},
    {"maxContains", NUMBER},
    {"minItems", NUMBER},
    {"maxProperties", NUMBER},
    {"format", FORMAT},
    {"uniqueItems", TRUE},
    {"required", VALUE},
    {"properties", VALUE},
    {"anyOf", VALUE},
    {"type", VALUE},
    {"$dynamicRef", REFERENCE},
    {"$dynamicAnchor", REFERENCE},
    {"unevaluatedProperties", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"unevaluatedItems", SCHEMA},
    {"$schema", DIALECT},
};

static void write_keyword(struct input *in, struct buf *b, int depth)
{
    static const char *const formats[] = {"\"date-time\"", "\"uri\"",  "\"email\"",
                                          "\"uuid\"",      "\"date\"", "\"regex\""};
    static const char *const dialects[] = {"http://json-schema.org/draft-04/schema#",
                                           "http://json-schema.org/draft-07/schema",
                                           "https://json-schema.org/draft/2019-09/schema",
                                           "https://json-schema.org/draft/2020-12/schema", "x:"};
    unsigned w = below(in, MI_COUNT(words));
    buf_printf(b, "\"%s\":", words[w].word);
    switch (words[w].form) {
    case SCHEMA:
        write_schema(in, b, depth + 1);
        break;
    case LIST:
    case MAP:
        write_many(in, b, words[w].form == MAP, write_schema, depth);
        break;
    case REFERENCE:
        write_reference(in, b);
        break;
    case PATTERN:
        buf_addc(b, '"');
        write_pattern(in, b, 0);
        buf_addc(b, '"');
        break;
    case NUMBER:
        write_number(in, b);
        break;
    case NAMES:
        write_names(in, b, depth);
        break;
    case NAMES_OF:
        write_many(in, b, true, write_names, depth);
        break;
    case VALUES:
        write_many(in, b, false, write_any, depth);
        break;
    case VALUE:
        write_any(in, b, depth);
        break;
    case DIALECT:
        buf_printf(b, "\"%s\"", dialects[below(in, MI_COUNT(dialects))]);
        break;
    case FORMAT:
        buf_adds(b, formats[below(in, MI_COUNT(formats))]);
        break;
    default:
        buf_adds(b, "true");
    }
}

static void write_schema(struct input *in, struct buf *b, int depth)
{
    static const char *const small[] = {
        "{}",
        "true",
        "false",
        "5",
        "{\"$ref\":\"#\"}",
        "{\"type\":\"string\"}",
        "{\"$dynamicAnchor\":\"n\",\"anyOf\":[{\"$dynamicRef\":\"#n\"},{\"$ref\":\"#\"}]}",
        "{\"unevaluatedProperties\":{\"$ref\":\"#\"},\"unevaluatedItems\":{\"$ref\":\"#\"}}"};
    if (depth > 8 || in->n == 0 || b->n > SCHEMA_TEXT_MAX || below(in, 6) == 0) {
        buf_adds(b, small[below(in, MI_COUNT(small))]);
        return;
    }
    unsigned keywords = 1 + below(in, 3), copies = below(in, 12) == 0 ? times(in) : 1;
    struct buf one = {0};
    for (unsigned i = 0; i < keywords; i++) {
        buf_adds(&one, i > 0 ? "," : "");
        write_keyword(in, &one, depth);
    }
    buf_addc(b, '{');
    if (depth == 0 && below(in, 4) == 0)
        buf_adds(b, "\"$schema\":\"http://json-schema.org/draft-07/schema#\",");
    repeat(b, buf_slice(&one), ",", copies, SCHEMA_TEXT_MAX);
    buf_addc(b, '}');
    buf_close(&one);
}

/* ---- measuring ---------------------------------------------------------------------------------- */

static struct {
    uint64_t opened, refused, checked, unknown, lists;
    int64_t open_us, check_us, live_us, list_us;
    size_t memory, quota;
} seen;

static void print_summary(void)
{
    fprintf(stderr,
            "hostile: %llu schemas compiled, %llu refused, slowest %.1f ms; %llu checks, %llu "
            "without a result, slowest %.1f ms, with a "
            "limit of CPU time %.1f ms; %llu lists of tools, slowest call %.1f ms; most memory %zu "
            "KiB, of which schemas and patterns "
            "%zu KiB\n",
            (unsigned long long)seen.opened, (unsigned long long)seen.refused,
            (double)seen.open_us / 1e3, (unsigned long long)seen.checked,
            (unsigned long long)seen.unknown, (double)seen.check_us / 1e3,
            (double)seen.live_us / 1e3, (unsigned long long)seen.lists, (double)seen.list_us / 1e3,
            seen.memory >> 10, seen.quota >> 10);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return atexit(print_summary);
}

#define MOST(a, b) ((a) = (a) > (b) ? (a) : (b))

static void note_memory(size_t before, const struct schema_limits *limits)
{
    MOST(seen.memory, most_used - before);
    MOST(seen.quota, limits->memory.used);
    MUST(limits->memory.used <= SCHEMA_BYTES_MAX);
    MUST(most_used - before <= MEMORY_MOST);
}

/* The time of one check. */
static int64_t check_time(struct schema *s, struct slice value, enum schema_result *ret)
{
    struct schema_fault fault = {{0}, {0}};
    int64_t from = clock_thread_us();
    *ret = schema_check(s, value, &fault);
    int64_t took = clock_thread_us() - from;
    MUST((*ret == SCHEMA_FITS) == (fault.reason.n == 0));
    schema_fault_close(&fault);
    return took;
}

static void check(struct schema *s, struct schema_limits *limits, struct slice value)
{
    enum schema_result first, again;
    int64_t best = INT64_MAX, live = INT64_MAX;
    for (int i = 0; i < TRIES && best > CHECK_MOST_US / 4; i++) {
        int64_t took = check_time(s, value, i == 0 ? &first : &again);
        best = took < best ? took : best;
    }
    limits->cpu_us = ARGUMENTS_CPU_US;
    for (int i = 0; i < TRIES && live > LIVE_MOST_US / 4; i++) {
        int64_t took = check_time(s, value, &again);
        live = took < live ? took : live;
        MUST(again == first || again == SCHEMA_UNKNOWN);
    }
    limits->cpu_us = 0;
    seen.checked++;
    seen.unknown += first == SCHEMA_UNKNOWN;
    MOST(seen.check_us, best);
    MOST(seen.live_us, live);
    MUST(best <= CHECK_MOST_US);
    MUST(live <= LIVE_MOST_US);
}

/* One schema and one value. */
static void try_schema(struct slice schema, struct slice value)
{
    struct schema_limits limits = {.cpu_us = 0};
    struct buf why = {0};
    struct schema *s = NULL;
    size_t before = used;
    int64_t best = INT64_MAX;
    int st = MI_EFULL;
    most_used = used;
    for (int i = 0; i < TRIES && best > OPEN_MOST_US / 4; i++) {
        schema_close(s);
        s = NULL;
        buf_clear(&why);
        int64_t from = clock_thread_us();
        st = schema_open(&s, schema, &limits, &why);
        int64_t took = clock_thread_us() - from;
        best = took < best ? took : best;
    }
    MUST(st == 0 || (why.n > 0 && (st == MI_EFULL || st == MI_EINVAL)));
    MUST(best <= OPEN_MOST_US);
    MOST(seen.open_us, best);
    seen.opened += st == 0;
    seen.refused += st != 0;
    if (st == 0)
        check(s, &limits, value);
    note_memory(before, &limits);
    schema_close(s);
    buf_close(&why);
    MUST(limits.memory.used == 0);
    MUST(used == before);
}

/* A list of tools with this schema for arguments and results, and a call of each with a result. */
static void try_list(struct input *in, struct slice schema, struct slice value)
{
    struct tools t = {.limits = {.cpu_us = ARGUMENTS_CPU_US}};
    struct buf one = {0}, list = {0}, line = {0};
    struct rpc m;
    unsigned n = times(in) % 400;
    size_t before = used;
    buf_adds(&one, "{\"name\":\"t`\",\"inputSchema\":");
    buf_slice_add(&one, schema);
    buf_adds(&one, ",\"outputSchema\":");
    buf_slice_add(&one, schema);
    buf_addc(&one, '}');
    buf_adds(&list, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[");
    repeat(&list, buf_slice(&one), ",", n, 8 * SCHEMA_TEXT_MAX);
    buf_adds(&list, "]}}");
    most_used = used;
    if (rpc_read(buf_slice(&list), &m) == 0)
        tools_add_page(&t, &m, 0);
    for (unsigned i = 0; i < t.n; i++) {
        struct schema_fault fault = {{0}, {0}};
        struct tool *tool;
        buf_clear(&line);
        buf_printf(&line,
                   "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
                   "call\",\"params\":{\"name\":\"t%u\",\"arguments\":",
                   i);
        buf_slice_add(&line, value);
        buf_adds(&line, "}}");
        if (rpc_read(buf_slice(&line), &m) != 0)
            break;
        int64_t from = clock_thread_us();
        (void)tools_check_call(&t, &m, &tool, &fault);
        MOST(seen.list_us, clock_thread_us() - from);
        MUST(t.limits.memory.used <= SCHEMA_BYTES_MAX);
        schema_fault_close(&fault);
    }
    seen.lists++;
    size_t texts = one.cap + list.cap + line.cap + t.bytes + TOOLS_MAX * sizeof(struct tool);
    MOST(seen.quota, t.limits.memory.used);
    MUST(most_used - before <= MEMORY_MOST + 2 * texts);
    tools_close(&t);
    buf_close(&one);
    buf_close(&list);
    buf_close(&line);
    MUST(used == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct input in = {data, n};
    struct json_scan scan;
    struct buf schema = {0}, value = {0};
    unsigned kind = below(&in, 8);
    write_value(&in, &value, 0, SCHEMA_VALUE_MAX);
    write_schema(&in, &schema, 0);
    if (getenv("HOSTILE_SHOW") != NULL)
        printf("%s\n%s\n", buf_str(&schema), buf_str(&value));
    if (!schema.failed && !value.failed && json_scan(buf_slice(&schema), NULL, NULL, &scan) == 0 &&
        json_scan(buf_slice(&value), NULL, NULL, &scan) == 0) {
        if (kind == 0)
            try_list(&in, buf_slice(&schema), buf_slice(&value));
        else
            try_schema(buf_slice(&schema), buf_slice(&value));
    }
    buf_close(&schema);
    buf_close(&value);
    return 0;
}
