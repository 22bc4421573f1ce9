#include "cli/doctor/deadline_rules.h"

#include "base/grow.h"
#include "cli/settings/deadlines.h"
#include "wire/mcp/method.h"

#include <stdlib.h>

/* Reads the rules of a proxy with these arguments. Returns 0, MI_ENOMEM, MI_EINVAL, or MI_ENOENT if
 * the configuration file is invalid, which another check reports. */
static int read_server_rules(const struct rules *r, int argc, char **argv, struct rules_server *ret,
                             struct buf *error)
{
    struct settings s;
    int st = MI_EINVAL;
    const struct command *proxy = command_find(r->settings->commands, "proxy");
    switch (settings_read_all_sources(&s, r->settings->commands, proxy, argc, argv, error)) {
    case SETTINGS_READY:
        *ret = (struct rules_server){.max_us = settings_duration_us(&s, "max-timeout")};
        if (s.operands_n > 0)
            server_name_choose(settings_get_text(&s, "name"), s.operands, ret->name);
        st = settings_read_deadlines(&s, &ret->deadlines, error);
        if (st < 0)
            deadlines_close(&ret->deadlines);
        if (st == MI_EFULL)
            st = MI_EINVAL;
        break;
    case SETTINGS_BAD_FILE:
        st = settings_get_text(&s, "config") != NULL ? MI_EINVAL : MI_ENOENT;
        break;
    case SETTINGS_HELP:
        buf_adds(error, "the command has the option --help, so it starts no server");
        break;
    case SETTINGS_INVALID:
        break;
    case SETTINGS_NO_MEMORY:
        st = MI_ENOMEM;
        break;
    }
    settings_close(&s);
    return st;
}

int rules_add_server(struct rules *r, int argc, char **argv, struct buf *error)
{
    if (!GROW(r->server, r->n, r->cap))
        return MI_ENOMEM;
    int st = read_server_rules(r, argc, argv, &r->server[r->n], error);
    r->n += st == 0;
    return st == MI_ENOENT ? 0 : st;
}

int rules_open(struct rules *r, const struct settings *s)
{
    static char command[] = "proxy", option[] = "--config";
    const char *config = settings_get_text(s, "config");
    char *file = config != NULL ? strdup(config) : NULL;
    char *argv[] = {command, file != NULL ? option : NULL, file, NULL};
    struct buf error = {0};
    *r = (struct rules){.settings = s};
    int st = config != NULL && file == NULL
                 ? MI_ENOMEM
                 : read_server_rules(r, file != NULL ? 3 : 1, argv, &r->others, &error);
    if (st < 0)
        deadlines_open(&r->others.deadlines);
    buf_close(&error);
    free(file);
    return st == MI_ENOMEM ? st : 0;
}

void rules_close(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        deadlines_close(&r->server[i].deadlines);
    deadlines_close(&r->others.deadlines);
    free(r->server);
    *r = (struct rules){0};
}

static int64_t get_shorter_deadline(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static int64_t rules_get_server_deadline(const struct rules_server *s, struct slice tool)
{
    struct slice call = slice_of("tools/call");
    return get_shorter_deadline(deadline_of_request(&s->deadlines, method_flags(call), call, tool),
                                s->max_us);
}

int64_t rules_find_deadline(const struct rules *r, struct slice server, struct slice tool)
{
    int64_t us = 0;
    bool wrapped = false;
    for (size_t i = 0; i < r->n; i++) {
        if (!slice_is(server, r->server[i].name))
            continue;
        us = get_shorter_deadline(us, rules_get_server_deadline(&r->server[i], tool));
        wrapped = true;
    }
    return wrapped ? us : rules_get_server_deadline(&r->others, tool);
}
