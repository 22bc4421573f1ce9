/* context.h - computes how much of a model's context a message fills, in estimated tokens
 * (base/tokens.h).
 *
 * Definition  of a tool, prompt or resource: the members name, description, inputSchema,
 *             outputSchema, annotations, arguments, uri, uriTemplate and mimeType are counted, as
 *             one JSON object with their text as sent. Other members, such as title, icons and
 *             _meta, are not counted, because they are for clients and people.
 * Result      of tools/call, prompts/get and resources/read, also if it is fetched by tasks/result
 *             or tasks/get: the unescaped texts in content, messages or contents are counted, and
 *             the uri, name and description of a resource_link. If there is no text,
 *             structuredContent is counted as JSON. Of an error, the message is counted.
 *             Images, audio and blobs are not counted in tokens, because their cost depends on the
 *             model. Their number and size are counted instead; the size is computed from the
 *             length of the base64 text.
 * Input       JSON text that json_scan() has accepted.
 * Owns        nothing.
 * Blocks      never. Pure. */
#ifndef MI_MODEL_CONTEXT_H
#define MI_MODEL_CONTEXT_H

#include "base/tokens.h"
#include "wire/rpc.h"

#define CONTEXT_UNKNOWN (-1)
/* Clients truncate results that have about this many tokens or more. */
#define CONTEXT_LARGE_RESULT 25000
/* Returns the tokens of one definition in tools/list, prompts/list, resources/list or
 * resources/templates/list. */
int64_t context_count_definition_tokens(struct slice object);
/* Counts the tokens of all members of an array of definitions. */
int64_t context_count_definitions_tokens(struct json_value array);
/* Counts the tokens of the text of a JSON string, given without its quotes. */
int64_t context_count_text_tokens(struct slice raw);
/* Returns whether the results of this method are counted. */
bool context_counts_method_results(struct slice method);

/* How much a result adds to a model's context. All members are CONTEXT_UNKNOWN if the message is
 * neither an error nor a result of a method that context_counts_method_results() accepts. */
struct context_result {
    int64_t tokens;      /* tokens of the result's text */
    int64_t binaries;    /* number of images, audio and blobs */
    int64_t binary_size; /* total size in bytes of images, audio and blobs */
};
#define CONTEXT_NO_RESULT                                                                          \
    ((struct context_result){CONTEXT_UNKNOWN, CONTEXT_UNKNOWN, CONTEXT_UNKNOWN})
struct context_result context_result(const struct rpc *m);

#endif
