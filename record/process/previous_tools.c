#include "record/process/previous_tools.h"

#include "base/json_out.h"
#include "base/os/memory.h"
#include "vault/query/tool_list.h"

#include <unistd.h>

static void write_list(struct buf *b, const struct tool_list *l)
{
    buf_printf(b, "%s\n", l->uid);
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "jsonrpc", "2.0");
    json_out_int(&j, "id", 0);
    json_out_object(&j, "result");
    json_out_array(&j, "tools");
    for (size_t i = 0; i < l->tools.n; i++)
        json_out_raw(&j, NULL, l->tools.tool[i].text);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
}

static int make_file(const struct buf *b)
{
    int fd = memory_file("mcp-interposer-tools");
    if (fd >= 0 && pwrite(fd, b->p, b->n, 0) == (ssize_t)b->n)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int previous_tools_file(const char *vault, const char *server, const char *uid)
{
    struct query *q = NULL;
    struct tool_list list;
    struct buf text = {0}, error = {0};
    int fd = -1;
    if (query_open(&q, vault, &error) == 0 &&
        tool_list_read(q, server, TOOL_LIST_RECORDED, uid, 0, &list) == 0) {
        write_list(&text, &list);
        tool_list_close(&list);
        if (!text.failed)
            fd = make_file(&text);
    }
    query_close(q);
    buf_close(&text);
    buf_close(&error);
    return fd;
}
