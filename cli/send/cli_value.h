/* cli_value.h - values that the user gives on the command line: `NAME=VALUE`, `NAME:=JSON`.
 *
 * VALUE     is text. `@FILE` means the content of a file, without one newline at its end, `@-` that
 *           of stdin, `env:NAME` an environment variable. After `:=` the value is JSON, so `:="@x"`
 *           is the text @x.
 * Owns      the values; cli_value_close() frees them. Names are borrowed from the arguments.
 * Errors    MI_EINVAL with a sentence in `error`, which names the argument but never the content of
 *           a file or variable.
 * Blocks    on files. */
#ifndef MI_CLI_SEND_CLI_VALUE_H
#define MI_CLI_SEND_CLI_VALUE_H

#include "base/buf.h"

#define CLI_VALUE_MAX ((size_t)16 << 20) /* maximum size of a value in bytes */

struct cli_value {
    /* name of an argument, or a JSON Pointer; part of the caller's text, or the text of `place` */
    struct slice name;
    /* owned; if the value is a secret that the user typed: its JSON Pointer; otherwise empty */
    struct buf place;
    bool is_json;     /* true: the value is JSON; false: UTF-8 text */
    struct buf value; /* owned */
};

struct cli_value_list {
    struct cli_value *list; /* owned */
    size_t n, cap;
};

/* Whether the word has the form NAME=VALUE or NAME:=JSON, with a NAME that is not empty and
 * contains none of `/`, `:` and `?`. So the URI `x://y?a=b` is not such a word. */
bool cli_value_is_name_value_pair(const char *word);
/* Reads a word. If `pointers`, NAME must be a JSON Pointer. Returns 0, MI_EINVAL or MI_ENOMEM. */
MI_MUST int cli_value_add_word(struct cli_value_list *l, const char *word, bool pointers,
                               struct buf *error);
/* Adds a text for `pointer`, which is copied. The list takes ownership of `value` in any case.
 * Returns 0, MI_EINVAL or MI_ENOMEM. */
MI_MUST int cli_value_add_text(struct cli_value_list *l, struct slice pointer, struct buf *value,
                               struct buf *error);
void cli_value_close(struct cli_value_list *l);

#endif
