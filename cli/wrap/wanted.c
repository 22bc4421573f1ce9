#include "cli/wrap/wanted.h"

#include "base/log.h"
#include "base/nearest.h"

void wanted_close(struct wanted *w)
{
    buf_close(&w->names);
}

bool wanted_has_client(const struct wanted *w, const char *client)
{
    size_t at = 0;
    if (settings_get_text(w->settings, "client") == NULL)
        return true;
    for (const char *word; (word = settings_next_value(w->settings, "client", &at)) != NULL;)
        if (strcmp(word, client) == 0)
            return true;
    return false;
}

bool wanted_has_server(const struct wanted *w, const char *name)
{
    for (int i = 0; i < w->settings->operands_n; i++)
        if (strcmp(w->settings->operands[i], name) == 0)
            return true;
    return w->settings->operands_n == 0;
}

void wanted_note_server_found(struct wanted *w, const char *name, enum wanted_where where)
{
    for (int i = 0; i < w->settings->operands_n; i++)
        if (w->seen[i] < where && strcmp(w->settings->operands[i], name) == 0)
            w->seen[i] = where;
    buf_add(&w->names, name, strlen(name) + 1);
}

bool wanted_report_missing_servers(const struct wanted *w)
{
    bool all = true;
    struct slice names = w->names.failed ? (struct slice){0} : buf_slice(&w->names);
    for (int i = 0; i < w->settings->operands_n; i++) {
        const char *word = w->settings->operands[i];
        struct nearest nearest = nearest_begin_search(word);
        for (size_t at = 0; at < names.n; at += strlen(names.p + at) + 1)
            nearest_add_candidate(&nearest, names.p + at);
        all &= w->seen[i] == WANTED_HERE;
        if (w->seen[i] == WANTED_ELSEWHERE)
            log_error("server '%s' is in a file of another directory; to change it, add --all",
                      word);
        else if (w->seen[i] == WANTED_FIXED)
            log_error("server '%s' is in a file that is not changed; for the reason, see: "
                      "mcp-interposer wrap --list --json",
                      word);
        else if (w->seen[i] == WANTED_NOWHERE && nearest.best != NULL)
            log_error("unknown server '%s'; did you mean '%s'?", word, nearest.best);
        else if (w->seen[i] == WANTED_NOWHERE)
            log_error("unknown server '%s'; see: mcp-interposer wrap --list", word);
    }
    return all;
}
