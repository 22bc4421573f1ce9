/* Any file, JSON, TOML or YAML by the first byte: it is rejected with its line, or wrapped into a file with the same
 * servers, and unwrapping restores every byte. Nothing is read past its end. (A plain scalar of YAML may mean something
 * else in brackets: there `wrap` itself tries to unwrap, and does not write the file if it cannot.) */
#include "cli/wrap/remote.h"
#include "cli/wrap/wrap_edit.h"

#include "tests/fuzz/fuzz.h"

static struct edits e;

static size_t change(const struct mcpfile *f, bool wrap)
{
    static const char *const options[] = {"--name", "n", NULL};
    static const char *const command[] = {"npx", "-y", "mcp-interposer@1.2.3", NULL};
    static const struct wrap_with with = {command, options};
    size_t n = 0;
    e.n = 0;
    for (size_t i = 0; i < f->servers; i++) {
        const struct mcpfile_server *s = &f->server[i];
        struct wrap_view v;
        const char *why;
        MUST(wrap_inspect_server(f, s, &v) == 0);
        MUST((v.why != NULL) == (v.state == WRAP_ODD));
        if (v.state == WRAP_PLAIN && wrap)
            n += wrap_edit_wrap_server(&e, f, s, &with);
        else if (v.state == WRAP_REMOTE && wrap && remote_check_wrappable(f, s, &why) == 0 &&
                 why == NULL)
            n += remote_add_wrap_edits(&e, f, s, &with);
        else if (v.state == WRAP_WRAPPED && !wrap)
            n += wrap_edit_unwrap_server(&e, f, s, &v);
        wrap_view_close(&v);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum mcpfile_format format = size == 0        ? MCPFILE_JSON
                                 : data[0] == 't' ? MCPFILE_TOML
                                 : data[0] == 'y' ? MCPFILE_YAML
                                                  : MCPFILE_JSON;
    struct slice text = {(const char *)data + (size > 0), size - (size > 0)};
    struct mcpfile f, g;
    struct buf wrapped = {0}, back = {0};
    int st = mcpfile_read_servers(&f, text, format);
    MUST(st == 0 || (st == MI_EINVAL && slice_begins(buf_slice(&f.error), "line ")));
    size_t before = st == 0 ? change(&f, false) : 0; /* unwraps entries that were wrapped by hand */
    edits_apply(&e, text, &back);
    buf_clear(&back);
    size_t n = st == 0 && before == 0 ? change(&f, true) : 0;
    if (n > 0) {
        edits_apply(&e, text, &wrapped);
        st = mcpfile_read_servers(&g, buf_slice(&wrapped), format);
        MUST(format == MCPFILE_YAML || (st == 0 && g.servers == f.servers));
        size_t again = st == 0 ? change(&g, false) : 0;
        edits_apply(&e, buf_slice(&wrapped), &back);
        MUST(format == MCPFILE_YAML || (again == n && slice_eq(buf_slice(&back), text)));
        mcpfile_close(&g);
    }
    mcpfile_close(&f);
    edits_close(&e);
    buf_close(&wrapped);
    buf_close(&back);
    return 0;
}
