/* completion_inner.h - what the shells' files share: what the tables say of a command and of an option. completion.c
 * reads them; completion_bash.c, completion_zsh.c and completion_fish.c say it in the words of their shell.
 *
 * Only cli/completion*.c include this. */
#ifndef MI_CLI_COMPLETION_INNER_H
#define MI_CLI_COMPLETION_INNER_H

#include "cli/completion.h"

/* What an option takes. */
enum completion_value {
    VALUE_NONE, /* a flag */
    VALUE_WORDS,
    VALUE_FILE,
    VALUE_DIR,
    VALUE_CLIENT,
    VALUE_TEXT,
};

/* Where the server's command line stands. */
enum completion_server { SERVER_NONE, SERVER_OPERAND, SERVER_BEHIND_DASHES };

enum completion_value completion_value_of(const struct opt *o);
bool completion_many(const struct opt *o); /* it may be given several times */
/* Does the command take an operand of this kind, "SESSION" or "FILE"? */
bool completion_takes(const struct command *c, const char *what);
/* The words of which a command takes one; NULL: it takes none of its own. */
const char *completion_words_of(const struct command *c);
enum completion_server completion_server_of(const struct command *c);

/* a|b, or "a, b": blanks between. */
void completion_add_words(struct buf *b, const char *words);
void completion_add_choices(struct buf *b, const struct opt *o);
/* The names of a command, all of them. */
void completion_add_names(struct buf *b, const struct command *c, const char *between);
void completion_add_all(struct buf *b); /* of every command */

#endif
