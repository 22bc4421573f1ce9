#include "vault/store/commitment.h"

#include "vault/store/connect.h"

void commitment_add_columns(struct record *r, sqlite3_stmt *q, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (sqlite3_column_type(q, i) == SQLITE_INTEGER)
            record_add_number(r, sqlite3_column_int64(q, i));
        else
            record_add_text(r, connect_column(q, i));
}

int commitment_count_tail_columns(sqlite3_stmt *q, int first, enum bundle_kind kind)
{
    int n = (int)bundle_shape[kind].tail;
    while (n > 0 && sqlite3_column_type(q, first + n - 1) == SQLITE_NULL)
        n--;
    return n;
}

struct digest commitment_compute_from_row(sqlite3_stmt *q, int first, enum bundle_kind kind,
                                          const struct salt *salt)
{
    const struct bundle_shape *shape = &bundle_shape[kind];
    struct record r;
    struct digest d;
    record_begin_digest(&r, salt, shape->name);
    commitment_add_columns(&r, q, first,
                           (int)shape->n +
                               commitment_count_tail_columns(q, first + (int)shape->n, kind));
    record_finish_digest(&r, &d);
    return d;
}

bool commitment_cut_added_names(struct slice *finding, struct slice names)
{
    if (finding->p == NULL || names.p == NULL || finding->n < names.n ||
        memcmp(finding->p + finding->n - names.n, names.p, names.n) != 0)
        return false;
    size_t left = finding->n - names.n;
    if (left == 0)
        *finding = (struct slice){0};
    else if (finding->p[left - 1] == ',')
        finding->n = left - 1;
    else
        return false;
    return true;
}

static bool commitment_copy_blob(sqlite3_stmt *q, int i, void *ret, size_t n)
{
    struct slice bytes = connect_column(q, i);
    if (sqlite3_column_type(q, i) != SQLITE_BLOB || bytes.n != n)
        return false;
    memcpy(ret, bytes.p, n);
    return true;
}

bool commitment_read_salt(sqlite3_stmt *q, int i, struct salt *ret)
{
    return commitment_copy_blob(q, i, ret->b, SALT_N);
}

bool commitment_read_digest(sqlite3_stmt *q, int i, struct digest *ret)
{
    return commitment_copy_blob(q, i, ret->b, DIGEST_N);
}

struct slice commitment_get_digest_bytes(const struct digest *d)
{
    return (struct slice){(const char *)d->b, DIGEST_N};
}

struct slice commitment_get_salt_bytes(const struct salt *s)
{
    return (struct slice){(const char *)s->b, SALT_N};
}
