#include "cli/wrap/wrap_selection.h"

#include "base/log.h"
#include "base/nearest.h"

void wrap_selection_close(struct wrap_selection *w)
{
    buf_close(&w->names);
}

bool wrap_selection_has_client(const struct wrap_selection *w, const char *client)
{
    size_t at = 0;
    if (settings_get_text(w->settings, "client") == NULL)
        return true;
    for (const char *word; (word = settings_next_value(w->settings, "client", &at)) != NULL;)
        if (strcmp(word, client) == 0)
            return true;
    return false;
}

bool wrap_selection_has_server(const struct wrap_selection *w, const char *name)
{
    for (int i = 0; i < w->settings->operands_n; i++)
        if (strcmp(w->settings->operands[i], name) == 0)
            return true;
    return w->settings->operands_n == 0;
}

void wrap_selection_note_found_server(struct wrap_selection *w, const char *name,
                                      enum wrap_found where)
{
    for (int i = 0; i < w->settings->operands_n; i++)
        if (w->seen[i] < where && strcmp(w->settings->operands[i], name) == 0)
            w->seen[i] = where;
    buf_add(&w->names, name, strlen(name) + 1);
}

bool wrap_selection_report_missing(const struct wrap_selection *w)
{
    bool all = true;
    struct slice names = w->names.failed ? (struct slice){0} : buf_slice(&w->names);
    for (int i = 0; i < w->settings->operands_n; i++) {
        const char *word = w->settings->operands[i];
        struct nearest nearest = nearest_begin_search(word);
        for (size_t at = 0; at < names.n; at += strlen(names.p + at) + 1)
            nearest_add_candidate(&nearest, names.p + at);
        all &= w->seen[i] == WRAP_FOUND_HERE;
        if (w->seen[i] == WRAP_FOUND_ELSEWHERE)
            log_error("server '%s' is in a file of another directory; to change it, add --all",
                      word);
        else if (w->seen[i] == WRAP_FOUND_FIXED)
            log_error("server '%s' is in a file that is not changed; for the reason, see: "
                      "mcp-interposer wrap --list --json",
                      word);
        else if (w->seen[i] == WRAP_FOUND_NOWHERE && nearest.best != NULL)
            log_error("unknown server '%s'; did you mean '%s'?", word, nearest.best);
        else if (w->seen[i] == WRAP_FOUND_NOWHERE)
            log_error("unknown server '%s'; see: mcp-interposer wrap --list", word);
    }
    return all;
}
