#include "cli/ui/prompt.h"

#include "base/text.h"

#include <stdlib.h>

void prompt_set_text(struct prompt *p, const char *text)
{
    struct slice s = text_prefix(slice_of(text), PROMPT_MAX);
    memcpy(p->text, s.p, s.n);
    p->text[s.n] = '\0';
    p->n = p->at = s.n;
    p->proposed = s.n > 0;
    p->back = 0;
}

static size_t prompt_offset_before_char(const struct prompt *p, size_t at)
{
    while (at > 0 && text_is_utf8_continuation(&p->text[--at]))
        continue;
    return at;
}

static size_t prompt_offset_after_char(const struct prompt *p, size_t at)
{
    if (at < p->n)
        at++;
    while (at < p->n && text_is_utf8_continuation(&p->text[at]))
        at++;
    return at;
}

static void prompt_delete_range(struct prompt *p, size_t from, size_t to)
{
    memmove(&p->text[from], &p->text[to], p->n - to + 1);
    p->n -= to - from;
    p->at = from;
}

static size_t prompt_find_word_start(const struct prompt *p)
{
    size_t at = p->at;
    while (at > 0 && p->text[at - 1] == ' ')
        at--;
    while (at > 0 && p->text[at - 1] != ' ')
        at--;
    return at;
}

static void prompt_insert_key(struct prompt *p, int key)
{
    char c[4];
    if (key < ' ' || key == 0x7F || key >= PRESS_UP)
        return;
    size_t n = text_put_utf8_char((uint32_t)key, c);
    if (p->proposed)
        prompt_delete_range(p, 0, p->n);
    if (p->n + n > PROMPT_MAX)
        return;
    memmove(&p->text[p->at + n], &p->text[p->at], p->n - p->at + 1);
    memcpy(&p->text[p->at], c, n);
    p->n += n;
    p->at += n;
}

enum prompt_result prompt_handle_key(struct prompt *p, int key)
{
    switch (key) {
    case PRESS_ENTER:
        return PROMPT_DONE;
    case PRESS_ESCAPE:
        return PROMPT_CANCELLED;
    case PRESS_BACKSPACE:
        if (p->n == 0)
            return PROMPT_CANCELLED;
        prompt_delete_range(p, prompt_offset_before_char(p, p->at), p->at);
        break;
    case PRESS_DELETE:
        prompt_delete_range(p, p->at, prompt_offset_after_char(p, p->at));
        break;
    case PRESS_LEFT:
        p->at = prompt_offset_before_char(p, p->at);
        break;
    case PRESS_RIGHT:
        p->at = prompt_offset_after_char(p, p->at);
        break;
    case PRESS_HOME:
    case PRESS_CTRL('a'):
        p->at = 0;
        break;
    case PRESS_END:
    case PRESS_CTRL('e'):
        p->at = p->n;
        break;
    case PRESS_CTRL('u'):
        prompt_delete_range(p, 0, p->at);
        break;
    case PRESS_CTRL('k'):
        prompt_delete_range(p, p->at, p->n);
        break;
    case PRESS_CTRL('w'):
        prompt_delete_range(p, prompt_find_word_start(p), p->at);
        break;
    default:
        prompt_insert_key(p, key);
    }
    p->proposed = false;
    return PROMPT_EDITED;
}

void prompt_add_to_history(struct prompt_history *h, const char *text)
{
    /* index of the line to replace: a line with the same text or, if there is none, the oldest
     * line */
    size_t at = 0;
    while (at + 1 < PROMPT_KEPT && at < h->n && strcmp(h->line[at], text) != 0)
        at++;
    char *line = text[0] != '\0' ? strdup(text) : NULL;
    if (line == NULL)
        return;
    if (at < h->n)
        free(h->line[at]);
    else
        h->n++;
    memmove(&h->line[1], &h->line[0], at * sizeof h->line[0]);
    h->line[0] = line;
}

void prompt_show_history_line(struct prompt *p, const struct prompt_history *h, bool older)
{
    size_t back = older ? size_min(p->back + 1, h->n) : p->back - (p->back > 0);
    if (back == 1 && p->proposed && strcmp(h->line[0], p->text) == 0)
        /* the line shows the newest line of the history already, so the second newest is next */
        back = size_min(2, h->n);
    if (p->back == 0)
        memcpy(p->typed, p->text, p->n + 1);
    prompt_set_text(p, back > 0 ? h->line[back - 1] : p->typed);
    p->proposed = false;
    p->back = back;
}

void prompt_history_clear(struct prompt_history *h)
{
    for (size_t i = 0; i < h->n; i++)
        free(h->line[i]);
    h->n = 0;
}
