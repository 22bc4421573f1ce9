#include "vault/upkeep/scrub/escalations.h"

#include "vault/store/connect.h"
#include "vault/upkeep/scrub/database.h"
#include "vault/upkeep/scrub/error.h"
#include "vault/upkeep/scrub/text.h"

enum { NAMES = 3 }; /* server, tool, method */

static struct slice scrub_escalations_column(sqlite3_stmt *q, int i)
{
    const char *text = (const char *)sqlite3_column_text(q, i);
    return text != NULL ? slice_of(text) : (struct slice){0};
}

static int scrub_row(struct scrub *s, sqlite3_stmt *q)
{
    struct scrub_hit hit = {.where = "escalation"};
    struct slice now[NAMES], clean;
    struct buf text[NAMES] = {{0}};
    size_t all = 0, n = 0;
    int st = 0;
    for (int i = 0; i < NAMES && st == 0; i++) {
        now[i] = scrub_escalations_column(q, i + 1);
        st = scrub_text(s, now[i], SCRUB_TEXT, NULL, hit, &clean, &n);
        all += n;
        if (st == 0 && clean.p != NULL) {
            buf_slice_add(&text[i], clean);
            now[i] = buf_slice(&text[i]);
            st = text[i].failed ? MI_ENOMEM : 0;
        }
    }
    if (st == 0 && all > 0) {
        st = scrub_change(s, S_ESCALATION,
                          DB_WITH(db_int(sqlite3_column_int64(q, 0)), db_text(now[0]),
                                  db_text(now[1]), db_text(now[2])));
    }
    for (int i = 0; i < NAMES; i++)
        buf_close(&text[i]);
    return st;
}

int scrub_escalations(struct scrub *s)
{
    sqlite3_stmt *q;
    int rc = SQLITE_ROW;
    if (s->d.db == NULL)
        return 0;
    int st = db_ask(&s->d, S_ESCALATIONS, &q, NULL, 0);
    if (st < 0)
        return st;
    /* In a damaged file, a row may come again and again. */
    for (int64_t last = INT64_MIN; st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW;) {
        int64_t id = sqlite3_column_int64(q, 0);
        st = id > last ? scrub_row(s, q) : db_damaged(&s->d);
        last = id;
    }
    /* before the commit: an open SELECT would hold the old snapshot */
    int ended = db_done(&s->d, q, rc);
    st = st == 0 ? ended : st;
    if (st == 0)
        st = scrub_commit(s);
    if (st < 0)
        scrub_roll_back(s);
    return st;
}
