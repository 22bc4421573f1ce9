#include "vault/cassette/reader.h"

#include "base/text.h"

#include <errno.h>
#include <unistd.h>

int cassette_reject(struct cassette_reader *r, const char *reason, const char *remedy)
{
    buf_clear(r->error);
    text_append_visible(r->error, slice_of(r->name));
    buf_printf(r->error, ":%zu: %s; %s", r->line_no, reason,
               remedy != NULL ? remedy : "repair the line, or export the session again");
    return MI_EINVAL;
}

int cassette_set_no_memory_error(struct cassette_reader *r)
{
    buf_clear(r->error);
    buf_adds(r->error, "out of memory");
    return MI_ENOMEM;
}

int cassette_fail_io(struct cassette_reader *r, const char *why)
{
    buf_clear(r->error);
    buf_adds(r->error, "cannot read ");
    text_append_visible(r->error, slice_of(r->name));
    buf_printf(r->error, ": %s; choose another file", why);
    return MI_EIO;
}

/* Reads bytes with one read() into the line reader. 0, MI_EIO or MI_ENOMEM. */
static int cassette_reader_fill(struct cassette_reader *r)
{
    size_t n;
    char *to = line_room(&r->lines, &n);
    if (to == NULL)
        return cassette_set_no_memory_error(r);
    ssize_t got;
    do
        got = read(r->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return cassette_fail_io(r, strerror(errno));
    r->eof = got == 0;
    line_add_filled(&r->lines, (size_t)got);
    return 0;
}

static int read_file_line(struct cassette_reader *r, struct slice *ret, bool *ret_more)
{
    struct line line;
    enum line_result got;
    while ((got = line_next(&r->lines, &line)) == LINE_NEED_MORE && !r->eof) {
        int st = cassette_reader_fill(r);
        if (st < 0)
            return st;
    }
    if (got == LINE_NEED_MORE)
        got = line_take_unfinished_line(&r->lines, &line);
    *ret_more = got != LINE_NEED_MORE;
    r->line_no += *ret_more;
    if (got == LINE_TOO_LONG)
        return cassette_reject(r, "the line is longer than 1 GiB", NULL);
    if (got == LINE_READY)
        *ret = (struct slice){line.p, line.n};
    return 0;
}

int cassette_next_line(struct cassette_reader *r, struct slice *ret, bool *ret_more)
{
    if (r->fd >= 0)
        return read_file_line(r, ret, ret_more);
    *ret_more = r->text.n > 0;
    if (!*ret_more)
        return 0;
    const char *end = memchr(r->text.p, '\n', r->text.n);
    size_t n = end != NULL ? (size_t)(end - r->text.p) : r->text.n;
    *ret = (struct slice){r->text.p, n};
    n += end != NULL;
    r->text = (struct slice){r->text.p + n, r->text.n - n};
    r->line_no++;
    return 0;
}
