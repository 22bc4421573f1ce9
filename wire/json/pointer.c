#include "wire/json/pointer.h"

#include <stdlib.h>

/* ---- writing ---- */

void pointer_add(struct buf *b, struct slice token)
{
    buf_addc(b, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~' || token.p[i] == '/')
            buf_adds(b, token.p[i] == '~' ? "~0" : "~1");
        else
            buf_addc(b, token.p[i]);
    }
}

void pointer_add_index(struct buf *b, size_t index)
{
    buf_addc(b, '/');
    buf_add_uint(b, index);
}

/* ---- reading ---- */

bool pointer_read_next_token(struct slice *rest, struct slice *ret_token)
{
    if (rest->n == 0 || *rest->p != '/')
        return false;
    const char *from = rest->p + 1, *end = rest->p + rest->n;
    const char *slash = memchr(from, '/', (size_t)(end - from));
    const char *to = slash != NULL ? slash : end;
    *ret_token = (struct slice){from, (size_t)(to - from)};
    *rest = (struct slice){to, (size_t)(end - to)};
    return true;
}

bool pointer_unescape(struct buf *b, struct slice token)
{
    bool valid = true;
    for (size_t i = 0; i < token.n; i++) {
        char c = token.p[i];
        if (c == '~' && i + 1 < token.n && (token.p[i + 1] == '0' || token.p[i + 1] == '1'))
            c = token.p[++i] == '0' ? '~' : '/';
        else if (c == '~')
            valid = false;
        buf_addc(b, c);
    }
    return valid;
}

/* ---- matching ---- */

/* Splits the pointer; the tokens are stored in `text`, one after the other. */
static int read_tokens(struct pointer *p, struct slice pointer, struct buf *text, struct buf *error)
{
    size_t at[POINTER_DEPTH_MAX + 1] = {0};
    struct slice token;
    while (pointer_read_next_token(&pointer, &token)) {
        if (p->n == POINTER_DEPTH_MAX) {
            buf_printf(error, "has more than %d levels", POINTER_DEPTH_MAX);
            return MI_EINVAL;
        }
        if (!pointer_unescape(text, token)) {
            buf_adds(error, "is not a JSON pointer: write ~0 for ~, and ~1 for / in a name");
            return MI_EINVAL;
        }
        at[++p->n] = text->n;
    }
    if (text->failed || !buf_reserve(text, 1))
        return MI_ENOMEM;
    for (size_t i = 0; i < p->n; i++)
        p->token[i] = (struct slice){text->p + at[i], at[i + 1] - at[i]};
    p->text = text->p;
    return 0;
}

static int pointers_append_pointer(struct pointers *p, struct slice pointer, struct buf *error)
{
    struct buf text = {0};
    struct pointer *list = realloc(p->list, (p->n + 1) * sizeof *list);
    if (list == NULL)
        return MI_ENOMEM;
    p->list = list;
    list[p->n] = (struct pointer){0};
    int st = read_tokens(&list[p->n], pointer, &text, error);
    if (st == 0)
        p->n++;
    else
        buf_close(&text);
    return st;
}

int pointers_add(struct pointers *p, const char *below, struct slice text, struct buf *error)
{
    struct buf whole = {0}, reason = {0};
    int st;
    if (text.n == 0 || text.p[0] != '/') {
        buf_adds(&reason, "is not a JSON pointer: use the form /arguments/path");
        st = MI_EINVAL;
    } else if (p->n == POINTERS_MAX) {
        buf_printf(&reason, "exceeds the limit of %d pointers", POINTERS_MAX);
        st = MI_EFULL;
    } else {
        buf_adds(&whole, below);
        buf_slice_add(&whole, text);
        st = whole.failed ? MI_ENOMEM : pointers_append_pointer(p, buf_slice(&whole), &reason);
    }
    if (reason.n > 0)
        buf_printf(error, "'%.*s' %s", (int)text.n, text.p, buf_str(&reason));
    buf_close(&whole);
    buf_close(&reason);
    return st;
}

void pointers_close(struct pointers *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->list[i].text);
    free(p->list);
    *p = (struct pointers){0};
}

pointer_set pointers_select_at_root(const struct pointers *p)
{
    return p->n == 0 ? 0 : UINT64_MAX >> (POINTERS_MAX - p->n);
}

pointer_set pointers_select_below_member(const struct pointers *p, pointer_set from, size_t depth,
                                         struct slice member)
{
    pointer_set to = 0;
    for (pointer_set left = from; left != 0; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        const struct pointer *ptr = &p->list[i];
        if (ptr->n > depth &&
            (slice_is(ptr->token[depth], "*") || slice_eq(ptr->token[depth], member)))
            to |= (pointer_set)1 << i;
    }
    return to;
}

pointer_set pointers_select_below_index(const struct pointers *p, pointer_set from, size_t depth,
                                        size_t index)
{
    char digits[24];
    size_t at = sizeof digits;
    if (from == 0)
        return 0;
    do
        digits[--at] = (char)('0' + index % 10);
    while ((index /= 10) != 0);
    return pointers_select_below_member(p, from, depth,
                                        (struct slice){digits + at, sizeof digits - at});
}

bool pointers_any_ends_at_depth(const struct pointers *p, pointer_set set, size_t depth)
{
    for (; set != 0; set &= set - 1)
        if (p->list[__builtin_ctzll(set)].n == depth)
            return true;
    return false;
}
