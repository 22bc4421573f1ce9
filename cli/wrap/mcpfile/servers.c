#include "cli/wrap/mcpfile/servers.h"

#include "cli/wrap/mcpfile/languages.h"

#include <stdlib.h>

static void report_fault(struct mcpfile_scan *s)
{
    size_t line = 1;
    for (const char *p = s->f->text.p; p < s->at; p++)
        line += *p == '\n';
    buf_printf(&s->f->error, "line %zu: %s", line, s->why);
}

int mcpfile_read(struct mcpfile *f, struct slice text, bool toml)
{
    *f = (struct mcpfile){.text = text, .toml = toml};
    struct mcpfile_scan s = {.f = f, .p = text.p, .end = text.p + text.n};
    if (slice_begins(text, "\xEF\xBB\xBF"))
        s.p += 3;
    if (memchr(text.p, '\0', text.n) != NULL)
        mcpfile_fail(&s, text.p, "unexpected NUL byte: the file must be UTF-8 text");
    bool good = s.why == NULL && (toml ? mcpfile_scan_toml(&s) : mcpfile_scan_json(&s));
    if (!good)
        report_fault(&s);
    if (s.no_memory || f->error.failed)
        return MI_ENOMEM;
    return good ? 0 : MI_EINVAL;
}

void mcpfile_close(struct mcpfile *f)
{
    for (size_t i = 0; i < f->servers; i++) {
        free(f->server[i].name);
        free(f->server[i].project);
    }
    free(f->server);
    free(f->arg);
    buf_close(&f->error);
    *f = (struct mcpfile){0};
}
