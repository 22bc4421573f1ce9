#include "proxy/session/stderr_rule.h"

enum where { BEGINS, ENDS, HAS };

struct rule {
    enum where where;
    const char *text;
    size_t n;
    enum stderr_says says;
    bool final; /* the next process would end with the same error */
};

#define RULE(where, text, says)                                                                    \
    {                                                                                              \
        where, text, sizeof(text) - 1, says, false                                                 \
    }
#define FINAL(where, text)                                                                         \
    {                                                                                              \
        where, text, sizeof(text) - 1, STDERR_REASON_TOP, true                                     \
    }

/* The first rule that matches a line is used. */
static const struct rule rules[] = {
    /* rules for Node.js */
    RULE(BEGINS, "at ", STDERR_DETAIL),
    RULE(BEGINS, "Node.js v", STDERR_DETAIL),
    RULE(BEGINS, "node: ", STDERR_REASON),
    RULE(BEGINS, "node:", STDERR_DETAIL), /* node:internal/modules/cjs/loader:1210 */
    RULE(BEGINS, "(node:", STDERR_DETAIL),
    RULE(BEGINS, "(Use `node ", STDERR_DETAIL),
    RULE(BEGINS, "Emitted 'error' event", STDERR_DETAIL),
    RULE(BEGINS, "Require stack:", STDERR_DETAIL),
    RULE(BEGINS, "[cause]: ", STDERR_CAUSE),
    RULE(BEGINS, "code: '", STDERR_CODE),
    RULE(BEGINS, "FATAL ERROR: ", STDERR_REASON),
    RULE(BEGINS, "----- Native stack trace", STDERR_FRAMES),
    /* Rules for npm, pnpm and yarn. The rules for text after `npm error ` are in a table below. */
    RULE(BEGINS, "npm warn", STDERR_DETAIL),
    RULE(BEGINS, "npm WARN", STDERR_DETAIL),
    RULE(BEGINS, "npm notice", STDERR_DETAIL),
    RULE(HAS, "ERR_PNPM_", STDERR_REASON),
    RULE(BEGINS, "error ", STDERR_REASON_TOP),
    RULE(BEGINS, "info Visit ", STDERR_DETAIL),
    /* rules for Bun and Deno; also for uv, cargo and other programs in Rust */
    RULE(BEGINS, "Bun v", STDERR_DETAIL),
    RULE(BEGINS, "error: could not compile ", STDERR_DETAIL),
    RULE(BEGINS, "error: ", STDERR_REASON_TOP),
    RULE(BEGINS, "error[", STDERR_REASON_TOP),
    RULE(BEGINS, "tip: ", STDERR_DETAIL),
    RULE(BEGINS, "hint: ", STDERR_DETAIL),
    RULE(BEGINS, "note: ", STDERR_DETAIL),
    RULE(BEGINS, "× ", STDERR_REASON),
    RULE(BEGINS, "An executable named ", STDERR_REASON),
    RULE(HAS, " panicked at ", STDERR_REASON),
    RULE(BEGINS, "fatal runtime error: ", STDERR_REASON),
    RULE(BEGINS, "stack backtrace:", STDERR_FRAMES),
    RULE(BEGINS, "Caused by:", STDERR_CAUSE), /* Java writes "Caused by:" as well */
    /* rules for Python */
    RULE(ENDS, "Traceback (most recent call last):", STDERR_TRACEBACK),
    RULE(HAS, ": can't open file '", STDERR_REASON),
    RULE(HAS, ": No module named ", STDERR_REASON),
    RULE(HAS, ": error: ", STDERR_REASON), /* errors of argparse and of compilers */
    RULE(BEGINS, "Aborted!", STDERR_DETAIL),
    RULE(BEGINS, "WARNING: ", STDERR_DETAIL),
    RULE(BEGINS, "[notice] ", STDERR_DETAIL),
    RULE(BEGINS, "ERROR: ", STDERR_REASON_TOP), /* pip */
    /* rules for Docker */
    RULE(BEGINS, "docker: ", STDERR_REASON),
    RULE(HAS, "ocker daemon", STDERR_REASON),
    RULE(BEGINS, "Run 'docker ", STDERR_DETAIL),
    RULE(BEGINS, "See 'docker ", STDERR_DETAIL),
    /* rules for Java and .NET */
    RULE(BEGINS, "Exception in thread \"", STDERR_REASON),
    RULE(BEGINS, "Error occurred during initialization of VM", STDERR_REASON),
    RULE(BEGINS, "Error: Could not create the Java Virtual Machine", STDERR_DETAIL),
    RULE(BEGINS, "Error: A fatal exception has occurred. Program will exit", STDERR_DETAIL),
    RULE(BEGINS, "Unrecognized option: ", STDERR_REASON),
    RULE(BEGINS, "Unrecognized VM option ", STDERR_REASON),
    RULE(BEGINS, "Unhandled exception", STDERR_REASON),
    RULE(BEGINS, "---> ", STDERR_CAUSE),
    RULE(BEGINS, "--- End of inner exception", STDERR_DETAIL),
    /* rules for Go */
    RULE(BEGINS, "panic: ", STDERR_REASON),
    RULE(BEGINS, "fatal error: ", STDERR_REASON),
    RULE(BEGINS, "goroutine ", STDERR_FRAMES),
    RULE(BEGINS, "[signal ", STDERR_DETAIL),
    RULE(BEGINS, "exit status ", STDERR_DETAIL),
    RULE(BEGINS, "flag provided but not defined", STDERR_REASON),
    RULE(BEGINS, "go: downloading ", STDERR_DETAIL),
    RULE(BEGINS, "go: ", STDERR_REASON_TOP),
    /* rules for Ruby, PHP, Perl, Lua and Elixir */
    RULE(ENDS, "Error)", STDERR_REASON),
    RULE(HAS, " (Errno::", STDERR_REASON),
    RULE(HAS, " (Bundler::", STDERR_REASON),
    RULE(BEGINS, "from ", STDERR_DETAIL),
    RULE(BEGINS, "PHP Fatal error: ", STDERR_REASON),
    RULE(BEGINS, "PHP Parse error: ", STDERR_REASON),
    RULE(BEGINS, "Could not open input file: ", STDERR_REASON),
    RULE(BEGINS, "Stack trace:", STDERR_FRAMES),
    RULE(BEGINS, "thrown in ", STDERR_DETAIL),
    RULE(BEGINS, "Can't locate ", STDERR_REASON),
    RULE(BEGINS, "Can't open perl script ", STDERR_REASON),
    RULE(BEGINS, "BEGIN failed--", STDERR_DETAIL),
    RULE(BEGINS, "Compilation failed in require", STDERR_DETAIL),
    RULE(BEGINS, "lua: ", STDERR_REASON),
    RULE(BEGINS, "stack traceback:", STDERR_FRAMES),
    RULE(BEGINS, "** (", STDERR_REASON),
    /* rules for shells, the dynamic linker, the C library and C++ */
    RULE(ENDS, ": not found", STDERR_REASON),
    RULE(HAS, ": command not found", STDERR_REASON),
    RULE(HAS, "executable file not found in ", STDERR_REASON),
    RULE(ENDS, "cannot execute binary file: Exec format error", STDERR_REASON),
    RULE(HAS, "error while loading shared libraries: ", STDERR_REASON),
    RULE(HAS, ": version `GLIBC", STDERR_REASON),
    RULE(BEGINS, "terminate called ", STDERR_REASON),
    RULE(HAS, ": Assertion `", STDERR_REASON),
    RULE(HAS, "ERROR: AddressSanitizer: ", STDERR_REASON),
    RULE(BEGINS, "free(): ", STDERR_REASON),
    RULE(BEGINS, "malloc(): ", STDERR_REASON),
    RULE(BEGINS, "*** stack smashing detected", STDERR_REASON),
    /* rules for programs in any language */
    RULE(BEGINS, "Fatal ", STDERR_REASON),
    RULE(HAS, "atal error: ", STDERR_REASON),
    RULE(BEGINS, "Usage: ", STDERR_DETAIL),
    RULE(BEGINS, "usage: ", STDERR_DETAIL),
    RULE(BEGINS, "Try '", STDERR_DETAIL),
    RULE(BEGINS, "For more information", STDERR_DETAIL),
    RULE(BEGINS, "... ", STDERR_DETAIL),
    RULE(BEGINS, "^", STDERR_DETAIL),
    RULE(BEGINS, "~", STDERR_DETAIL),
    RULE(BEGINS, "#", STDERR_DETAIL), /* a frame of PHP or AddressSanitizer */
    RULE(BEGINS, "}", STDERR_DETAIL),
    RULE(ENDS, "----------------", STDERR_DETAIL),
    RULE(HAS, "rror:", STDERR_MAYBE),
    RULE(HAS, "ERROR", STDERR_MAYBE),
    RULE(HAS, "CRITICAL", STDERR_MAYBE),
    RULE(HAS, "xception", STDERR_MAYBE),
    RULE(HAS, "panic", STDERR_MAYBE),
    RULE(HAS, "fatal", STDERR_MAYBE),
    RULE(HAS, "FATAL", STDERR_MAYBE),
    RULE(HAS, "No such file or directory", STDERR_MAYBE),
    RULE(HAS, "ermission denied", STDERR_MAYBE),
    RULE(HAS, "ddress already in use", STDERR_MAYBE),
    RULE(HAS, "Segmentation fault", STDERR_MAYBE),
};

/* Rules for text after `npm error ` or `npm ERR! `. */
static const struct rule npm_rules[] = {
    RULE(BEGINS, "A complete log of this run", STDERR_DETAIL),
    RULE(BEGINS, "code ", STDERR_DETAIL),
    RULE(BEGINS, "sysc", STDERR_DETAIL), /* syscall */
    RULE(BEGINS, "path ", STDERR_DETAIL),
    RULE(BEGINS, "dest ", STDERR_DETAIL),
    RULE(BEGINS, "errno ", STDERR_DETAIL),
    RULE(BEGINS, "signal ", STDERR_DETAIL),
    /* the program that npm started has failed, and has already printed the reason */
    RULE(BEGINS, "Lifecycle script ", STDERR_DETAIL),
    RULE(BEGINS, "command ", STDERR_DETAIL),
    RULE(BEGINS, "workspace ", STDERR_DETAIL),
    RULE(BEGINS, "location ", STDERR_DETAIL),
    RULE(BEGINS, "Exit status ", STDERR_DETAIL),
    RULE(BEGINS, "Failed at the ", STDERR_DETAIL),
    RULE(BEGINS, "This is probably not a problem with npm", STDERR_DETAIL),
    RULE(BEGINS, " ", STDERR_DETAIL), /* a stack frame, or a command that npm proposes */
    /* a package, version or program does not exist */
    FINAL(BEGINS, "404"),
    FINAL(BEGINS, "notarget"),
    FINAL(BEGINS, "could not determine executable to run"),
    RULE(BEGINS, "", STDERR_REASON_TOP),
};

/* Reasons that continue on the next lines. */
static const struct {
    enum where where;
    const char *text;
    unsigned lines; /* number of further lines that belong to the reason */
} continued[] = {
    {HAS, " validation error", 2}, /* pydantic: two lines, with the field and the error */
    {BEGINS, "No solution found when ", 3},
    {BEGINS, "Error occurred during initialization of VM", 1},
    {BEGINS, "terminate called after throwing ", 1},
    {ENDS, ":", 1},
    {ENDS, "[", 8},
    {ENDS, "{", 8},
};

/* Searches without memmem(), whose preparation costs more than the search of a short line. */
static bool line_contains_text(struct slice line, const char *text, size_t n)
{
    const char *p = line.p, *end = line.p + line.n - n + 1;
    while ((p = memchr(p, text[0], (size_t)(end - p))) != NULL && memcmp(p, text, n) != 0)
        p++;
    return p != NULL;
}

static bool pattern_applies_to_line(enum where where, const char *text, size_t n, struct slice line)
{
    if (n > line.n)
        return false;
    if (where == HAS)
        return line_contains_text(line, text, n);
    const char *at = where == BEGINS ? line.p : line.p + line.n - n;
    /* Usually the first byte differs, and memcmp() is not called. */
    return n == 0 || (at[0] == text[0] && memcmp(at, text, n) == 0);
}

static bool skip_prefix(struct slice *s, const char *text)
{
    size_t n = strlen(text);
    if (!pattern_applies_to_line(BEGINS, text, n, *s))
        return false;
    *s = (struct slice){s->p + n, s->n - n};
    return true;
}

static const struct rule *find_first_matching_rule(const struct rule *r, size_t n,
                                                   struct slice line)
{
    for (size_t i = 0; i < n; i++)
        if (pattern_applies_to_line(r[i].where, r[i].text, r[i].n, line))
            return &r[i];
    return NULL;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '$' || c == ':';
}

/* Returns true for a text such as "ValueError: …", "java.io.IOException: …" or "Error [ERR_X]: …",
 * or for the name of an exception without a message. */
static bool line_mentions_exception(struct slice s)
{
    static const char *const last[] = {"Error", "Exception", "Interrupt", "Rejection", "Fault"};
    struct slice name = {s.p, 0};
    bool found = false;
    while (name.n < s.n && is_name_char(s.p[name.n]))
        name.n++;
    struct slice rest = {s.p + name.n, s.n - name.n};
    bool colon = name.n > 0 && name.p[name.n - 1] == ':';
    name.n -= colon;
    for (size_t i = 0; i < MI_COUNT(last); i++)
        found |= pattern_applies_to_line(ENDS, last[i], strlen(last[i]), name);
    return found && (colon || rest.n == 0 || pattern_applies_to_line(BEGINS, " [", 2, rest));
}

/* Returns true if the line is `code: 'NAME'`, perhaps with a comma; then *s becomes NAME. */
static bool parse_error_code(struct slice *s)
{
    size_t n = 0;
    (void)skip_prefix(s, "code: '");
    while (n < s->n && is_name_char(s->p[n]))
        n++;
    bool whole = n > 0 && s->n - n >= 1 && s->n - n <= 2 && s->p[n] == '\'';
    s->n = n;
    return whole;
}

enum stderr_says stderr_rule_classify(struct slice line, struct slice *ret_text,
                                      const void **ret_rule)
{
    static const char *const decorations[] = {"╰─▶ ", "╰─> ", "├─▶ ", "│ ", "× "};
    static const char *const introductions[] = {"[cause]: ", "Caused by:", "---> "};
    static const struct rule exception = {.says = STDERR_REASON};
    struct slice npm = line;
    const struct rule *r;
    if (skip_prefix(&npm, "npm error") || skip_prefix(&npm, "npm ERR!")) {
        (void)skip_prefix(&npm, " ");
        r = find_first_matching_rule(npm_rules, MI_COUNT(npm_rules), npm);
        r = npm.n == 0 ? &npm_rules[0] : r;
    } else {
        r = find_first_matching_rule(rules, MI_COUNT(rules), line);
    }
    if ((r == NULL || r->says == STDERR_MAYBE) && line_mentions_exception(line))
        r = &exception;
    *ret_text = line;
    *ret_rule = r;
    if (r != NULL && r->says == STDERR_CODE)
        return parse_error_code(ret_text) ? STDERR_CODE : STDERR_DETAIL;
    for (size_t i = 0; i < MI_COUNT(decorations); i++)
        (void)skip_prefix(ret_text, decorations[i]);
    for (size_t i = 0; r != NULL && r->says == STDERR_CAUSE && i < MI_COUNT(introductions); i++)
        (void)skip_prefix(ret_text, introductions[i]);
    return r != NULL ? r->says : STDERR_OTHER;
}

bool stderr_rule_error_will_recur(const void *rule)
{
    const struct rule *r = rule;
    return r != NULL && r->final;
}

unsigned stderr_rule_count_following_lines(struct slice reason)
{
    for (size_t i = 0; i < MI_COUNT(continued); i++)
        if (pattern_applies_to_line(continued[i].where, continued[i].text,
                                    strlen(continued[i].text), reason))
            return continued[i].lines;
    return 0;
}
