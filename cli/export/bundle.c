#include "cli/export/bundle.h"

#include "base/json_out.h"
#include "vault/prove/proven.h"

#include <fcntl.h>
#include <unistd.h>

bool import_is_bundle(const char *path)
{
    char head[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0)
        close(fd);
    size_t k = 0;
    for (ssize_t i = 0; i < n; i++)
        if (memchr(" \t\r\n", head[i], 4) == NULL)
            head[k++] = head[i];
    return slice_begins((struct slice){head, k}, "{\"format\":\"" BUNDLE_FORMAT "\"");
}

/* Describes where the session was recorded, for the event `imported`. */
static int describe_origin(struct import *d, const struct bundle *b)
{
    char root[DIGEST_HEX + 1];
    struct buf text = {0};
    struct json_out j = json_out_to(&text);
    digest_hex(&b->leaf[b->seal].leaf.root, root);
    json_out_text(&j, "origin", b->checkpoint.origin);
    json_out_text(&j, "session", b->leaf[b->seal].leaf.uid);
    json_out_str(&j, "root", root);
    bool good = !text.failed;
    if (good)
        import_origin(d, buf_slice(&text));
    buf_close(&text);
    return good ? 0 : MI_ENOMEM;
}

/* Sets *ret_status to the status of the import. */
static int import_bundle_add_session(struct import *d, const struct bundle *b, const char *name,
                                     int *ret_status)
{
    struct bundle_walk first = bundle_begin(b), last = first;
    struct bundle_record start, end;
    struct query_session s;
    int st = MI_ENOMEM;
    if (bundle_next(b, &first, &start) && bundle_end(b, &last, &end)) {
        proven_read_session(&s, &start);
        proven_end(&s, &end);
        *ret_status = import_session(d, &s, name);
        st = 0;
    }
    bundle_walk_close(&first);
    bundle_walk_close(&last);
    return st;
}

static int add_messages(struct import *d, const struct bundle *b, int *ret_status)
{
    struct bundle_walk w = bundle_begin(b);
    struct bundle_record r;
    while (*ret_status == 0 && bundle_next(b, &w, &r)) {
        if (r.kind != BUNDLE_MESSAGE)
            continue;
        struct query_message m = proven_read_message(&r);
        *ret_status = import_message(d, &m);
    }
    int st = w.text.failed ? MI_ENOMEM : 0;
    bundle_walk_close(&w);
    return st;
}

int import_bundle(struct import *d, struct slice text, const struct public_key *key,
                  const char *name, int *ret_status, struct buf *error)
{
    struct bundle b;
    struct buf why = {0};
    int st = bundle_open(&b, text, key, &why);
    if (st == MI_EINVAL)
        buf_printf(error, "the bundle is not valid: %s", buf_str(&why));
    if (st == 0 && !bundle_is_whole(&b)) {
        buf_adds(error, "the bundle has only some records of its session: make one without --seq");
        st = MI_EINVAL;
    }
    if (st == 0)
        st = describe_origin(d, &b);
    if (st == 0)
        st = import_bundle_add_session(d, &b, name, ret_status);
    if (st == 0)
        st = add_messages(d, &b, ret_status);
    bundle_close(&b);
    buf_close(&why);
    return st;
}
