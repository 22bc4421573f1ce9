#include "cli/wrap/advice.h"

#include "cli/wrap/which.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void advice_close(struct advice *a)
{
    buf_close(&a->clients);
    buf_close(&a->remotes);
    buf_close(&a->kept);
    buf_close(&a->elsewhere);
    buf_close(&a->lines);
}

static bool advice_mentions_client(struct advice *a, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = buf_str(&a->clients); (p = strstr(p, name)) != NULL; p += n)
        if ((p == buf_str(&a->clients) || p[-1] == ' ') && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

void advice_add_client(struct advice *a, const char *client, const char *path)
{
    bool known = client[0] != '-';
    if (known && advice_mentions_client(a, client))
        return;
    buf_adds(&a->clients, a->clients.n > 0 ? ", " : "");
    buf_printf(&a->clients, known ? "%s" : "the client that reads %s", known ? client : path);
}

static void advice_add_name(struct buf *names, const char *name)
{
    buf_adds(names, names->n > 0 ? ", " : "");
    buf_adds(names, name);
}

void advice_add_remote(struct advice *a, const char *server)
{
    advice_add_name(&a->remotes, server);
}

void advice_add_already_wrapped(struct advice *a, const char *server)
{
    advice_add_name(&a->kept, server);
}

void advice_add_file_elsewhere(struct advice *a, const char *path)
{
    advice_add_name(&a->elsewhere, path);
}

/* Adds one line of advice; the format has no newline. */
MI_FORMAT(2, 3)
static void advice_add_line(struct advice *a, const char *fmt, ...)
{
    char *line;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&line, fmt, ap);
    va_end(ap);
    if (n < 0) {
        a->lines.failed = true;
        return;
    }
    buf_add(&a->lines, line, (size_t)n);
    buf_addc(&a->lines, '\n');
    free(line);
}

void advice_add_portable_file(struct advice *a, const struct launch *l,
                              const struct client_file *where)
{
    const char *path = where->path;
    if (where->kind == CLIENT_FILE_CONTAINER)
        advice_add_line(a, "The servers of %s are started in a container: install %s there.", path,
                        l->by_runner ? l->words[0] : "mcp-interposer");
    else if (l->in_path)
        advice_add_line(a,
                        "%s is in a git work tree: its servers are started by the plain name "
                        "mcp-interposer, so that the file works on other machines.",
                        path);
    else if (!l->by_runner)
        advice_add_line(a,
                        "%s is in a git work tree, and now contains the path %s, because PATH does "
                        "not lead to this program; install it, unwrap and wrap again.",
                        path, l->words[0]);
}

void advice_add_missing_runner(struct advice *a, const struct launch *l,
                               const struct client_file *where)
{
    const char *runner = l->words[0];
    char *dir = where->desktop ? which_find_nonstandard_dir(runner) : NULL;
    if (dir != NULL)
        advice_add_line(a,
                        "%s may not find %s, which is in %s: if its servers do not start, "
                        "install mcp-interposer, unwrap and wrap again.",
                        where->client, runner, dir);
    free(dir);
}

static void print_line(struct out *o, const char *before, struct buf *names, const char *after)
{
    size_t from = o->b.n;
    out_add_raw(o, before);
    if (names != NULL)
        out_add_text(o, buf_slice(names));
    out_add_raw(o, after);
    out_fill_line(o, from, 0);
}

void advice_print(struct advice *a, struct out *o, bool wrapped, bool chosen, const char *program)
{
    bool changed = a->clients.n > 0;
    if (a->clients.failed || a->remotes.failed || a->kept.failed || a->elsewhere.failed ||
        a->lines.failed)
        return;
    if (changed || a->remotes.n > 0 || a->kept.n > 0 || a->elsewhere.n > 0)
        out_end_line(o);
    out_print_paragraphs(o, 0, buf_slice(&a->lines));
    if (a->remotes.n > 0)
        print_line(o, "Servers not changed, because they have a URL: ", &a->remotes,
                   "; wrap --remote connects to them through mcp-remote.");
    if (a->kept.n > 0)
        print_line(o, "Servers not changed, because they were wrapped before: ", &a->kept,
                   "; to give them other deadlines, unwrap them first.");
    struct buf command = {0};
    if (a->elsewhere.n > 0) {
        buf_printf(&command, "; to unwrap these as well: %s unwrap --all", program);
        print_line(o, "Files of other directories whose servers are still wrapped: ", &a->elsewhere,
                   buf_str(&command));
        buf_clear(&command);
    }
    if (changed && wrapped && !chosen) {
        buf_printf(&command, "%s wrap --timeout tool:NAME=5m", program);
        print_line(o,
                   "Calls end after 30 s by default. For a slow tool, set tool:NAME = 5m in "
                   "section [timeout] of the configuration, or unwrap, and then run: ",
                   &command, "");
    }
    buf_clear(&command);
    if (changed && wrapped)
        buf_printf(&command, "; undo with: %s unwrap", program);
    if (changed)
        print_line(o, "Restart these clients: ", &a->clients, buf_str(&command));
    buf_close(&command);
}
