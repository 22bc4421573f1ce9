#include "model/input_request.h"

#include "model/asker.h"

struct slice input_request_url_host(struct slice url)
{
    const char *end = url.p + url.n, *p = url.p;
    while (p + 1 < end && !(p[0] == '/' && p[1] == '/'))
        p++;
    if (p + 1 >= end)
        return (struct slice){0};
    const char *from = p + 2, *to = from;
    while (to < end && strchr("/?#\\", *to) == NULL) {
        if (*to == '@')
            from = to + 1;
        to++;
    }
    const char *colon = from < to && *from == '[' ? memchr(from, ']', (size_t)(to - from)) : from;
    colon = colon != NULL ? memchr(colon, ':', (size_t)(to - colon)) : NULL;
    return (struct slice){from, (size_t)((colon != NULL ? colon : to) - from)};
}

bool input_request_read(struct json_value request, struct input_request *ret)
{
    enum asks what = asker_classify_request(json_string_raw(json_get(request, "method")));
    if (what == ASKS_NOTHING)
        return false;
    *ret = (struct input_request){.what = slice_of(asker_get_request_method(what))};
    if (what != ASKS_PERSON)
        return true;
    struct json_value params = json_get(request, "params");
    struct slice url = json_string_raw(json_get(params, "url"));
    ret->message = json_string_raw(json_get(params, "message"));
    ret->mode = json_string_raw(json_get(params, "mode"));
    if (ret->mode.p == NULL) /* older revisions have only the mode "form" */
        ret->mode = slice_of("form");
    if (json_key_is(ret->mode, "url"))
        ret->url = url;
    return true;
}

const char *input_outcome_word(struct json_value result, bool is_error)
{
    struct slice action = json_string_raw(json_get(result, "action"));
    if (is_error)
        return "failed";
    return json_key_is(action, "decline")  ? "declined"
           : json_key_is(action, "cancel") ? "cancelled"
                                           : "accepted";
}
