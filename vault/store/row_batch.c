#include "vault/store/row_batch.h"

#include "model/values.h"
#include "vault/store/batch_table.h"

#include <stdlib.h>

/* Indexes of the columns, in the order of `declaration`. */
#define NUMBERED(name, ...) C_##name,
enum column { C_ID, C_SESSION_ID, MESSAGE_FIELDS(NUMBERED) C_SALT, C_COMMITMENT };

static const char declaration[] =
    "CREATE TABLE row_batch (id, session_id" MESSAGE_FIELDS(FIELD_NAME) ", salt, commitment)";

int row_batch_open(struct row_batch *b)
{
    *b = (struct row_batch){.usual = true,
                            .row = malloc(ROW_BATCH_ROWS * sizeof *b->row),
                            .text = malloc(ROW_BATCH_BYTES + ROW_BATCH_ROW_MAX)};
    if (b->row != NULL && b->text != NULL)
        return 0;
    row_batch_close(b);
    return MI_ENOMEM;
}

void row_batch_close(struct row_batch *b)
{
    free(b->row);
    free(b->text);
    *b = (struct row_batch){0};
}

void row_batch_clear(struct row_batch *b)
{
    b->n = b->text_n = 0;
    b->usual = true;
}

#define RARE_OWN 0
#define RARE_SAME 0
#define RARE_RARE 1
/* For a column that model/records.h marks as RARE, expands to `&&` and the condition that the
 * column is NULL in *row. For any other column, expands to nothing. */
#define AND_NULL(name, type, null, since, evidence, cassette, store, json, journal, usual)         \
    FIELD_IF(RARE_##usual)                                                                         \
    (&&!(FIELD_EITHER(FIELD_NUMBER_##type, BATCH_HAS_##null(name), row->name.p != NULL)))

static bool row_has_default_values(const struct batch_row *row, int64_t session_id)
{
    return row->session_id == session_id && row->redactions == 0 &&
           row->origin.p == row_origin_name(ROW_PEER) &&
           row->action.p == row_action_name(ROW_FORWARDED) MESSAGE_FIELDS(AND_NULL);
}

/* Copies a text to *at, and advances *at. Returns false if the text does not fit. */
static bool copy_text_into_row(struct slice *text, char **at, const char *end)
{
    if (text->p == NULL)
        return true;
    if (text->n > (size_t)(end - *at))
        return false;
    text->p = memcpy(*at, text->p, text->n);
    *at += text->n;
    return true;
}

/* Texts that can have any value are copied. A text with a fixed set of words is static, so it is
 * not copied. */
#define COPY_NUMBER(name)
#define COPY_SINCE(name)
#define COPY_SIZE(name)
#define COPY_WORD(type, words) COPY_NUMBER
#define COPY_TEXT(name) fits = fits && copy_text_into_row(&own->name, &at, end);
#define COPY_JSON COPY_TEXT
#define COPY(name, type, ...) COPY_##type(name)

int row_batch_add_row(struct row_batch *b, const struct batch_row *r)
{
    if (row_batch_is_full(b))
        return MI_EFULL;
    struct batch_row *own = &b->row[b->n];
    char *at = b->text + b->text_n;
    const char *end = at + ROW_BATCH_ROW_MAX;
    bool fits = true;
    *own = *r;
    MESSAGE_FIELDS(COPY)
    if (!fits)
        return MI_EFULL;
    b->text_n = (size_t)(at - b->text);
    b->n++;
    b->usual = b->usual && row_has_default_values(r, b->row[0].session_id);
    return 0;
}

static size_t row_batch_count_rows(const void *rows)
{
    return ((const struct row_batch *)rows)->n;
}

#define RESULT(name, type, null, ...)                                                              \
    case C_##name:                                                                                 \
        FIELD_EITHER(FIELD_NUMBER_##type,                                                          \
                     batch_set_result_number(to, BATCH_HAS_##null(name), row->name),               \
                     batch_set_result_text(to, row->name));                                        \
        break;

static void row_batch_return_column(const void *rows, size_t at, sqlite3_context *to, int i)
{
    const struct batch_row *row = &((const struct row_batch *)rows)->row[at];
    switch ((enum column)i) {
    case C_ID:
        sqlite3_result_int64(to, row->id);
        break;
    case C_SESSION_ID:
        sqlite3_result_int64(to, row->session_id);
        break;
        MESSAGE_FIELDS(RESULT)
    case C_SALT:
        if (row->covered)
            sqlite3_result_blob(to, row->salt.b, SALT_N, SQLITE_STATIC);
        break;
    case C_COMMITMENT:
        if (row->covered)
            sqlite3_result_blob(to, row->commitment.b, DIGEST_N, SQLITE_STATIC);
        break;
    }
}

int row_batch_connect(struct row_batch *b, sqlite3 *db)
{
    static const struct batch_table table = {"row_batch", declaration, row_batch_count_rows,
                                             row_batch_return_column};
    return batch_table_connect(&table, b, db);
}
