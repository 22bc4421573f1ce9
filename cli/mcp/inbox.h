/* inbox.h - the lines of the client, and whether it has cancelled a request meanwhile.
 *
 * Owns      the lines that were read but not taken: at most INBOX_LINES lines and INBOX_BYTES bytes. When it is full,
 *           nothing more is read.
 * Errors    a failed read is the end of the stream. MI_ENOMEM.
 * Blocks    inbox_next(), until there is a line. */
#ifndef MI_CLI_MCP_INBOX_H
#define MI_CLI_MCP_INBOX_H

#include "base/buf.h"
#include "wire/json/scan.h"
#include "wire/line.h"

#define INBOX_LINES 256
#define INBOX_BYTES ((size_t)4 << 20)

struct inbox_line {
    struct inbox_line *next;
    bool too_long; /* only its first bytes are here */
    size_t n;
    char text[];
};

struct inbox {
    int fd; /* borrowed */
    struct line_reader reader;
    struct inbox_line *first, **last; /* owned */
    size_t lines, bytes;
    bool ended;  /* the stream */
    bool failed; /* out of memory */
};

void inbox_open(struct inbox *b, int fd, size_t max_line);
void inbox_close(struct inbox *b);
/* The next line, which the caller frees. 0; MI_ENOENT: the stream has ended; MI_ENOMEM. */
MI_MUST int inbox_next(struct inbox *b, struct inbox_line **ret);
/* Reads what has arrived, without waiting, and looks for notifications/cancelled with this request id. */
bool inbox_is_cancelled(struct inbox *b, struct json_value id);

#endif
