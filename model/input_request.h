/* input_request.h - reads what a server asks the user for, and how the client answers.
 *
 * Rules     a request is an object with `method` and `params`. In revision 2026-07-28 it is a
 *           member of `inputRequests`; in older revisions it is a message of the server. Its answer
 *           is a result, or an error (mcp-wire.md 2.3, 3.3).
 * Owns      nothing: texts are borrowed from the JSON, between the quotes, escapes as written.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_INPUT_REQUEST_H
#define MI_MODEL_INPUT_REQUEST_H

#include "wire/json/text.h"

struct input_request {
    struct slice what;    /* the method */
    struct slice mode;    /* mode of an elicitation: form or url */
    struct slice url;     /* the URL of an elicitation whose mode is url */
    struct slice message; /* text of an elicitation for the user */
};

/* Returns false if the request is not a request for input. */
bool input_request_read(struct json_value request, struct input_request *ret);
/* Returns the host of a URL that has no escapes: the part after "//" and an optional "user@", up to
 * the port, path, query or fragment. {NULL, 0}: the URL has no host. */
struct slice input_request_url_host(struct slice url);
/* Returns "accepted", "declined" or "cancelled", or "failed" for an error; never a value that the
 * user entered. */
const char *input_outcome_word(struct json_value result, bool is_error);

#endif
