/* error_data.c - checks the code of an error, and the members that its data must have. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"

/* Whether the code is reserved for MCP, and not defined for stdio in this revision. */
static bool error_code_is_reserved(int64_t code, enum revision revision)
{
    bool modern = revision == REV_2026_07_28;
    return (code == -32042 && revision != REV_2025_11_25) ||
           (modern && (code == -32002 || code == -32020 || (code <= -32023 && code >= -32099)));
}

breaches protocol_check_error(struct protocol *p, const struct rpc *m, enum revision revision)
{
    static const struct {
        int64_t code;
        enum revision revision;
        const char *name;
        enum json_type type;
    } needs[] = {
        {-32021, REV_2026_07_28, "requiredCapabilities", JSON_OBJECT},
        {-32022, REV_2026_07_28, "supported", JSON_ARRAY},
        {-32022, REV_2026_07_28, "requested", JSON_STRING},
        {-32042, REV_2025_11_25, "elicitations", JSON_ARRAY},
    };
    int64_t code;
    if (revision == REV_COUNT || !json_int(m->error_code, &code))
        return 0;
    for (size_t i = 0; i < MI_COUNT(needs); i++) {
        if (needs[i].code != code || needs[i].revision != revision ||
            json_get(json_get(m->error, "data"), needs[i].name).type == needs[i].type)
            continue;
        p->blame = needs[i].name;
        return RULE(RULE_MISSING_ERROR_DATA);
    }
    return error_code_is_reserved(code, revision) ? RULE(RULE_RESERVED_ERROR_CODE) : 0;
}
