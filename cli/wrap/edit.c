#include "cli/wrap/edit.h"

#include "base/text.h"
#include "cli/proxy/commands.h"
#include "cli/wrap/mcpfile/string.h"

#include <ctype.h>
#include <stdlib.h>

#define WORDS_MAX 4096 /* args of a server */

/* ---- examining ---- */

bool wrap_is_ours(const char *command)
{
    const char *slash = strrchr(command, '/');
    return strcmp(slash != NULL ? slash + 1 : command, "mcp-interposer") == 0;
}

/* Some clients split such a command like a shell; the proxy does not. */
static bool has_blanks(const char *command)
{
    return command[0] != '/' && strpbrk(command, " \t\r\n") != NULL;
}

void wrap_argv_close(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}

char **wrap_argv(const struct mcpfile *f, const struct mcpfile_server *s)
{
    char **argv = calloc(s->args_n + 2, sizeof *argv);
    bool good = argv != NULL;
    for (size_t i = 0; good && i <= s->args_n; i++) {
        struct buf b = {0};
        if (i > 0)
            mcpfile_string(f, f->arg[s->first_arg + i - 1], &b);
        argv[i] = b.failed ? NULL : strdup(buf_str(&b));
        good = argv[i] != NULL;
        buf_close(&b);
    }
    if (!good)
        wrap_argv_close(argv);
    return good ? argv : NULL;
}

/* Parses the args of a server whose command is the interposer, with the option table of `proxy`. */
static void inspect_args(struct wrap_view *v, char **argv, int argc)
{
    struct opt_set set;
    int from = argc > 1 && strcmp(argv[1], "proxy") == 0 ? 2 : 1;
    int next = from;
    v->state = WRAP_ODD;
    v->why = "it runs the interposer, but not as a proxy";
    if (from == 1 && (argc < 2 || argv[1][0] != '-'))
        return; /* another command */
    opt_open(&set, command_proxy.table);
    if (opt_parse(&set, argc, argv, from, NULL, &next) < 0) {
        v->why = "it runs the interposer with unknown options";
    } else if (next < argc) {
        v->state = WRAP_WRAPPED;
        v->why = NULL;
        v->own = (size_t)next - 1;
        v->dashes = next > from && strcmp(argv[next - 1], "--") == 0;
        const char *vault = opt_get(&set, "vault");
        buf_adds(&v->vault, vault != NULL ? vault : "");
    } else {
        v->why = "it runs the interposer without a server";
    }
    opt_close(&set);
}

int wrap_inspect(const struct mcpfile *f, const struct mcpfile_server *s, struct wrap_view *ret)
{
    struct wrap_view v = {.state = WRAP_PLAIN};
    if (s->odd == NULL && s->command.value.n > 0)
        mcpfile_string(f, s->command.value, &v.command);
    const char *command = buf_str(&v.command);
    if (v.command.failed)
        return MI_ENOMEM;
    if (s->odd != NULL)
        v.why = s->odd;
    else if (s->command.key.n == 0 && s->args.key.n == 0 && s->url.key.n > 0)
        v.state = WRAP_REMOTE;
    else if (command[0] == '\0')
        v.why = "it has no command";
    else if (command[0] == '-')
        v.why = "its command begins with a dash";
    else if (has_blanks(command))
        v.why = "its command contains blanks; move the arguments to `args`";
    else if (s->args_n > WORDS_MAX)
        v.why = "it has too many args";
    if (v.why != NULL)
        v.state = WRAP_ODD;
    if (v.state == WRAP_PLAIN && wrap_is_ours(command)) {
        char **argv = wrap_argv(f, s);
        if (argv == NULL) {
            buf_close(&v.command);
            return MI_ENOMEM;
        }
        inspect_args(&v, argv, (int)s->args_n + 1);
        wrap_argv_close(argv);
    }
    if (v.vault.failed) {
        wrap_view_close(&v);
        return MI_ENOMEM;
    }
    *ret = v;
    return 0;
}

void wrap_view_close(struct wrap_view *v)
{
    buf_close(&v->command);
    buf_close(&v->vault);
}

/* ---- editing ---- */

void edits_close(struct edits *e)
{
    buf_close(&e->text);
    e->n = 0;
}

static bool begin(struct edits *e, size_t at, size_t del)
{
    if (e->n == EDITS_MAX)
        return false;
    e->edit[e->n++] = (struct edit){at, del, e->text.n, 0};
    return true;
}

static void end(struct edits *e)
{
    struct edit *last = &e->edit[e->n - 1];
    last->n = e->text.n - last->put;
}

static void add_span(struct edits *e, const struct mcpfile *f, struct span s)
{
    buf_add(&e->text, f->text.p + s.at, s.n);
}

/* "proxy", "--name", "files", "--" */
static void add_words(struct edits *e, const struct wrap_with *with, bool dashes, struct slice sep)
{
    buf_adds(&e->text, "\"proxy\"");
    for (const char *const *o = with->options; *o != NULL; o++) {
        buf_slice_add(&e->text, sep);
        text_json(&e->text, slice_of(*o)); /* valid in TOML and YAML, too */
    }
    if (dashes) {
        buf_slice_add(&e->text, sep);
        buf_adds(&e->text, "\"--\"");
    }
    buf_slice_add(&e->text, sep);
}

/* The offset of the line that contains `at`, if only blanks and dashes are before it there; otherwise `at`. */
static size_t line_start(const struct mcpfile *f, size_t at)
{
    size_t from = at;
    while (from > 0 && strchr(" \t-", f->text.p[from - 1]) != NULL)
        from--;
    return from == 0 || f->text.p[from - 1] == '\n' ? from : at;
}

/* The line end before the offset. */
static const char *line_end_before(const struct mcpfile *f, size_t at)
{
    while (at > 0 && f->text.p[at - 1] != '\n')
        at--;
    return at > 1 && f->text.p[at - 2] == '\r' ? "\r\n" : "\n";
}

/* The line end and indentation before a key; a blank if the key does not start its line. */
static void add_break(struct edits *e, const struct mcpfile *f, size_t key)
{
    size_t from = line_start(f, key);
    if (from == key || from == 0) {
        buf_addc(&e->text, ' ');
        return;
    }
    buf_adds(&e->text, line_end_before(f, key));
    buf_add(&e->text, f->text.p + from, key - from);
}

/* Adds a member `args` after `command`. */
static void add_member(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                       const struct wrap_with *with)
{
    static const char *const names[] = {
        [MCPFILE_JSON] = "\"args\": [", [MCPFILE_TOML] = "args = [", [MCPFILE_YAML] = "args: ["};
    struct span key = s->command.key;
    if (s->command.on_line) {
        size_t from = line_start(f, key.at);
        buf_adds(&e->text, line_end_before(f, key.at));
        buf_add(&e->text, f->text.p + from, key.at - from);
    } else {
        buf_addc(&e->text, ',');
        add_break(e, f, key.at);
    }
    if (f->format == MCPFILE_TOML) { /* servers.x.command: args gets the same prefix */
        size_t n = key.n;
        while (n > 0 && f->text.p[key.at + n - 1] != '.')
            n--;
        buf_add(&e->text, f->text.p + key.at, n);
    }
    buf_adds(&e->text, names[f->format]);
    add_words(e, with, false, slice_of(", "));
    add_span(e, f, s->command.value);
    buf_addc(&e->text, ']');
}

bool wrap_redirect(struct edits *e, const struct mcpfile_server *s, const char *program)
{
    if (!begin(e, s->command.value.at, s->command.value.n))
        return false;
    text_json(&e->text, slice_of(program));
    end(e);
    return true;
}

/* ["npx", "-y"] becomes ["mcp-interposer", "proxy", "--", "npx", "-y"]. */
static bool add_to_array(struct edits *e, const struct mcpfile_server *s,
                         const struct wrap_with *with)
{
    if (!begin(e, s->command.value.at, 0))
        return false;
    text_json(&e->text, slice_of(with->program));
    buf_adds(&e->text, ", ");
    add_words(e, with, true, slice_of(", "));
    end(e);
    return true;
}

/* Before the first string of args. What separates strings: a comma, or in a YAML list with dashes what is before the
 * first one. */
static void add_before_args(struct edits *e, const struct mcpfile *f,
                            const struct mcpfile_server *s, const struct wrap_with *with, size_t at)
{
    struct buf sep = {0};
    if (s->dashes) {
        size_t from = line_start(f, at);
        buf_adds(&sep, line_end_before(f, at));
        buf_add(&sep, f->text.p + from, at - from);
    } else {
        buf_adds(&sep, ", ");
    }
    add_words(e, with, true, buf_slice(&sep));
    add_span(e, f, s->command.value);
    if (s->args_n > 0)
        buf_slice_add(&e->text, buf_slice(&sep));
    e->text.failed |= sep.failed;
    buf_close(&sep);
}

bool wrap_add(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
              const struct wrap_with *with)
{
    if (s->one_array)
        return add_to_array(e, s, with);
    bool has_args = s->args.key.n > 0;
    size_t at = !has_args        ? s->command.end
                : s->args_n == 0 ? s->args.value.at + 1
                                 : f->arg[s->first_arg].at;
    if (!wrap_redirect(e, s, with->program) || !begin(e, at, 0))
        return false;
    if (has_args)
        add_before_args(e, f, s, with, at);
    else
        add_member(e, f, s, with);
    end(e);
    return true;
}

/* Whether add_member() has written `args`. */
static bool is_added(const struct mcpfile *f, const struct mcpfile_server *s)
{
    size_t at = s->command.end;
    const char *text = f->text.p;
    if (s->args.key.at < at)
        return false;
    if (!s->command.on_line && text[at++] != ',')
        return false;
    while (at < s->args.key.at && isspace((unsigned char)text[at]))
        at++;
    return at == s->args.key.at;
}

/* The end of the last arg, including a trailing comma. */
static size_t words_end(const struct mcpfile *f, const struct mcpfile_server *s)
{
    struct span last = f->arg[s->first_arg + s->args_n - 1];
    size_t at = last.at + last.n;
    size_t close = s->args.value.at + s->args.value.n - 1;
    size_t comma = at;
    while (comma < close && isspace((unsigned char)f->text.p[comma]))
        comma++;
    return comma < close && f->text.p[comma] == ',' ? comma + 1 : at;
}

/* Replaces a YAML list with dashes by an empty one. */
static bool empty_list(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s)
{
    size_t at = s->args.key.at + s->args.key.n;
    while (at < s->args.value.at && f->text.p[at] != ':')
        at++;
    at += at < s->args.value.at;
    if (!begin(e, at, s->args.value.at + s->args.value.n - at))
        return false;
    buf_adds(&e->text, " []");
    end(e);
    return true;
}

bool wrap_remove(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                 const struct wrap_view *v)
{
    const struct span *word = &f->arg[s->first_arg];
    size_t at = word[0].at;
    size_t to;
    if (s->one_array) {
        at = s->command.value.at;
        return begin(e, at, word[v->own].at - at);
    }
    bool all = v->own + 1 == s->args_n;
    if (!all) {
        to = word[v->own + 1].at;
    } else if (!v->dashes && is_added(f, s)) {
        at = s->command.end;
        to = s->args.value.at + s->args.value.n;
    } else {
        to = words_end(f, s);
    }
    if (!begin(e, s->command.value.at, s->command.value.n))
        return false;
    add_span(e, f, word[v->own]);
    end(e);
    return all && s->dashes ? empty_list(e, f, s) : begin(e, at, to - at);
}

static int by_place(const void *a, const void *b)
{
    const struct edit *x = a;
    const struct edit *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

void edits_apply_part(const struct edits *e, struct slice old, size_t from, size_t to,
                      struct buf *b)
{
    for (size_t i = 0; i < e->n; i++) {
        const struct edit *edit = &e->edit[i];
        if (edit->at < from || edit->at + edit->del > to)
            continue;
        buf_add(b, old.p + from, edit->at - from);
        if (edit->n > 0)
            buf_add(b, e->text.p + edit->put, edit->n);
        from = edit->at + edit->del;
    }
    buf_add(b, old.p + from, to - from);
}

void edits_apply(struct edits *e, struct slice old, struct buf *b)
{
    qsort(e->edit, e->n, sizeof *e->edit, by_place);
    if (!e->text.failed)
        edits_apply_part(e, old, 0, old.n, b);
    b->failed |= e->text.failed;
}
