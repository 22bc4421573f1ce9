/* Any bytes as an entry of a journal, of the kind that the first byte names: form_read_entry() rejects them, or its texts
 * lie within them, and what it has read is written and read again as the same entry. */
#include "journal/entry_form.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/entry_equal.h"

static void again(const struct entry *e)
{
    size_t n = form_size_of_entry(e);
    char *p = malloc(n + 1);
    MUST(p != NULL);
    form_write_entry(e, p);
    struct entry back;
    MUST(form_read_entry(e->kind, (struct slice){p, n}, &back) == 0);
    MUST(same_entry(e, &back));
    free(p);
}

static void start_again(const struct session_start *s)
{
    struct buf b = {0};
    struct session_start back;
    form_append_session_start(&b, s);
    MUST(!b.failed && form_read_session_start(buf_slice(&b), &back) == 0);
    MUST(same_start(s, &back));
    buf_close(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct slice bytes = {(const char *)data + 1, size - 1};
    struct entry e;
    struct session_start s;
    if (data[0] == 's') {
        if (form_read_session_start(bytes, &s) == 0)
            start_again(&s);
        return 0;
    }
    enum entry_kind kind = (enum entry_kind)(data[0] - '0');
    if (form_read_entry(kind, bytes, &e) < 0)
        return 0;
    MUST(e.kind == kind);
    if (kind == ENTRY_MESSAGE)
        MUST(inside(bytes, e.row.body) && inside(bytes, e.row.rpc_id) &&
             inside(bytes, e.row.method) && inside(bytes, e.row.target));
    again(&e);
    return 0;
}
