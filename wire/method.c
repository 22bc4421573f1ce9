#include "wire/method.h"

#include "wire/json_text.h"

static const struct {
    const char *name;
    unsigned flags;
} methods[] = {
    /* An initialize without an answer changed nothing that anybody has seen. */
    {"initialize", METHOD_UNCANCELLED | METHOD_READS},
    {"ping", METHOD_READS},
    {"server/discover", METHOD_PATIENT | METHOD_READS},
    {"tools/list", METHOD_READS},
    {"resources/list", METHOD_READS},
    {"resources/templates/list", METHOD_READS},
    {"resources/read", METHOD_READS},
    {"prompts/list", METHOD_READS},
    {"prompts/get", METHOD_READS},
    {"completion/complete", METHOD_READS},
    {"logging/setLevel", METHOD_READS},      /* setting it twice is setting it once */
    {"resources/subscribe", METHOD_READS},   /* the same */
    {"resources/unsubscribe", METHOD_READS}, /* the same */
    {"subscriptions/listen", METHOD_PATIENT | METHOD_READS},
    {"tasks/result", METHOD_PATIENT},
};

#define NAME_MAX_BYTES 32 /* longest of the names above, and more */

unsigned method_flags(struct slice raw)
{
    char place[NAME_MAX_BYTES];
    size_t n;
    if (raw.p == NULL)
        return 0;
    if (memchr(raw.p, '\\', raw.n) != NULL) {
        if (json_unescape_to(raw, place, sizeof place, &n) < 0)
            return 0;
        raw = (struct slice){place, n};
    }
    for (size_t i = 0; i < MI_COUNT(methods); i++)
        if (slice_is(raw, methods[i].name))
            return methods[i].flags;
    return 0;
}
