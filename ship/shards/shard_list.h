/* shard_list.h - a file that lists the shards of a router: one URL in each line, in the order of
 * their numbers.
 *
 * Form      a line that begins with `#` is a comment; spaces around a URL and empty lines are
 *           ignored.
 * Owns      copies of the URLs; shard_list_close() frees them.
 * Errors    MI_EINVAL: a line is invalid; `error` says which and why, without the URL. MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_SHIP_SHARDS_SHARD_LIST_H
#define MI_SHIP_SHARDS_SHARD_LIST_H

#include "base/buf.h"

#define SHARD_LIST_MAX 256
#define SHARD_LIST_BYTES ((size_t)1 << 20) /* bytes of the file */

struct shard_line {
    char *url;   /* owned */
    size_t line; /* number of the line in the file, from 1 */
};

struct shard_list {
    struct shard_line *shard; /* owned; index i is shard number i + 1 */
    size_t n, cap;
};

MI_MUST int shard_list_read(struct shard_list *l, struct slice text, struct buf *error);
void shard_list_close(struct shard_list *l); /* may be called twice */

#endif
