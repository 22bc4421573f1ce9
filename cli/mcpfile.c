#include "cli/mcpfile.h"

#include "base/room.h"
#include "cli/mcpfile_inner.h"
#include "wire/json_text.h"

#include <stdlib.h>

bool mcpfile_fail(struct mcpfile_scan *s, const char *at, const char *why)
{
    if (s->why == NULL) {
        s->why = why;
        s->at = at;
    }
    return false;
}

void mcpfile_push(struct mcpfile_scan *s, struct span key)
{
    if (s->depth < MCPFILE_LEVELS)
        s->level[s->depth] = key;
    s->depth++;
}

void mcpfile_pop(struct mcpfile_scan *s, size_t depth)
{
    s->depth = depth;
}

static struct slice slice_at(const struct mcpfile *f, struct span at)
{
    return (struct slice){f->text.p + at.at, at.n};
}

void mcpfile_string(const struct mcpfile *f, struct span token, struct buf *b)
{
    struct slice raw = slice_at(f, token);
    if (f->toml)
        mcpfile_toml_string(raw, b);
    else if (raw.n >= 2)
        json_unescape(b, (struct slice){raw.p + 1, raw.n - 2});
}

static bool says(struct mcpfile_scan *s, size_t level, const char *text)
{
    struct buf b = {0};
    if (level >= s->depth || s->level[level].n == 0)
        return false;
    mcpfile_string(s->f, s->level[level], &b);
    bool is = !b.failed && slice_is(buf_slice(&b), text);
    s->no_memory |= b.failed;
    buf_close(&b);
    return is;
}

/* The level of the server's name when the path is that of one of its members. 0: it is not. */
static size_t name_level(struct mcpfile_scan *s)
{
    static const char *const places[][4] = {
        {"mcpServers"}, {"servers"}, {"mcp", "servers"}, {"projects", "*", "mcpServers"}};
    static const char *const toml[4] = {"mcp_servers"};
    size_t n = s->f->toml ? 1 : MI_COUNT(places);
    if (s->depth < 3 || s->depth > MCPFILE_LEVELS)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *const *place = s->f->toml ? toml : places[i];
        size_t k = 0;
        while (k < s->depth && place[k] != NULL && (place[k][0] == '*' || says(s, k, place[k])))
            k++;
        if (place[k] == NULL && s->depth == k + 2 && s->level[k].n > 0)
            return k;
    }
    return 0;
}

bool mcpfile_wants_words(struct mcpfile_scan *s)
{
    return name_level(s) > 0 && says(s, s->depth - 1, "args");
}

void mcpfile_word(struct mcpfile_scan *s, struct span token)
{
    struct mcpfile *f = s->f;
    if (!ROOM(f->word, f->words, f->words_cap)) {
        s->no_memory = true;
        return;
    }
    f->word[f->words++] = token;
}

static char *string_at(struct mcpfile_scan *s, size_t level)
{
    struct buf b = {0};
    mcpfile_string(s->f, s->level[level], &b);
    char *text = b.failed ? NULL : strdup(buf_str(&b));
    s->no_memory |= text == NULL;
    buf_close(&b);
    return text;
}

static struct mcpfile_server *server_of(struct mcpfile_scan *s, size_t level)
{
    struct mcpfile *f = s->f;
    char *name = string_at(s, level);
    if (name == NULL)
        return NULL;
    for (size_t i = f->servers; i-- > 0;) {
        if (f->server[i].object == s->object && strcmp(f->server[i].name, name) == 0) {
            free(name);
            return &f->server[i];
        }
    }
    if (!ROOM(f->server, f->servers, f->servers_cap)) {
        free(name);
        s->no_memory = true;
        return NULL;
    }
    struct mcpfile_server *new = &f->server[f->servers++];
    *new = (struct mcpfile_server){.name = name, .object = s->object};
    if (level == 3) /* projects.PATH.mcpServers.NAME */
        new->project = string_at(s, 1);
    return new;
}

static void note_command(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (server->command_key.n > 0)
        server->odd = "it has `command` twice";
    else if (v->type != MCPFILE_STRING)
        server->odd = "its `command` is no string";
    server->command = v->type == MCPFILE_STRING ? v->token : (struct span){0};
    server->command_key = v->key;
    server->command_end = v->end;
    server->on_line = v->on_line;
}

static void note_args(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (server->args_key.n > 0)
        server->odd = "it has `args` twice";
    else if (v->type != MCPFILE_ARRAY || v->mixed)
        server->odd = "its `args` are no list of strings";
    server->args = v->token;
    server->args_key = v->key;
    server->word = v->word;
    server->words = v->words;
}

void mcpfile_note(struct mcpfile_scan *s, const struct mcpfile_value *v)
{
    static const char *const urls[] = {"url", "serverUrl", "httpUrl"};
    size_t level = name_level(s);
    size_t key = s->depth - 1;
    if (level == 0)
        return;
    bool command = says(s, key, "command");
    bool args = !command && says(s, key, "args");
    bool url = false;
    for (size_t i = 0; !command && !args && i < MI_COUNT(urls); i++)
        url |= says(s, key, urls[i]);
    struct mcpfile_server *server = command || args || url ? server_of(s, level) : NULL;
    if (server == NULL)
        return;
    if (command)
        note_command(server, v);
    else if (args)
        note_args(server, v);
    else
        server->remote = true;
}

static void tell(struct mcpfile_scan *s)
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
        mcpfile_fail(&s, text.p, "it has NUL bytes: no text in UTF-8");
    bool good = s.why == NULL && (toml ? mcpfile_scan_toml(&s) : mcpfile_scan_json(&s));
    if (!good)
        tell(&s);
    if (!good || s.no_memory || f->error.failed) {
        int st = s.no_memory || f->error.failed ? MI_ENOMEM : MI_EINVAL;
        return st;
    }
    return 0;
}

void mcpfile_close(struct mcpfile *f)
{
    for (size_t i = 0; i < f->servers; i++) {
        free(f->server[i].name);
        free(f->server[i].project);
    }
    free(f->server);
    free(f->word);
    buf_close(&f->error);
    *f = (struct mcpfile){0};
}
