#include "cli/send/cli_value.h"

#include "base/grow.h"
#include "base/read_all.h"
#include "base/text.h"
#include "wire/json/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Splits a word at its first `=` or `:=`. */
static bool cli_value_split_word(const char *word, struct slice *ret_name, bool *ret_is_json,
                                 const char **ret_value)
{
    const char *eq = strchr(word, '=');
    if (eq == NULL)
        return false;
    *ret_is_json = eq > word && eq[-1] == ':';
    *ret_name = (struct slice){word, (size_t)(eq - word) - *ret_is_json};
    *ret_value = eq + 1;
    return true;
}

bool cli_value_is_name_value_pair(const char *word)
{
    struct slice name;
    bool is_json;
    const char *value;
    if (!cli_value_split_word(word, &name, &is_json, &value) || name.n == 0)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (strchr("/:?", name.p[i]) != NULL)
            return false;
    return true;
}

/* ---- values ---- */

static bool slice_is_utf8_without_nul(struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        size_t len = text_utf8_len(s.p + i, s.n - i);
        if (len == 0 || s.p[i] == '\0')
            return false;
        i += len;
    }
    return true;
}

static int cli_value_read_file(const char *path, struct buf *b, struct buf *error)
{
    int e = strcmp(path, "-") == 0 ? read_all(STDIN_FILENO, CLI_VALUE_MAX, b)
                                   : read_all_of_file(path, CLI_VALUE_MAX, b);
    if (e == 0 || e == ENOMEM)
        return e == 0 ? 0 : MI_ENOMEM;
    buf_adds(error, "cannot read ");
    text_append_visible(error, slice_of(path));
    buf_printf(error, ": %s", strerror(e));
    return MI_EINVAL;
}

static int read_value(struct cli_value *g, const char *value, struct buf *error)
{
    if (value[0] == '@') {
        int st = cli_value_read_file(value + 1, &g->value, error);
        if (st == 0 && !g->is_json && g->value.n > 0 && g->value.p[g->value.n - 1] == '\n')
            g->value.n--;
        return st;
    }
    if (strncmp(value, "env:", 4) == 0) {
        const char *found = getenv(value + 4);
        if (found == NULL) {
            buf_adds(error, "the environment has no variable ");
            text_append_visible(error, slice_of(value + 4));
            return MI_EINVAL;
        }
        value = found;
    }
    buf_adds(&g->value, value);
    return g->value.failed ? MI_ENOMEM : 0;
}

static int check_value(const struct cli_value *g, struct buf *error)
{
    struct json_scan scan;
    if (g->is_json && json_scan(buf_slice(&g->value), NULL, NULL, &scan) < 0) {
        buf_printf(error, "the value is not JSON: %s at byte %zu", json_fault_text(scan.fault.kind),
                   scan.fault.at);
        return MI_EINVAL;
    }
    if (!slice_is_utf8_without_nul(buf_slice(&g->value))) {
        buf_adds(error, "the value is not UTF-8 text");
        return MI_EINVAL;
    }
    return 0;
}

/* ---- the list ---- */

static int read_name_and_value(struct cli_value *g, const char *word, bool pointers,
                               struct buf *error)
{
    const char *value;
    if (!cli_value_split_word(word, &g->name, &g->is_json, &value) ||
        (!pointers && g->name.n == 0)) {
        buf_adds(error, pointers ? "expected POINTER=VALUE, such as /arguments/path=/tmp/a"
                                 : "expected NAME=VALUE");
        return MI_EINVAL;
    }
    if (pointers && g->name.n > 0 && g->name.p[0] != '/') {
        buf_adds(error, "is not a JSON pointer: use the form /arguments/path=VALUE");
        return MI_EINVAL;
    }
    int st = read_value(g, value, error);
    return st < 0 ? st : check_value(g, error);
}

int cli_value_add_word(struct cli_value_list *l, const char *word, bool pointers, struct buf *error)
{
    struct cli_value g = {0};
    struct buf reason = {0};
    int st = read_name_and_value(&g, word, pointers, &reason);
    if (st == 0 && !GROW(l->list, l->n, l->cap))
        st = MI_ENOMEM;
    if (st == 0) {
        l->list[l->n++] = g;
    } else {
        buf_close(&g.value);
        buf_addc(error, '\'');
        text_append_visible(error, g.name.p != NULL ? g.name : slice_of(word));
        buf_printf(error, "': %s", buf_str(&reason));
    }
    buf_close(&reason);
    return st;
}

int cli_value_add_text(struct cli_value_list *l, struct slice pointer, struct buf *value,
                       struct buf *error)
{
    struct cli_value g = {.value = *value};
    *value = (struct buf){0};
    buf_slice_add(&g.place, pointer);
    g.name = buf_slice(&g.place);
    int st = g.place.failed || g.value.failed ? MI_ENOMEM : check_value(&g, error);
    if (st == 0 && !GROW(l->list, l->n, l->cap))
        st = MI_ENOMEM;
    if (st == 0) {
        l->list[l->n++] = g;
        return 0;
    }
    buf_close(&g.value);
    buf_close(&g.place);
    return st;
}

void cli_value_close(struct cli_value_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        buf_close(&l->list[i].value);
        buf_close(&l->list[i].place);
    }
    free(l->list);
    *l = (struct cli_value_list){0};
}
