#include "ship/postgres/target.h"

#include "ship/postgres/address.h"
#include "ship/postgres/sender.h"

#include <stdlib.h>

struct store {
    struct link *to; /* owned */
    struct sender sender;
};

static void close_store(void *x)
{
    struct store *s = x;
    sender_close(&s->sender);
    link_free(s->to);
    free(s);
}

static int open_store(void **ret, const struct target *t, struct buf *error)
{
    struct store *s = calloc(1, sizeof *s);
    (void)error;
    if (s == NULL || link_allocate(&s->to, t->url, t->stop) < 0) {
        free(s);
        return MI_ENOMEM;
    }
    link_set_deadline(s->to, t->until_us);
    link_set_denied_hint(s->to,
                         ": this role is not a device of the store; an administrator adds one "
                         "with: mcp-interposer ship init URL --device NAME");
    sender_open(&s->sender, t->from, s->to, t->url, t->minimal);
    *ret = s;
    return 0;
}

static int postgres_send_new_rows(void *x, int64_t *ret_sent)
{
    struct store *s = x;
    return sender_send_new_rows(&s->sender, ret_sent);
}

static int store_target_check_lost_rows(void *x)
{
    struct store *s = x;
    return sender_check_lost_rows(&s->sender);
}

static bool postgres_target_lost_connection(void *x)
{
    struct store *s = x;
    return link_has_lost_connection(s->to);
}

static bool postgres_cursors_are_unsaved(const void *x)
{
    const struct store *s = x;
    return s->sender.unsaved;
}

static const char *postgres_target_error(void *x, int status)
{
    struct store *s = x;
    return sender_error_text(&s->sender, status);
}

static int64_t postgres_target_count_leaves(const void *x)
{
    const struct store *s = x;
    return s->sender.log.n;
}

/* `refused` is NULL, because a refusal ends the round with an error. */
const struct target_kind postgres_target = {
    .form = "postgresql://ROLE@HOST/DATABASE",
    .is_url = address_is_url,
    .check_url = address_check_url,
    .open = open_store,
    .close = close_store,
    .round = postgres_send_new_rows,
    .check = store_target_check_lost_rows,
    .is_cut = postgres_target_lost_connection,
    .is_unsaved = postgres_cursors_are_unsaved,
    .error = postgres_target_error,
    .leaves = postgres_target_count_leaves,
};
