#include "cli/wrap/advice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void advice_close(struct advice *a)
{
    buf_close(&a->clients);
    buf_close(&a->lines);
}

static bool is_named(struct advice *a, const char *name)
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
    if (known && is_named(a, client))
        return;
    buf_adds(&a->clients, a->clients.n > 0 ? ", " : "");
    buf_printf(&a->clients, known ? "%s" : "the client that reads %s", known ? client : path);
}

void advice_add_line(struct advice *a, const char *fmt, ...)
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

static void print_lines(struct out *o, struct slice text)
{
    while (text.n > 0) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end != NULL ? (size_t)(end - text.p) : text.n;
        out_text(o, (struct slice){text.p, n});
        out_end_line(o);
        n = size_min(n + 1, text.n);
        text = (struct slice){text.p + n, text.n - n};
    }
}

void advice_print(struct advice *a, struct out *o, bool wrapped)
{
    if (a->clients.n == 0 || a->clients.failed || a->lines.failed)
        return;
    out_end_line(o);
    print_lines(o, buf_slice(&a->lines));
    if (wrapped) {
        out_raw(o, "A call that is not answered within 30 s gets an error. For a slow tool, in the "
                   "configuration file:");
        out_end_line(o);
        out_raw(o, "[timeout] tool:NAME = 10m; for every call of a server: --timeout 10m after "
                   "`proxy` in its arguments.");
        out_end_line(o);
    }
    out_raw(o, "Restart these clients: ");
    out_text(o, buf_slice(&a->clients));
    out_raw(o, wrapped ? "; undo with: mcp-interposer unwrap" : "");
    out_end_line(o);
}
