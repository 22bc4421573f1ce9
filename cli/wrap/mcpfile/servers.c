#include "cli/wrap/mcpfile/servers.h"

#include "cli/wrap/mcpfile/languages.h"

#include <stdlib.h>

enum mcpfile_format mcpfile_format_by_name(const char *path)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (strcmp(slash != NULL ? slash + 1 : path, ".mcp.json") == 0)
        return MCPFILE_BARE;
    if (dot == NULL || strchr(dot, '/') != NULL)
        return MCPFILE_JSON;
    if (strcmp(dot, ".toml") == 0)
        return MCPFILE_TOML;
    return strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 ? MCPFILE_YAML : MCPFILE_JSON;
}

/* Sets the error of the configuration file to the first error of the scan. */
static void report_scan_error(struct mcpfile_scan *s)
{
    size_t line = 1;
    for (const char *p = s->f->text.p; p < s->at; p++)
        line += *p == '\n';
    buf_printf(&s->f->error, "line %zu: %s", line, s->why);
}

static void free_server(struct mcpfile_server *server)
{
    free(server->name);
    free(server->project);
}

/* Drops tables that are not servers, because they have neither command nor URL: for example the
 * settings of an extension. */
static void drop_non_servers(struct mcpfile *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->servers; i++) {
        struct mcpfile_server *s = &f->server[i];
        if (s->command.key.n > 0 || s->args.key.n > 0 || s->url.key.n > 0)
            f->server[n++] = *s;
        else
            free_server(s);
    }
    f->servers = n;
}

int mcpfile_read_servers(struct mcpfile *f, struct slice text, enum mcpfile_format format)
{
    static bool (*const scan[])(struct mcpfile_scan *) = {
        [MCPFILE_JSON] = mcpfile_scan_json,
        [MCPFILE_TOML] = mcpfile_scan_toml,
        [MCPFILE_YAML] = mcpfile_scan_yaml,
    };
    bool bare = format == MCPFILE_BARE;
    format = bare ? MCPFILE_JSON : format;
    *f = (struct mcpfile){.text = text, .format = format};
    const char *begin = text.p + (slice_begins(text, "\xEF\xBB\xBF") ? 3 : 0);
    struct mcpfile_scan s = {.f = f, .p = begin, .end = text.p + text.n};
    if (memchr(text.p, '\0', text.n) != NULL)
        mcpfile_fail(&s, text.p, "unexpected NUL byte: the file must be UTF-8 text");
    bool good = s.why == NULL && scan[format](&s) && s.why == NULL;
    if (!good)
        report_scan_error(&s);
    drop_non_servers(f);
    if (good && bare && f->servers == 0 && !s.has_list) {
        s.p = begin;
        s.bare = true;
        good = scan[format](&s) && s.why == NULL;
        if (!good)
            report_scan_error(&s);
        drop_non_servers(f);
    }
    if (s.no_memory || f->error.failed)
        return MI_ENOMEM;
    return good ? 0 : MI_EINVAL;
}

void mcpfile_close(struct mcpfile *f)
{
    for (size_t i = 0; i < f->servers; i++)
        free_server(&f->server[i]);
    free(f->server);
    free(f->arg);
    free(f->header);
    buf_close(&f->error);
    *f = (struct mcpfile){0};
}
