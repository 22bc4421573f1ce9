#include "cli/wrap.h"

#include "base/text.h"
#include "cli/command.h"

#include <ctype.h>
#include <stdlib.h>

#define WORDS_MAX 4096 /* of one command line */

/* ---- looking ---- */

bool wrap_is_ours(const char *command)
{
    const char *slash = strrchr(command, '/');
    return strcmp(slash != NULL ? slash + 1 : command, "mcp-interposer") == 0;
}

/* Some clients split such a command like a shell. Behind us nobody would. */
static bool has_blanks(const char *command)
{
    return command[0] != '/' && strpbrk(command, " \t\r\n") != NULL;
}

/* The words of args, as the program would get them behind its own name: argv[1] is the first. */
static char **argv_of(const struct mcpfile *f, const struct mcpfile_server *s)
{
    char **argv = calloc(s->words + 2, sizeof *argv);
    bool good = argv != NULL;
    for (size_t i = 0; good && i <= s->words; i++) {
        struct buf b = {0};
        if (i > 0)
            mcpfile_string(f, f->word[s->word + i - 1], &b);
        argv[i] = b.failed ? NULL : strdup(buf_str(&b));
        good = argv[i] != NULL;
        buf_close(&b);
    }
    for (size_t i = 0; argv != NULL && !good && i <= s->words; i++)
        free(argv[i]);
    if (!good)
        free(argv);
    return good ? argv : NULL;
}

/* Our own command line is read by the rules of the program itself. */
static void look_at_words(struct wrap_view *v, char **argv, int argc)
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
        v->why = "it runs the interposer, with options that it does not know";
    } else if (next < argc) {
        v->state = WRAP_WRAPPED;
        v->why = NULL;
        v->own = (size_t)next - 1;
        v->dashes = next > from && strcmp(argv[next - 1], "--") == 0;
    } else {
        v->why = "it runs the interposer without a server";
    }
    opt_close(&set);
}

int wrap_look(const struct mcpfile *f, const struct mcpfile_server *s, struct wrap_view *ret)
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
        v.why = "its command has blanks; write the command and its args apart";
    else if (s->words > WORDS_MAX)
        v.why = "its args are too many";
    if (v.why != NULL)
        v.state = WRAP_ODD;
    if (v.state == WRAP_PLAIN && wrap_is_ours(command)) {
        char **argv = argv_of(f, s);
        if (argv == NULL) {
            buf_close(&v.command);
            return MI_ENOMEM;
        }
        look_at_words(&v, argv, (int)s->words + 1);
        for (size_t i = 0; i <= s->words; i++)
            free(argv[i]);
        free(argv);
    }
    *ret = v;
    return 0;
}

void wrap_view_close(struct wrap_view *v)
{
    buf_close(&v->command);
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
        text_json(&e->text, slice_of(*o)); /* what it writes is a string of TOML as well */
        buf_adds(&e->text, ", ");
    }
    if (dashes)
        buf_adds(&e->text, "\"--\", ");
    add_span(e, f, s->command);
}

/* The white space in front of a key, from its line's end on; a blank when it stands behind something. */
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

/* `args` becomes a member behind `command`. */
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
    if (f->toml) { /* servers.x.command: what stands before the last dot stays in front */
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
    size_t at = !has_args ? s->command_end : s->words == 0 ? s->args.at + 1 : f->word[s->word].at;
    if (!wrap_redirect(e, s, with->program) || !begin(e, at, 0))
        return false;
    if (has_args) {
        add_words(e, f, s, with, true);
        if (s->words > 0)
            buf_adds(&e->text, ", ");
    } else {
        add_member(e, f, s, with);
    }
    end(e);
    return true;
}

/* Is `args` a member that add_member() has written? */
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

/* Behind the words, and behind a comma that would be left alone. */
static size_t words_end(const struct mcpfile *f, const struct mcpfile_server *s)
{
    struct span last = f->word[s->word + s->words - 1];
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
    const struct span *word = &f->word[s->word];
    size_t at = word[0].at;
    size_t to;
    if (v->own + 1 < s->words) {
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
