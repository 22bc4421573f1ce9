/* require.c - checks that several files use: members of a message, and parts of capabilities. */
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

breaches protocol_check_subcapability(const struct method *k, struct json_value params,
                                      uint32_t has)
{
    struct slice method = slice_of(k->name);
    enum capability part = CAP_NONE;
    if (json_key_is(method, "elicitation/create"))
        part = json_key_is(json_string_raw(json_get(params, "mode")), "url") ? CAP_ELICITATION_URL
                                                                             : CAP_ELICITATION_FORM;
    else if (json_key_is(method, "sampling/createMessage") &&
             json_get(params, "tools").type != JSON_NONE)
        part = CAP_SAMPLING_TOOLS;
    bool lacking = part != CAP_NONE && (has & 1u << k->capability) != 0 && (has & 1u << part) == 0;
    return lacking ? RULE(RULE_UNDECLARED_CAPABILITY) : 0;
}
