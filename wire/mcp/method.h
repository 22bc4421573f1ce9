/* method.h - the table of all methods and notifications of MCP, for five revisions of the protocol.
 *
 * Rules     mcp-wire.md 2 and 6.1, and the JSON Schemas of the revisions, which a test compares
 *           with this table. The requirements of revision 2026-07-28 for every message (_meta,
 *           resultType) are in modern.c. A method that is not in the table is treated as an
 *           ordinary request with the default deadline. For the target of a request see
 *           rpc_target().
 * Blocks    never. Pure; the table is static. */
#ifndef MI_WIRE_MCP_METHOD_H
#define MI_WIRE_MCP_METHOD_H

#include "base/buf.h"
#include "wire/field.h"
#include "wire/json/scan.h"

/* The revisions of the protocol. A set of revisions has one bit for each revision. */
enum revision {
    REV_2024_11_05,
    REV_2025_03_26,
    REV_2025_06_18,
    REV_2025_11_25,
    REV_2026_07_28,
    REV_COUNT, /* number of revisions; also stands for a missing or unknown revision */
};
enum {
    REVS_2024_11_05 = 1u << REV_2024_11_05,
    REVS_2025_03_26 = 1u << REV_2025_03_26,
    REVS_2025_06_18 = 1u << REV_2025_06_18,
    REVS_2025_11_25 = 1u << REV_2025_11_25,
    REVS_2026_07_28 = 1u << REV_2026_07_28,
    REVS_LEGACY = REVS_2026_07_28 - 1, /* set of the revisions that have the method initialize */
    REVS_ALL = REVS_LEGACY | REVS_2026_07_28,
};
/* date: such as "2025-06-18". Returns REV_COUNT if no revision has this date. */
enum revision revision_find_by_date(struct slice date);
const char *revision_name(enum revision r);

/* Capabilities that the server or the client must declare before a method is used. */
enum capability {
    CAP_NONE,
    CAP_TOOLS,
    CAP_TOOLS_CHANGED,
    CAP_RESOURCES,
    CAP_RESOURCES_CHANGED,
    CAP_SUBSCRIBE,
    CAP_PROMPTS,
    CAP_PROMPTS_CHANGED,
    CAP_LOGGING,
    CAP_COMPLETIONS,
    CAP_TASKS,
    CAP_TASKS_LIST,
    CAP_TASKS_CANCEL,
    CAP_ROOTS,
    CAP_ROOTS_CHANGED,
    CAP_SAMPLING,
    CAP_SAMPLING_TOOLS,
    CAP_ELICITATION,
    CAP_ELICITATION_FORM,
    CAP_ELICITATION_URL,
    /* tasks as defined in 2026-07-28; CAP_TASKS stands for tasks as defined in 2025-11-25 */
    CAP_TASKS_EXTENSION,
    CAP_COUNT
};
/* Returns the capabilities that this object declares, one bit each: 1u << CAP_TOOLS. */
uint32_t capabilities_read_from_object(struct json_value declared);

enum method_flag {
    /* the request may take arbitrarily long: it has a deadline only if the user sets one for its
     * method by name; the default deadline and globs do not apply */
    METHOD_PATIENT = 1,
    /* the method only reads, or has no further effect when repeated: it may be sent again */
    METHOD_READS = 2,
    METHOD_UNCANCELLED = 4, /* the request must not be cancelled (initialize) */
    METHOD_CACHED = 8,      /* in 2026-07-28, the result of the method has ttlMs and cacheScope */
    METHOD_ASKS_BACK = 16,  /* in 2026-07-28, the result of the method may be input_required */
    METHOD_STREAMED = 32,   /* the notification requires a subscription in 2026-07-28 */
    METHOD_LISTENS = 64,    /* the request opens a subscription; its result ends the subscription */
    /* the request returns the result of another request, so any type of result is possible */
    METHOD_PASSES_ON = 128,
};

/* A member of params or result, and the allowed types of its value. */
struct method_need {
    uint8_t field;  /* enum field */
    uint8_t must;   /* bits of the revisions that require the member; 0: always optional */
    uint16_t types; /* allowed types of the member, as bits: 1u << JSON_STRING | … */
};
#define METHOD_NEEDS_MAX 5

struct method {
    const char *name;
    uint8_t name_n;
    bool is_request;
    uint8_t from_client; /* bits of the revisions in which the client may send the method */
    uint8_t from_server; /* bits of the revisions in which the server may send the method */
    uint8_t flags;       /* enum method_flag */
    /* capability that the receiver of a request, or the sender of a notification, must declare */
    uint8_t capability;
    uint8_t capability_since; /* the first revision in which the capability exists */
    /* required and optional members; each list ends with an entry without types */
    struct method_need params[METHOD_NEEDS_MAX];
    struct method_need result[METHOD_NEEDS_MAX];
};

/* Returns the method with this raw name, or NULL if it is not a method of MCP. */
const struct method *method_find(struct slice raw);
/* Returns the method with this index in the table; NULL if `i` is greater than the index of the
 * last method. */
const struct method *method_at_index(size_t i);
/* Returns the flags of a method; 0 for an ordinary or unknown method. */
unsigned method_flags(struct slice raw);
/* Whether `name` can be a method that a client requests. True for such a method of MCP, for a
 * method of LSP, and for an unknown name with a `/`, as extensions have, unless it looks like a
 * misspelt method of MCP. If false, a sentence is appended to `why`. */
MI_MUST bool method_is_plausible(const char *name, struct buf *why);
/* Whether this is a method of LSP, such as shutdown, exit, $/…, textDocument/…. */
bool method_is_lsp(struct slice raw);

#endif
