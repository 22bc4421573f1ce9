#include "vault/query/each.h"

#include "base/clock.h"

static void each_pass_row_to_callback(sqlite3_context *to, int n, sqlite3_value **column)
{
    struct each *e = sqlite3_user_data(to);
    (void)n;
    if (e->status == 0)
        e->status = e->fn(e->ctx, column);
    if (e->status != 0)
        sqlite3_result_error_code(to, SQLITE_ABORT);
}

static void each_finish_without_result(sqlite3_context *to)
{
    (void)to;
}

int each_register_function(sqlite3 *db, struct each *e)
{
    return sqlite3_create_function(db, "each", -1, SQLITE_UTF8, e, NULL, each_pass_row_to_callback,
                                   each_finish_without_result);
}

/* Does not use sqlite3_value_text(), which copies the text to append a NUL. */
struct slice each_get_argument_text(sqlite3_value *v)
{
    const char *p = sqlite3_value_blob(v);
    if (p == NULL)
        return sqlite3_value_type(v) == SQLITE_NULL ? (struct slice){0} : slice_of("");
    return (struct slice){p, (size_t)sqlite3_value_bytes(v)};
}

int64_t each_read_clamped_time(sqlite3_value *v)
{
    return clock_clamp_us(sqlite3_value_int64(v));
}
