#include "replay/pointer.h"

#include <stdlib.h>

/* The token's text, with ~0 and ~1 resolved, behind the pointer itself. */
static int take_token(const char **at, struct slice *ret, char **room)
{
    char *to = *room;
    const char *p = *at;
    for (; *p != '\0' && *p != '/'; p++) {
        if (*p != '~') {
            *to++ = *p;
            continue;
        }
        if (p[1] != '0' && p[1] != '1')
            return MI_EINVAL;
        *to++ = *++p == '0' ? '~' : '/';
    }
    *ret = (struct slice){*room, (size_t)(to - *room)};
    *at = p;
    *room = to;
    return 0;
}

static int read_tokens(struct pointer *ptr, const char *text, char *room, struct buf *error)
{
    const char *at = text;
    while (*at == '/') {
        if (ptr->n == POINTER_DEPTH_MAX) {
            buf_printf(error, "'%s' goes deeper than %d levels", text, POINTER_DEPTH_MAX);
            return MI_EINVAL;
        }
        at++;
        if (take_token(&at, &ptr->token[ptr->n++], &room) < 0) {
            buf_printf(error, "'%s': a ~ is written ~0, and a / within a name ~1", text);
            return MI_EINVAL;
        }
    }
    return 0;
}

int pointers_add(struct pointers *p, const char *text, struct buf *error)
{
    if (text[0] != '/') {
        buf_printf(error, "'%s' is no JSON pointer: write it like /arguments/path", text);
        return MI_EINVAL;
    }
    if (p->n == POINTERS_MAX) {
        buf_printf(error, "more than %d pointers", POINTERS_MAX);
        return MI_EFULL;
    }
    struct pointer *list = realloc(p->list, (p->n + 1) * sizeof *list);
    if (list == NULL)
        return MI_ENOMEM;
    p->list = list;
    struct pointer *ptr = &list[p->n];
    *ptr = (struct pointer){.text = malloc(strlen(text) + 1)};
    if (ptr->text == NULL)
        return MI_ENOMEM;
    int st = read_tokens(ptr, text, ptr->text, error);
    if (st < 0) {
        free(ptr->text);
        return st;
    }
    p->n++;
    return 0;
}

void pointers_close(struct pointers *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->list[i].text);
    free(p->list);
    *p = (struct pointers){0};
}

pointer_set pointers_root(const struct pointers *p)
{
    return p->n == 0 ? 0 : UINT64_MAX >> (POINTERS_MAX - p->n);
}

pointer_set pointers_down(const struct pointers *p, pointer_set from, size_t depth,
                          struct slice token)
{
    pointer_set to = 0;
    for (pointer_set left = from; left != 0; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        const struct pointer *ptr = &p->list[i];
        if (ptr->n > depth &&
            (slice_is(ptr->token[depth], "*") || slice_eq(ptr->token[depth], token)))
            to |= (pointer_set)1 << i;
    }
    return to;
}

bool pointers_end(const struct pointers *p, pointer_set set, size_t depth)
{
    for (; set != 0; set &= set - 1)
        if (p->list[__builtin_ctzll(set)].n == depth)
            return true;
    return false;
}

void pointer_print(struct buf *b, struct slice token)
{
    buf_addc(b, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~')
            buf_adds(b, "~0");
        else if (token.p[i] == '/')
            buf_adds(b, "~1");
        else
            buf_addc(b, token.p[i]);
    }
}
