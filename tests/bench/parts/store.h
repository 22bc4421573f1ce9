/* store.h - stores rows in a vault for the benchmarks of single parts, COMMIT_EVERY in a transaction.
 *
 * Owns     the connection.
 * Errors   end the benchmark. */
#ifndef MI_TESTS_BENCH_PARTS_STORE_H
#define MI_TESTS_BENCH_PARTS_STORE_H

#include "base/clock.h"
#include "journal/uid.h"
#include "tests/bench/parts/measure.h"
#include "vault/store/writer.h"

#define STORE_PAGES 4000 /* pages of the write-ahead log after which a checkpoint is made */

struct store {
    struct vault_dir dir;
    struct writer *writer;
    char uid[UID_LEN + 1];
    int64_t session;
    uint64_t seq;
    unsigned waiting; /* rows that are not committed */
};

static inline void store_commit(struct store *r)
{
    if (r->waiting > 0 && writer_commit(r->writer) < 0)
        die(writer_error(r->writer));
    r->waiting = 0;
    if (writer_get_wal_pages(r->writer) > STORE_PAGES && writer_checkpoint_wal(r->writer) < 0)
        die(writer_error(r->writer));
}

static inline void store_open(struct store *r, const char *vault)
{
    struct buf why = {0};
    struct session_record session = {.name = slice_of("parts"),
                                     .command = slice_of("[]"),
                                     .host = slice_of(""),
                                     .record_level = slice_of("standard")};
    *r = (struct store){0};
    if (uid_make(clock_wall_us(), r->uid) < 0 || vault_dir_open(&r->dir, vault, true, &why) < 0 ||
        writer_open(&r->writer, &r->dir, false, &why) < 0)
        die(buf_str(&why));
    writer_set_record_level(r->writer, RECORD_STANDARD);
    session.uid = slice_of(r->uid);
    if (writer_add_session(r->writer, &session, &r->session) < 0)
        die(writer_error(r->writer));
}

/* Stores the row of a message; seq and time are set here. */
static inline void store_add(struct store *r, const struct rpc *m, struct slice line)
{
    struct row row = {
        .kind = row_kind_of_rpc(m->kind),
        .seq = ++r->seq,
        .t_us = (int64_t)r->seq,
        .direction = m->kind == RPC_REQUEST ? ROW_C2S : ROW_S2C,
        .action = ROW_FORWARDED,
        .rpc_id = m->id.text,
        .method = m->method,
        .body = line,
        .size = line.n,
    };
    if ((r->waiting == 0 && writer_begin(r->writer, 0) < 0) ||
        writer_add_row(r->writer, r->session, r->uid, &row) < 0)
        die(writer_error(r->writer));
    if (++r->waiting == COMMIT_EVERY)
        store_commit(r);
}

static inline void store_close(struct store *r)
{
    store_commit(r);
    writer_close(r->writer);
    vault_dir_close(&r->dir);
}

#endif
