/* inbox.h - reads the lines of the client. Reads ahead, to find out whether the client has
 * cancelled the current request.
 *
 * Owns      the lines that were read but not taken: at most INBOX_LINES lines and INBOX_BYTES
 *           bytes. A full inbox reads no more.
 * Errors    MI_ENOMEM. If a read fails, the stream has ended.
 * Blocks    inbox_read_next_line() until there is a line. */
#ifndef MI_CLI_MCP_INBOX_H
#define MI_CLI_MCP_INBOX_H

#include "base/buf.h"
#include "wire/json/scan.h"
#include "wire/line.h"

#define INBOX_LINES 256
#define INBOX_BYTES ((size_t)4 << 20)

struct inbox_line {
    struct inbox_line *next;
    bool too_long; /* `text` has only the first bytes of the line */
    size_t n;
    char text[];
};

struct inbox {
    int fd; /* borrowed */
    struct line_reader reader;
    struct inbox_line *first, **last; /* owned */
    size_t lines, bytes;
    bool ended;  /* the stream has ended */
    bool failed; /* memory has run out */
};

void inbox_open(struct inbox *b, int fd, size_t max_line);
void inbox_close(struct inbox *b);
/* Takes the next line; the caller frees it. Returns 0; MI_ENOENT if the stream has ended; or
 * MI_ENOMEM. */
MI_MUST int inbox_read_next_line(struct inbox *b, struct inbox_line **ret);
/* Reads what has arrived, without waiting. Returns whether a notifications/cancelled names this
 * request id. */
bool inbox_is_cancelled(struct inbox *b, struct json_value id);

#endif
