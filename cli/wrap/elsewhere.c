#include "cli/wrap/elsewhere.h"

#include "cli/frame/replace.h"
#include "cli/wrap/backup.h"
#include "cli/wrap/inspect.h"

#include <stdlib.h>

static bool file_has_wrapped_server(const char *path)
{
    struct replace file;
    struct mcpfile f = {0};
    bool found = false;
    int st = replace_open(&file, path);
    if (st == 0)
        st = mcpfile_read_servers(&f, buf_slice(&file.text), mcpfile_format_by_name(path));
    for (size_t i = 0; st == 0 && !found && i < f.servers; i++) {
        struct wrap_view v;
        st = wrap_inspect_server(&f, &f.server[i], &v);
        found = st == 0 && v.state == WRAP_WRAPPED;
        if (st == 0)
            wrap_view_close(&v);
    }
    mcpfile_close(&f);
    replace_close(&file);
    return found;
}

static int compare_client_paths(const void *a, const void *b)
{
    const struct client_file *x = a, *y = b;
    return strcmp(x->path, y->path);
}

int find_client_files_elsewhere(struct client_files *l, const char *backups)
{
    struct buf paths = {0};
    size_t before = l->n;
    int st = backup_list(backups, &paths);
    for (size_t at = 0; st == 0 && at < paths.n; at += strlen(paths.p + at) + 1)
        if (!client_files_contain(l, paths.p + at) && file_has_wrapped_server(paths.p + at))
            st = client_files_add(l, paths.p + at);
    for (size_t i = before; i < l->n; i++)
        l->file[i].kind = CLIENT_FILE_ELSEWHERE;
    if (l->n > before)
        qsort(l->file + before, l->n - before, sizeof *l->file, compare_client_paths);
    buf_close(&paths);
    return st;
}
