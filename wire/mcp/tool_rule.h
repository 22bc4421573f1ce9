/* tool_rule.h - decides which tools of a server a client sees and may call: --tools, --hide-tools
 * and --read-only of `proxy`.
 *
 * A list has names, or globs with `*` (any characters) and `?` (one character), separated by
 * commas. A tool is kept if it matches --tools (if that option is given), does not match
 * --hide-tools, and is marked readOnlyHint: true (if --read-only is given). Names are compared byte
 * for byte after JSON escapes are resolved; case and Unicode forms make a difference.
 *
 * Text      the recorded form of the rule: `tools = list_*, get_issue; hide-tools = drop;
 *           read-only`.
 * Readers   servers differ in how they read a message: of two members with the same name, a server
 *           may use the first or the last; it may ignore case, as Go does, or read keys only up to
 *           a NUL, as C does. So a definition is kept only if it is kept in every reading, and a
 *           call must have a single reading (tool_call.h).
 * Owns      its text and patterns; tool_rule_close() frees them.
 * Errors    MI_EINVAL with a clause in `why`, MI_ENOMEM.
 * Limits    a name of more than TOOL_RULE_NAME_MAX bytes is never kept, so that a server cannot
 *           make the comparison slow.
 * Blocks    never. Pure. Time: the length of the names times that of the globs. */
#ifndef MI_WIRE_MCP_TOOL_RULE_H
#define MI_WIRE_MCP_TOOL_RULE_H

#include "wire/mcp/answer_flaw.h"

#define TOOL_RULE_PATTERNS_MAX 1024
#define TOOL_RULE_GLOBS_MAX 100
#define TOOL_RULE_GLOB_MAX 256  /* bytes */
#define TOOL_RULE_NAME_MAX 1024 /* longest name of a tool, in bytes; MCP recommends at most 128 */
#define TOOL_RULE_TEXT_MAX ((size_t)32 << 10)

struct tool_pattern {
    size_t at, n; /* offset and length of the pattern in the text of the rule */
    bool hides;   /* the pattern is from --hide-tools */
    bool glob;
    bool matched; /* the pattern matched a tool in a list */
};

struct tool_rule {
    struct buf text;           /* owned; text of the rule; empty: there is no rule */
    struct tool_pattern *list; /* owned */
    size_t n, cap;
    size_t globs;
    /* true: tool_pattern.matched does not change any more; set by the owner */
    bool judged;
    bool keeps; /* --tools is given */
    bool read_only;
};

/* Checks a list of tools that is the value of an option. */
MI_MUST int tool_rule_check_patterns(const char *list, struct buf *why);
/* Makes the rule from the options; NULL stands for an option that is not given. Without any option
 * there is no rule. Call tool_rule_close() even after an error. */
MI_MUST int tool_rule_open(struct tool_rule *r, const char *tools, const char *hide, bool read_only,
                           struct buf *why);
/* Reads a rule from the text in a recording. */
MI_MUST int tool_rule_read(struct tool_rule *r, struct slice text, struct buf *why);
void tool_rule_close(struct tool_rule *r);
static inline bool tool_rule_exists(const struct tool_rule *r)
{
    return r->text.n > 0;
}

/* Whether --tools and --hide-tools keep a tool with this unescaped name. */
bool tool_rule_allows_name(const struct tool_rule *r, struct slice name);
/* Finds the next pattern that has not matched any tool. *at must be 0 in the first call. Returns
 * false if there is no such pattern. */
bool tool_rule_next_unmatched_pattern(const struct tool_rule *r, size_t *at, struct slice *ret);

/* ---- lists ---- */

/* Calls `named` for each tool in the result of a tools/list. name: unescaped, "" if the definition
 * has none. */
enum tool_fate { TOOL_KEPT, TOOL_HIDDEN };
typedef void (*tool_rule_named_fn)(void *ctx, struct slice name, bool read_only,
                                   enum tool_fate fate);
struct tool_cut {
    size_t listed, hidden; /* tools */
};
/* Returns why a client might find tools in an answer to tools/list that tool_rule_remove_tools()
 * does not remove: the result is not an object, `tools` is not an array, or clients disagree about
 * which member is meant. NULL: tool_rule_remove_tools() removes all hidden tools. */
const char *tool_rule_find_list_fault(const struct rpc *m);
/* Returns the hash of a page's nextCursor; 0: it is the last page, or the cursor is "". */
uint64_t tool_rule_hash_next_cursor(struct json_value next_cursor);
/* Adds changes that cut the hidden tools, each with one comma, out of a result of tools/list.
 * `named` may be NULL. Returns 0 or MI_ENOMEM. */
MI_MUST int tool_rule_remove_tools(struct tool_rule *r, struct json_value result, struct changes *c,
                                   struct tool_cut *ret, tool_rule_named_fn named, void *ctx);

/* Whether a raw key equals this lower-case name if case is ignored as in Go, and the text after a
 * NUL is ignored. *ret_exact: whether the unescaped key is exactly the name. */
bool tool_rule_key_matches(struct slice raw, const char *name, bool *ret_exact);

#endif
