/* rule.h - the rules of MCP that a message can violate, under stable names.
 *
 * Findings (finding.h) are about the line, the JSON-RPC message and its handling; rules are about
 * MCP. The names of both are an interface: they are stored in `messages.finding` and documented in
 * docs/findings.md.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_RULE_H
#define MI_WIRE_MCP_RULE_H

#include "wire/finding.h"

enum rule {
    /* rules about the handshake, and about messages before its end */
    RULE_REQUEST_BEFORE_INITIALIZE,
    RULE_REQUEST_BEFORE_INITIALIZED,
    RULE_BARE_INITIALIZED,
    RULE_SECOND_INITIALIZE,
    RULE_EARLY_SERVER_REQUEST,
    RULE_EARLY_SERVER_MESSAGE,
    RULE_UNKNOWN_REVISION,
    /* rules about methods, their params and results */
    RULE_UNKNOWN_METHOD,
    RULE_LSP_METHOD,
    RULE_OTHER_REVISION,
    RULE_WRONG_DIRECTION,
    RULE_UNDECLARED_CAPABILITY,
    RULE_INVALID_PARAMS,
    RULE_INVALID_RESULT,
    RULE_REPEATED_ID,
    RULE_REUSED_TOKEN,
    RULE_PROGRESS_NOT_INCREASING,
    RULE_STRAY_PROGRESS,
    RULE_REPEATED_CURSOR,
    RULE_ANSWER_AS_NOTIFICATION,
    RULE_RESERVED_ERROR_CODE,
    RULE_MISSING_ERROR_DATA,
    RULE_DUPLICATE_NAME,
    RULE_STRAY_CANCELLATION,
    RULE_CANCELLED_TASK,
    RULE_SECRET_IN_FORM,
    /* 2026-07-28 */
    RULE_SERVER_REQUEST,
    RULE_CLIENT_ANSWER,
    RULE_MISSING_META,
    RULE_MISSING_RESULT_TYPE,
    RULE_UNKNOWN_RESULT_TYPE,
    RULE_MISSING_CACHE_FIELDS,
    RULE_INVALID_CACHE_FIELDS,
    RULE_INVALID_META,
    RULE_INVALID_TASK,
    RULE_MISPLACED_INPUT_REQUIRED,
    RULE_INVALID_INPUT_REQUEST,
    RULE_REUSED_INPUT_KEY,
    RULE_UNKNOWN_INPUT_KEY,
    RULE_BAD_RETRY,
    RULE_NOT_ACKNOWLEDGED,
    RULE_NO_SUBSCRIPTION,
    RULE_UNASKED_NOTIFICATION,
    RULE_UNASKED_LOG,
    /* tools */
    RULE_UNKNOWN_TOOL,
    RULE_INVALID_ARGUMENTS,
    RULE_INVALID_STRUCTURED_CONTENT,
    RULE_TOOL_CHANGED,
    RULE_SCHEMA_NOT_CHECKED,
    RULE_LARGE_RESULT,
    RULE_NO_PROGRESS,
    RULE_COUNT
};
_Static_assert(RULE_COUNT <= 64, "a set of rules is one uint64_t");

typedef uint64_t breaches; /* a set of rules: RULE(RULE_UNKNOWN_METHOD) | … */
#define RULE(r) ((breaches)1 << (r))
/* Rules about a single member; `blame` in struct protocol has the name of the member. */
#define RULES_OF_MEMBERS                                                                           \
    (RULE(RULE_INVALID_PARAMS) | RULE(RULE_INVALID_RESULT) | RULE(RULE_MISSING_ERROR_DATA) |       \
     RULE(RULE_INVALID_CACHE_FIELDS) | RULE(RULE_INVALID_META) | RULE(RULE_INVALID_TASK) |         \
     RULE(RULE_INVALID_INPUT_REQUEST))

const char *rule_name(enum rule r);    /* "unknown-method" */
const char *rule_meaning(enum rule r); /* one sentence */
const char *rule_remedy(enum rule r);  /* sentences that state the usual cause and what to do */
enum severity rule_severity(enum rule r);
/* Returns the rules of the set that are a MUST in the specification; these have the severity
 * error. */
breaches rules_select_errors(breaches set);

/* Appends the names of the findings, then those of the broken rules, joined by commas. */
void finding_append_names(struct buf *b, findings set, breaches broken);

struct finding_info {
    const char *name, *meaning, *remedy;
    enum severity severity;
    findings finding; /* bit of the finding; 0 if the name is that of a rule */
    breaches rule;    /* bit of the rule; 0 if the name is that of a finding */
};
/* Looks up the name of a finding or a rule. Returns false if it is unknown. */
bool finding_by_name(struct slice name, struct finding_info *ret);

#endif
