#include "record/previous_tools.h"

#include <unistd.h>

#define READ_SIZE ((size_t)64 << 10)
#define FILE_MAX (2 * TOOLS_BYTES_MAX)

static bool read_previous_tools_text(struct slice text, struct tools *ret, char *ret_uid)
{
    struct rpc m;
    if (text.n <= UID_LEN || text.p[UID_LEN] != '\n')
        return false;
    struct slice list = {text.p + UID_LEN + 1, text.n - UID_LEN - 1};
    const char *nl = memchr(list.p, '\n', list.n);
    if (nl != NULL)
        list.n = (size_t)(nl - list.p);
    if (rpc_read(list, &m) < 0 || m.kind != RPC_RESULT)
        return false;
    tools_add_page(ret, &m, 0);
    memcpy(ret_uid, text.p, UID_LEN);
    ret_uid[UID_LEN] = '\0';
    return true;
}

bool previous_tools_read(int fd, struct tools *ret, char *ret_uid)
{
    struct buf text = {.max = FILE_MAX};
    struct tools tools = {0};
    ssize_t n = 0;
    while (fd >= 0 && buf_reserve(&text, READ_SIZE) &&
           (n = pread(fd, text.p + text.n, READ_SIZE, (off_t)text.n)) > 0)
        text.n += (size_t)n;
    bool ok = !text.failed && n == 0 && read_previous_tools_text(buf_slice(&text), &tools, ret_uid);
    buf_close(&text);
    if (ok)
        *ret = tools;
    return ok;
}
