#include "vault/store/row_batch.h"

#include "model/values.h"
#include "vault/store/batch_table.h"

#include <stdlib.h>

/* The columns of `declaration`, in its order. */
enum column {
    C_ID,
    C_SESSION_ID,
    C_SEQ,
    C_T_US,
    C_SIZE,
    C_REDACTIONS,
    C_REQUEST_SEQ,
    C_BATCH_SEQ,
    C_ERROR_CODE,
    C_BODY_OFFSET,
    C_BODY_LENGTH,
    C_WORD,                        /* the first of enum batch_word */
    C_TEXT = C_WORD + BATCH_WORDS, /* the first of enum batch_text */
    C_SALT = C_TEXT + BATCH_TEXTS,
    C_COMMITMENT
};

static const char declaration[] =
    "CREATE TABLE row_batch (id, session_id, seq, t_us, size, redactions, request_seq, batch_seq,"
    " error_code, body_offset, body_length,"
    " direction, origin, kind, action,"
    " rpc_id, method, target, body, finding, revision,"
    " salt, commitment)";

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

static bool is_usual(const struct batch_row *r, int64_t session_id)
{
    return r->session_id == session_id && r->redactions == 0 && r->batch_seq == 0 &&
           !r->has_error_code && r->body_length == 0 && r->text[BATCH_FINDING].p == NULL &&
           r->text[BATCH_REVISION].p == NULL &&
           r->word[BATCH_ORIGIN].p == row_origin_name(ROW_PEER) &&
           r->word[BATCH_ACTION].p == row_action_name(ROW_FORWARDED);
}

int row_batch_add(struct row_batch *b, const struct batch_row *r)
{
    size_t all = 0;
    for (int i = 0; i < BATCH_TEXTS; i++)
        all += r->text[i].n;
    if (row_batch_is_full(b) || all > ROW_BATCH_ROW_MAX)
        return MI_EFULL;
    struct batch_row *own = &b->row[b->n++];
    *own = *r;
    for (int i = 0; i < BATCH_TEXTS; i++)
        if (r->text[i].p != NULL) {
            own->text[i].p = memcpy(b->text + b->text_n, r->text[i].p, r->text[i].n);
            b->text_n += r->text[i].n;
        }
    b->usual = b->usual && is_usual(r, b->row[0].session_id);
    return 0;
}

static size_t row_batch_count(const void *rows)
{
    return ((const struct row_batch *)rows)->n;
}

static void row_batch_column(const void *rows, size_t row, sqlite3_context *to, int i)
{
    const struct batch_row *r = &((const struct row_batch *)rows)->row[row];
    switch (i) {
    case C_ID:
        sqlite3_result_int64(to, r->id);
        break;
    case C_SESSION_ID:
        sqlite3_result_int64(to, r->session_id);
        break;
    case C_SEQ:
        sqlite3_result_int64(to, r->seq);
        break;
    case C_T_US:
        sqlite3_result_int64(to, r->t_us);
        break;
    case C_SIZE:
        sqlite3_result_int64(to, r->size);
        break;
    case C_REDACTIONS:
        sqlite3_result_int64(to, r->redactions);
        break;
    case C_REQUEST_SEQ:
        batch_result_count(to, r->request_seq);
        break;
    case C_BATCH_SEQ:
        batch_result_count(to, r->batch_seq);
        break;
    case C_ERROR_CODE:
        if (r->has_error_code)
            sqlite3_result_int64(to, r->error_code);
        break;
    case C_BODY_OFFSET:
        if (r->body_length != 0)
            sqlite3_result_int64(to, r->body_offset);
        break;
    case C_BODY_LENGTH:
        batch_result_count(to, r->body_length);
        break;
    case C_SALT:
        if (r->covered)
            sqlite3_result_blob(to, r->salt.b, SALT_N, SQLITE_STATIC);
        break;
    case C_COMMITMENT:
        if (r->covered)
            sqlite3_result_blob(to, r->commitment.b, DIGEST_N, SQLITE_STATIC);
        break;
    default:
        batch_result_text(to, i < C_TEXT ? r->word[i - C_WORD] : r->text[i - C_TEXT]);
        break;
    }
}

int row_batch_connect(struct row_batch *b, sqlite3 *db)
{
    static const struct batch_table table = {"row_batch", declaration, row_batch_count,
                                             row_batch_column};
    return batch_table_connect(&table, b, db);
}
