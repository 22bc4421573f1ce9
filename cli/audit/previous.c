#include "cli/audit/previous.h"

#include "cli/audit/keyfile.h"

int previous_key(void *ctx, const struct public_key *k, struct secret_key *ret, struct buf *error)
{
    struct buf path = {0}, why = {0}, name = {0};
    keyfile_old_path(&path, ctx, k);
    key_write_public(&name, k);
    int st = path.failed || name.failed ? MI_ENOMEM : keyfile_read(buf_str(&path), ret, &why);
    if (st == 0 && !key_eq(&ret->public, k)) {
        key_erase(ret);
        st = MI_ENOENT;
    }
    if (st == MI_ENOENT) {
        buf_printf(error,
                   "this vault is signed with another key, %s, which must sign the change to a new "
                   "key: put its key file into %s, or sign with it (--audit-key FILE)",
                   buf_str(&name), buf_str(&path));
        st = MI_EINVAL;
    } else if (st < 0) {
        buf_slice_add(error, buf_slice(&why));
    }
    buf_close(&path);
    buf_close(&why);
    buf_close(&name);
    return st;
}
