#include "replay/plan/version.h"

#include "wire/json/text.h"

void plan_store_protocol_version(struct plan *p, bool modern, struct json_value v)
{
    char *version = p->version[modern];
    size_t n;
    if (v.type != JSON_STRING || version[0] != '\0' ||
        json_unescape_to(json_string_raw(v), version, sizeof p->version[modern] - 1, &n) < 0)
        return;
    version[n] = '\0';
}

const char *plan_get_protocol_version(const struct plan *p, bool modern)
{
    return p->version[modern];
}
