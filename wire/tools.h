/* tools.h - the tools of a server as its newest tools/list has them, and their schemas.
 *
 * A list may come in pages: it is whole when the page without a nextCursor has come. A tool whose definition
 * comes again unchanged keeps its compiled schemas.
 *
 * Owns      a copy of each definition, TOOLS_MAX of them and TOOLS_BYTES_MAX bytes at most; what does not fit
 *           is not known, and the list is never whole. A schema is compiled when it is first needed.
 * Lifetime  a tool is good until the next page, tools_forget() or tools_close().
 * Blocks    never. Pure. */
#ifndef MI_WIRE_TOOLS_H
#define MI_WIRE_TOOLS_H

#include "wire/rpc.h"
#include "wire/rule.h"
#include "wire/schema.h"

#define TOOLS_MAX 4096
#define TOOLS_BYTES_MAX ((size_t)8 << 20)

struct tool {
    struct slice name;               /* escapes resolved; a NUL follows */
    struct slice text;               /* the whole definition, JSON */
    struct json_value input, output; /* schemas; JSON_NONE: not there */
    struct schema *in, *out;         /* owned; NULL: not compiled, or not to be */
    bool in_tried, out_tried;
    bool told;           /* wrong arguments for it were told of before */
    unsigned generation; /* of the list that had it last */
    char *data;          /* owned; what name and text lie in */
};

struct tools {
    struct tool *tool; /* owned; by name */
    size_t n, cap, bytes;
    unsigned generation;
    uint64_t next; /* hash of the cursor of the page that is missing; 0: none */
    bool begun;    /* there is a list, or its first pages */
    bool overflow; /* something did not fit */
};

void tools_close(struct tools *t); /* safe to call twice */
/* A result of tools/list. cursor: hash of what the request had; 0 begins a new list. One that is no list leaves
 * nothing known. */
void tools_page(struct tools *t, const struct rpc *result, uint64_t cursor);
/* The list is out of date: nothing is known until the next one. */
void tools_forget(struct tools *t);
/* All pages have come. */
bool tools_whole(const struct tools *t);
/* The tool of this name, as it stands between the quotes; NULL: not known. */
struct tool *tools_find(struct tools *t, struct slice raw);

/* The rule that a tools/call breaks, if it does, and where; ret: its tool, NULL when it is not known. */
breaches tools_call(struct tools *t, const struct rpc *call, struct tool **ret,
                    struct schema_fault *fault);
/* The same of the result of a call of the tool with this name, as it stands between the quotes. */
breaches tools_result(struct tools *t, struct slice raw, const struct rpc *result,
                      struct tool **ret, struct schema_fault *fault);

/* FITS when there is no schema, or none that can be read. */
enum schema_result tools_check_arguments(struct tool *t, struct json_value arguments,
                                         struct schema_fault *fault);

#endif
