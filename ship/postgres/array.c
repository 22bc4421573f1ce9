#include "ship/postgres/array.h"

#include "base/text.h"

/* bytes of an array's head: number of dimensions, NULL flag, type, number of elements, first
 * index */
#define HEAD 20

static void put_big_endian32(char *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (char)(v >> (24 - 8 * i) & 0xFF);
}

static void add_big_endian32(struct buf *b, uint32_t v)
{
    char bytes[4];
    put_big_endian32(bytes, v);
    buf_add(b, bytes, sizeof bytes);
}

unsigned array_type_oid(enum array_type type)
{
    switch (type) {
    case ARRAY_INT:
        return 1016;
    case ARRAY_TEXT:
        return 1009;
    case ARRAY_BYTES:
        return 1001;
    default:
        return 3643;
    }
}

void array_begin(struct array *a, enum array_type type)
{
    static const char head[HEAD];
    a->type = type;
    a->n = 0;
    a->last = HEAD;
    a->has_null = false;
    buf_clear(&a->b);
    buf_add(&a->b, head, sizeof head);
}

void array_add_int(struct array *a, int64_t v)
{
    a->n++;
    add_big_endian32(&a->b, 8);
    add_big_endian32(&a->b, (uint32_t)((uint64_t)v >> 32));
    add_big_endian32(&a->b, (uint32_t)((uint64_t)v & 0xFFFFFFFF));
}

static bool text_is_storable(struct slice s)
{
    for (size_t i = 0; i < s.n;) {
        size_t n = s.p[i] == '\0' ? 0 : text_utf8_len(s.p + i, s.n - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

void array_add(struct array *a, struct slice v)
{
    a->n++;
    size_t at = a->b.n;
    add_big_endian32(&a->b, (uint32_t)v.n);
    a->last = a->b.n;
    if (a->type != ARRAY_TEXT || text_is_storable(v)) {
        buf_slice_add(&a->b, v);
        return;
    }
    text_append_valid_utf8(&a->b, v);
    if (!a->b.failed)
        put_big_endian32(a->b.p + at, (uint32_t)(a->b.n - at - 4));
}

struct slice array_last_element(const struct array *a)
{
    return (struct slice){buf_slice(&a->b).p + a->last, a->b.n - a->last};
}

/* Each key is followed by a NUL and the number of its positions, in 2 bytes. */
void array_add_keys(struct array *a, const struct search_list *keys)
{
    static const char end[3];
    size_t at = a->b.n;
    a->n++;
    add_big_endian32(&a->b, 0);
    add_big_endian32(&a->b, (uint32_t)keys->n);
    for (size_t i = 0; i < keys->n; i++) {
        buf_slice_add(&a->b, search_list_get_word(keys, i));
        buf_add(&a->b, end, sizeof end);
    }
    if (!a->b.failed)
        put_big_endian32(a->b.p + at, (uint32_t)(a->b.n - at - 4));
}

void array_add_null(struct array *a)
{
    a->n++;
    a->has_null = true;
    add_big_endian32(&a->b, UINT32_MAX);
}

void array_add_cell(struct array *a, const struct cell *c)
{
    if (a->type == ARRAY_INT && c->type == CELL_INT)
        array_add_int(a, c->number);
    else if ((a->type == ARRAY_TEXT && c->type == CELL_TEXT) ||
             (a->type == ARRAY_BYTES && c->type == CELL_BLOB))
        array_add(a, c->text);
    else
        array_add_null(a);
}

struct slice array_finish(struct array *a)
{
    if (a->b.failed)
        return (struct slice){NULL, 0};
    put_big_endian32(a->b.p, a->n > 0 ? 1 : 0); /* number of dimensions: an empty array has none */
    put_big_endian32(a->b.p + 4, a->has_null);
    put_big_endian32(a->b.p + 8, a->type);
    put_big_endian32(a->b.p + 12, a->n);
    put_big_endian32(a->b.p + 16, 1);
    return (struct slice){a->b.p, a->n > 0 ? a->b.n : 12};
}

void array_close(struct array *a)
{
    buf_close(&a->b);
}
