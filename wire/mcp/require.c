/* require.c - members and capabilities that a message must have, in any revision. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"

bool protocol_lacks_member(struct protocol *p, const uint8_t *have, enum field f,
                           enum json_type type)
{
    if (have[f] == type)
        return false;
    p->blame = field_name(f);
    return true;
}

/* Returns the part of a capability that a request of the server needs, from 2025-11-25 on: the mode
 * of an elicitation, or tools in sampling. CAP_NONE: no part. */
static enum capability capability_part_needed(struct slice method, struct json_value params)
{
    if (json_key_is(method, "elicitation/create"))
        return json_key_is(json_string_raw(json_get(params, "mode")), "url") ? CAP_ELICITATION_URL
                                                                             : CAP_ELICITATION_FORM;
    bool tools = json_key_is(method, "sampling/createMessage") &&
                 json_get(params, "tools").type != JSON_NONE;
    return tools ? CAP_SAMPLING_TOOLS : CAP_NONE;
}

breaches protocol_check_part(const struct method *k, struct json_value params, uint32_t has)
{
    enum capability part = capability_part_needed(slice_of(k->name), params);
    bool lacking = part != CAP_NONE && (has & 1u << k->capability) != 0 && (has & 1u << part) == 0;
    return lacking ? RULE(RULE_UNDECLARED_CAPABILITY) : 0;
}
