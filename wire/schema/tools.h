/* tools.h - the tools of a server and their schemas, from its newest tools/list.
 *
 * A list may have several pages: it is complete after the page without a nextCursor. A tool whose
 * definition is unchanged keeps its compiled schemas.
 *
 * Owns      a copy of each definition. A schema is compiled when it is first needed.
 * Limits    TOOLS_MAX tools and TOOLS_BYTES_MAX bytes. Tools beyond a limit are unknown, and the
 *           list then never counts as complete. The compiled schemas of all tools together have the
 *           limits of struct schema_limits: a schema that exceeds them is not checked. For each
 *           tool, the first message that cannot be checked, for this or another reason, gets the
 *           finding schema-not-checked.
 * Lifetime  a tool is valid until the next page, tools_forget_all() or tools_close(). The struct
 *           may be moved only until a schema is compiled, because the schema points to the limits.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_TOOLS_H
#define MI_WIRE_SCHEMA_TOOLS_H

#include "wire/mcp/rule.h"
#include "wire/rpc.h"
#include "wire/schema/compile.h"

#define TOOLS_MAX 4096
#define TOOLS_BYTES_MAX ((size_t)8 << 20)

enum tool_schema_state {
    TOOL_SCHEMA_NEW, /* a schema that was not compiled yet */
    TOOL_SCHEMA_READY,
    TOOL_SCHEMA_NONE,      /* the tool has no schema or an invalid one: any value matches */
    TOOL_SCHEMA_TOO_LARGE, /* a limit was exceeded, so it is unknown whether a value matches */
};

struct tool_schema {
    struct json_value text; /* JSON_NONE: absent */
    enum tool_schema_state state;
    /* owned; the compiled schema; NULL unless the state is TOOL_SCHEMA_READY */
    struct schema *schema;
};

struct tool {
    struct slice name; /* name of the tool, unescaped; a NUL follows it */
    struct slice text; /* JSON of the whole definition of the tool */
    struct tool_schema input, output;
    bool warned;         /* a warning about the tool's arguments was logged */
    bool not_checked;    /* the finding schema-not-checked was reported */
    unsigned generation; /* tools.generation of the last list that contained the tool */
    char *data;          /* owned; the buffer into which `name` and `text` point */
};

struct tools {
    struct tool *tool; /* owned; the tools, sorted by name */
    /* limits of the compiled schemas; on a live connection, cpu_us is set */
    struct schema_limits limits;
    size_t n, cap, bytes;
    unsigned generation; /* number of lists that were begun so far */
    /* value of tools.generation when the tools that are not in the list were removed last; before
     * the list is complete, they are removed at most once, to make room */
    unsigned swept;
    uint64_t next; /* hash of the cursor of the next page; 0: no page is missing */
    bool begun;    /* true: at least one page of the list was read */
    bool overflow; /* true: the list exceeded a limit, or memory ran out */
};

void tools_close(struct tools *t); /* safe to call twice */
/* Reads a result of tools/list. cursor: hash of the request's cursor; 0 begins a new list. A result
 * without an array `tools` removes all tools. */
void tools_add_page(struct tools *t, const struct rpc *result, uint64_t cursor);
/* Drops the list, because it is outdated: all tools are unknown until the next list. */
void tools_forget_all(struct tools *t);
/* Whether all pages of the list have been read. */
bool tools_are_complete(const struct tools *t);
/* Returns the tool with this raw name, or NULL if unknown. */
struct tool *tools_find(struct tools *t, struct slice raw);

/* Returns the rule that a tools/call violates, or 0; *fault has a pointer to the invalid value, and
 * the reason. *ret: the tool, or NULL if it is unknown. */
breaches tools_check_call(struct tools *t, const struct rpc *call, struct tool **ret,
                          struct schema_fault *fault);
/* Returns the rule that the result of a tools/call violates, or 0. raw: name of the called tool.
 * *ret: the tool; NULL if the result was not checked. */
breaches tools_check_result(struct tools *t, struct slice raw, const struct rpc *result,
                            struct tool **ret, struct schema_fault *fault);

/* Checks arguments against the inputSchema. Returns SCHEMA_FITS if the tool has no valid
 * inputSchema. */
enum schema_result tools_check_arguments(struct tools *t, struct tool *tool,
                                         struct json_value arguments, struct schema_fault *fault);

#endif
