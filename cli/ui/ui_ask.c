/* ui_ask.c - asks questions in the footer and acts on their answers. */
#include "cli/ui/ui.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void open_prompt(struct ui *u, enum asking what, const char *text)
{
    u->asking = what;
    prompt_set_text(&u->prompt, text);
}

void ask_yes_no(struct ui *u, const char *question, int (*yes)(struct ui *u))
{
    u->yes_no_question = question;
    u->yes = yes;
    open_prompt(u, ASK_YES_NO, "");
}

void ask_file(struct ui *u, bool call)
{
    char name[PROMPT_MAX + 1];
    const struct query_session *s = ui_get_chosen_session(u);
    struct listed row = {0};
    if (s == NULL || (call && !list_get_selected_call(u, &row)))
        return;
    struct buf safe = {0};
    /* the name becomes part of a file name, so unsafe characters are replaced */
    text_append_visible(&safe, text_prefix(s->name, 60));
    for (size_t i = 0; i < safe.n; i++)
        if (strchr("/\\ ", safe.p[i]) != NULL)
            safe.p[i] = '_';
    if (safe.n > 0 && (safe.p[0] == '-' || safe.p[0] == '.'))
        safe.p[0] = '_';
    if (call)
        snprintf(name, sizeof name, "%s-%lld-%lld.jsonl", buf_str(&safe), (long long)s->number,
                 (long long)row.seq);
    else
        snprintf(name, sizeof name, "%s-%lld.jsonl", buf_str(&safe), (long long)s->number);
    buf_close(&safe);
    open_prompt(u, call ? ASK_EXPORT_CALL : ASK_EXPORT, name);
}

/* Exports the chosen session or, if `call` is true, the selected call. If the file exists and
 * `replace` is false, asks before replacing the file. */
static int export_to_file(struct ui *u, const char *file, bool call, bool replace)
{
    struct stat st;
    struct listed row = {0};
    if (file[0] == '\0' || (call && !list_get_selected_call(u, &row)))
        return 0;
    if (!replace && stat(file, &st) == 0) {
        snprintf(u->file_name, sizeof u->file_name, "%s", file);
        u->replaces_call = call;
        open_prompt(u, ASK_REPLACE, "");
        return 0;
    }
    return outside_run_export(u, file, call ? row.seq : 0, replace);
}

/* Sets the filter. If the filter is invalid, asks for it again, so that the user can correct it. */
static int set_typed_filter(struct ui *u, const char *text)
{
    int st = feed_set_filter(u, text);
    if (st != MI_EINVAL)
        return st;
    open_prompt(u, ASK_FILTER, text);
    u->prompt.proposed = false;
    return 0;
}

/* Goes to what the user typed after `:`. As in vi, `:q` and `:q!` quit. */
static int go_to_typed_target(struct ui *u, const char *to)
{
    const struct view_ops *v = stack_top(u)->view;
    char *end;
    long n = strtol(to, &end, 10);
    if (to[0] == '\0')
        return 0;
    if (strcmp(to, "q") == 0 || strcmp(to, "q!") == 0) {
        u->quit = true;
        return 0;
    }
    int st = v->go != NULL ? v->go(u, to) : VIEW_UNKNOWN;
    if (st != VIEW_UNKNOWN)
        return st;
    if (*end != '\0' || n < 1 || n > INT_MAX) {
        ui_say_error(u, "':%s' is not a number of 1 or more", to);
        return 0;
    }
    st = v->move(u, MOVE_FIRST, -1);
    return st == 0 ? v->move(u, MOVE_ROWS, (int)n - 1) : st;
}

static bool is_yes_word(const char *text)
{
    return strcmp(text, "y") == 0 || strcmp(text, "yes") == 0;
}

static int handle_prompt_answer(struct ui *u, enum asking what, const char *text)
{
    switch (what) {
    case ASK_FILTER:
        return set_typed_filter(u, text);
    case ASK_SEARCH:
        if (text[0] != '\0')
            snprintf(u->search, sizeof u->search, "%s", text);
        if (u->search[0] != '\0')
            stack_top(u)->view->search(u, true);
        return 0;
    case ASK_GO:
        return go_to_typed_target(u, text);
    case ASK_EXPORT:
    case ASK_EXPORT_CALL:
        return export_to_file(u, text, what == ASK_EXPORT_CALL, false);
    case ASK_DIFF:
        return compare_open_view(u, text);
    case ASK_PIPE:
        if (text[0] != '\0') {
            snprintf(u->command, sizeof u->command, "%s", text);
            show_selected_text_in_pager(u, u->command);
        }
        return 0;
    case ASK_REPLACE:
        if (is_yes_word(text))
            return export_to_file(u, u->file_name, u->replaces_call, true);
        ui_say(u, "nothing was written");
        return 0;
    case ASK_YES_NO:
        return is_yes_word(text) ? u->yes(u) : 0;
    case ASK_NOTHING:
    case ASKINGS:
        break;
    }
    return 0;
}

int ask_handle_press(struct ui *u, int key)
{
    enum asking what = u->asking;
    char text[PROMPT_MAX + 1];
    if ((what == ASK_REPLACE || what == ASK_YES_NO) &&
        (key == 'y' || key == 'n')) { /* the keys y and n answer the question without Enter */
        u->asking = ASK_NOTHING;
        return handle_prompt_answer(u, what, key == 'y' ? "y" : "n");
    }
    bool older = key == PRESS_UP || key == PRESS_CTRL('p');
    if (older || key == PRESS_DOWN || key == PRESS_CTRL('n')) {
        prompt_show_history_line(&u->prompt, &u->history[what], older);
        return 0;
    }
    switch (prompt_handle_key(&u->prompt, key)) {
    case PROMPT_DONE:
        prompt_add_to_history(&u->history[what], u->prompt.text);
        u->asking = ASK_NOTHING;
        buf_clear(&u->message);
        u->alarm = false;
        memcpy(text, u->prompt.text, u->prompt.n + 1);
        return handle_prompt_answer(u, what, text);
    case PROMPT_CANCELLED:
        u->asking = ASK_NOTHING;
        break;
    case PROMPT_EDITED:
        break;
    }
    return 0;
}
