#include "cli/completion_inner.h"

#include "cli/clients.h"

#include <ctype.h>

static bool is_word(const char *arg, const char *word)
{
    size_t n = strlen(word);
    return strncmp(arg, word, n) == 0 && (arg[n] == '\0' || strcmp(arg + n, "...") == 0);
}

enum completion_value completion_value_of(const struct opt *o)
{
    if (o->arg == NULL)
        return VALUE_NONE;
    if (strchr(o->arg, '|') != NULL)
        return VALUE_WORDS;
    if (is_word(o->arg, "FILE"))
        return VALUE_FILE;
    if (is_word(o->arg, "DIR"))
        return VALUE_DIR;
    return is_word(o->arg, "CLIENT") ? VALUE_CLIENT : VALUE_TEXT;
}

bool completion_many(const struct opt *o)
{
    size_t n = o->arg != NULL ? strlen(o->arg) : 0;
    return n > 3 && strcmp(o->arg + n - 3, "...") == 0;
}

bool completion_takes(const struct command *c, const char *what)
{
    const char *at = c->usage;
    while ((at = strstr(at, what)) != NULL && at - c->usage >= 3 && memcmp(at - 3, "-o ", 3) == 0)
        at++; /* the value of an option */
    return at != NULL && c->operands_max > 0;
}

const char *completion_words_of(const struct command *c)
{
    const char *last = strrchr(c->usage, ' ');
    bool words = last != NULL && strchr(last, '|') != NULL && islower((unsigned char)last[1]);
    return words ? last + 1 : NULL;
}

enum completion_server completion_server_of(const struct command *c)
{
    if (strstr(c->usage, "[--] SERVER") != NULL)
        return SERVER_OPERAND;
    return strstr(c->usage, "-- SERVER") != NULL ? SERVER_BEHIND_DASHES : SERVER_NONE;
}

void completion_add_words(struct buf *b, const char *words)
{
    for (const char *p = words; *p != '\0'; p++)
        if (*p != ',')
            buf_addc(b, *p == '|' ? ' ' : *p);
}

void completion_add_choices(struct buf *b, const struct opt *o)
{
    completion_add_words(b, completion_value_of(o) == VALUE_CLIENT ? client_names() : o->arg);
}

void completion_add_names(struct buf *b, const struct command *c, const char *between)
{
    buf_adds(b, c->name);
    for (const char *at = c->aliases; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        buf_adds(b, between);
        buf_add(b, at, n);
        at += n;
    }
}

void completion_add_all(struct buf *b)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        completion_add_names(b, commands[i], " ");
        buf_addc(b, ' ');
    }
    buf_adds(b, "help");
}
