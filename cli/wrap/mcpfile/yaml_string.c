#include "cli/wrap/mcpfile/yaml_string.h"

#include <yaml.h>

/* The first scalar of the text; false: out of memory. */
static bool read_scalar(struct slice text, struct buf *b)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool done = false;
    if (yaml_parser_initialize(&parser) == 0)
        return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    while (!done && yaml_parser_parse(&parser, &event) != 0) {
        done = event.type == YAML_SCALAR_EVENT || event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT)
            buf_add(b, (const char *)event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return done;
}

void mcpfile_yaml_string(struct slice token, struct buf *b)
{
    if (token.p[0] == '"' || token.p[0] == '\'')
        b->failed |= !read_scalar(token, b);
    else
        buf_slice_add(b, token); /* a plain scalar on one line has no escapes */
}
