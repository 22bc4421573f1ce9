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

/* The args of the server as argv; argv[0] is empty. */
static char **argv_of(const struct mcpfile *f, const struct mcpfile_server *s)
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
    for (size_t i = 0; argv != NULL && !good && i <= s->args_n; i++)
        free(argv[i]);
    if (!good)
        free(argv);
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
    if (s->odd == NULL && s->command.n > 0)
        mcpfile_string(f, s->command, &v.command);
    const char *command = buf_str(&v.command);
    if (v.command.failed)
        return MI_ENOMEM;
    if (s->odd != NULL)
        v.why = s->odd;
    else if (s->command.n == 0 && s->remote)
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
        char **argv = argv_of(f, s);
        if (argv == NULL) {
            buf_close(&v.command);
            return MI_ENOMEM;
        }
        inspect_args(&v, argv, (int)s->args_n + 1);
        for (size_t i = 0; i <= s->args_n; i++)
            free(argv[i]);
        free(argv);
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

/* "proxy", "--name", "files", "--", "npx" */
static void add_words(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                      const struct wrap_with *with, bool dashes)
{
    buf_adds(&e->text, "\"proxy\", ");
    for (const char *const *o = with->options; *o != NULL; o++) {
        text_json(&e->text, slice_of(*o)); /* valid in TOML, too */
        buf_adds(&e->text, ", ");
    }
    if (dashes)
        buf_adds(&e->text, "\"--\", ");
    add_span(e, f, s->command);
}

/* The line end and indentation before a key; a blank if the key does not start its line. */
static struct slice before_key(const struct mcpfile *f, size_t key)
{
    size_t from = key;
    while (from > 0 && (f->text.p[from - 1] == ' ' || f->text.p[from - 1] == '\t'))
        from--;
    if (from == 0 || f->text.p[from - 1] != '\n')
        return slice_of(" ");
    from -= from > 1 && f->text.p[from - 2] == '\r' ? 2 : 1;
    return (struct slice){f->text.p + from, key - from};
}

/* Adds a member `args` after `command`. */
static void add_member(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                       const struct wrap_with *with)
{
    struct span key = s->command_key;
    if (s->on_line) {
        size_t from = key.at;
        while (from > 0 && (f->text.p[from - 1] == ' ' || f->text.p[from - 1] == '\t'))
            from--;
        bool crlf = from > 1 && f->text.p[from - 2] == '\r';
        buf_adds(&e->text, crlf ? "\r\n" : "\n");
        buf_add(&e->text, f->text.p + from, key.at - from);
    } else {
        buf_addc(&e->text, ',');
        buf_slice_add(&e->text, before_key(f, key.at));
    }
    if (f->toml) { /* servers.x.command: args gets the same prefix */
        size_t n = key.n;
        while (n > 0 && f->text.p[key.at + n - 1] != '.')
            n--;
        buf_add(&e->text, f->text.p + key.at, n);
    }
    buf_adds(&e->text, f->toml ? "args = [" : "\"args\": [");
    add_words(e, f, s, with, false);
    buf_addc(&e->text, ']');
}

bool wrap_redirect(struct edits *e, const struct mcpfile_server *s, const char *program)
{
    if (!begin(e, s->command.at, s->command.n))
        return false;
    text_json(&e->text, slice_of(program));
    end(e);
    return true;
}

bool wrap_add(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
              const struct wrap_with *with)
{
    bool has_args = s->args_key.n > 0;
    size_t at = !has_args        ? s->command_end
                : s->args_n == 0 ? s->args.at + 1
                                 : f->arg[s->first_arg].at;
    if (!wrap_redirect(e, s, with->program) || !begin(e, at, 0))
        return false;
    if (has_args) {
        add_words(e, f, s, with, true);
        if (s->args_n > 0)
            buf_adds(&e->text, ", ");
    } else {
        add_member(e, f, s, with);
    }
    end(e);
    return true;
}

/* Whether add_member() has written `args`. */
static bool is_added(const struct mcpfile *f, const struct mcpfile_server *s)
{
    size_t at = s->command_end;
    const char *text = f->text.p;
    if (s->args_key.at < at)
        return false;
    if (!s->on_line && text[at++] != ',')
        return false;
    while (at < s->args_key.at && isspace((unsigned char)text[at]))
        at++;
    return at == s->args_key.at;
}

/* The end of the last arg, including a trailing comma. */
static size_t words_end(const struct mcpfile *f, const struct mcpfile_server *s)
{
    struct span last = f->arg[s->first_arg + s->args_n - 1];
    size_t at = last.at + last.n;
    size_t close = s->args.at + s->args.n - 1;
    size_t comma = at;
    while (comma < close && isspace((unsigned char)f->text.p[comma]))
        comma++;
    return comma < close && f->text.p[comma] == ',' ? comma + 1 : at;
}

bool wrap_remove(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                 const struct wrap_view *v)
{
    const struct span *word = &f->arg[s->first_arg];
    size_t at = word[0].at;
    size_t to;
    if (v->own + 1 < s->args_n) {
        to = word[v->own + 1].at;
    } else if (!v->dashes && is_added(f, s)) {
        at = s->command_end;
        to = s->args.at + s->args.n;
    } else {
        to = words_end(f, s);
    }
    if (!begin(e, s->command.at, s->command.n))
        return false;
    add_span(e, f, word[v->own]);
    end(e);
    return begin(e, at, to - at);
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
