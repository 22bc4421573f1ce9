/* yaml.c - YAML 1.1, parsed by libyaml, whose events have the positions of their tokens. */
#include "cli/wrap/mcpfile/collect.h"
#include "cli/wrap/mcpfile/languages.h"

#include <yaml.h>

struct yaml {
    struct mcpfile_scan *s;
    yaml_parser_t parser;
    yaml_event_t event; /* the current event */
    /* index: index of a character of the file; at: byte offset of this character */
    size_t index, at;
    size_t end; /* offset after the last scalar or bracket */
    bool flow;  /* the current value is within brackets */
};

static bool scan_yaml_node(struct yaml *y, struct mcpfile_value *v);

/* Converts a character index of libyaml to a byte offset. Counts from the index of the previous
 * call, because indexes nearly always increase. */
static size_t mcpfile_yaml_index_to_offset(struct yaml *y, size_t index)
{
    const struct slice text = y->s->f->text;
    if (index < y->index)
        y->index = y->at = 0;
    while (y->index < index && y->at < text.n) {
        do
            y->at++;
        while (y->at < text.n && ((unsigned char)text.p[y->at] & 0xC0) == 0x80);
        y->index++;
    }
    return y->at;
}

static struct span yaml_get_bytes_of_token(struct yaml *y)
{
    size_t from = mcpfile_yaml_index_to_offset(y, y->event.start_mark.index);
    return (struct span){from, mcpfile_yaml_index_to_offset(y, y->event.end_mark.index) - from};
}

/* Moves to the next event. */
static bool mcpfile_yaml_next_event(struct yaml *y)
{
    yaml_event_delete(&y->event);
    if (yaml_parser_parse(&y->parser, &y->event) != 0)
        return true;
    struct mcpfile_scan *s = y->s;
    s->no_memory |= y->parser.error == YAML_MEMORY_ERROR;
    return mcpfile_fail(
        s, s->f->text.p + mcpfile_yaml_index_to_offset(y, y->parser.problem_mark.index),
        y->parser.problem != NULL ? y->parser.problem : "invalid YAML");
}

/* Records a scalar. A scalar counts as a string only if it is on one line and has no anchor or tag,
 * because only then can its text be moved. */
static void record_yaml_scalar(struct yaml *y, struct mcpfile_value *v)
{
    v->token = yaml_get_bytes_of_token(y);
    y->end = v->token.at + v->token.n;
    bool block = y->event.data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
                 y->event.data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
    bool simple = !block && y->event.data.scalar.anchor == NULL &&
                  y->event.data.scalar.tag == NULL && v->token.n > 0 &&
                  y->event.start_mark.line == y->event.end_mark.line;
    v->type = simple ? MCPFILE_STRING : MCPFILE_OTHER;
}

/* Returns whether only blanks and one dash precede the token on its line. */
static bool token_follows_dash(const struct mcpfile *f, struct span token)
{
    const char *p = f->text.p + token.at;
    while (p > f->text.p && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    if (p == f->text.p || *--p != '-')
        return false;
    while (p > f->text.p && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    return p == f->text.p || p[-1] == '\n';
}

static bool scan_yaml_sequence(struct yaml *y, struct mcpfile_value *v)
{
    struct mcpfile_scan *s = y->s;
    bool outer = y->flow, is_args = mcpfile_path_is_args(s);
    size_t from = yaml_get_bytes_of_token(y).at, depth = s->depth;
    v->type = MCPFILE_ARRAY;
    v->first_arg = s->f->args;
    y->flow = y->event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    v->dashes = !y->flow;
    mcpfile_push_key(s, (struct span){0});
    while (mcpfile_yaml_next_event(y) && y->event.type != YAML_SEQUENCE_END_EVENT) {
        struct mcpfile_value element = {0};
        if (!scan_yaml_node(y, &element))
            break;
        v->mixed |= element.type != MCPFILE_STRING;
        if (is_args && element.type == MCPFILE_STRING)
            mcpfile_add_arg(s, element.token);
    }
    mcpfile_pop_to_depth(s, depth);
    if (s->why != NULL)
        return false;
    if (y->flow)
        y->end = yaml_get_bytes_of_token(y).at + yaml_get_bytes_of_token(y).n;
    y->flow = outer;
    v->args_n = s->f->args - v->first_arg;
    v->uneven = v->dashes && v->args_n > 0 && !token_follows_dash(s->f, s->f->arg[v->first_arg]);
    v->token = (struct span){from, y->end - from};
    return true;
}

/* Moves to the last event of the value that begins at the current event. */
static bool mcpfile_yaml_skip_value(struct yaml *y)
{
    for (size_t open = 0;;) {
        yaml_event_type_t type = y->event.type;
        struct span t = yaml_get_bytes_of_token(y);
        if (t.n > 0)
            y->end = t.at + t.n;
        open += type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        open -= type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        if (open == 0)
            return true;
        if (!mcpfile_yaml_next_event(y))
            return false;
    }
}

/* Scans a member whose key begins at the current event. If the key is empty or not a scalar, skips
 * the member. */
static bool mcpfile_yaml_scan_member(struct yaml *y)
{
    struct mcpfile_scan *s = y->s;
    struct mcpfile_value v = {.on_line = !y->flow};
    size_t depth = s->depth;
    v.key = y->event.type == YAML_SCALAR_EVENT ? yaml_get_bytes_of_token(y) : (struct span){0};
    if (v.key.n == 0)
        return mcpfile_yaml_skip_value(y) && mcpfile_yaml_next_event(y) &&
               mcpfile_yaml_skip_value(y);
    if (!mcpfile_yaml_next_event(y))
        return false;
    mcpfile_push_key(s, v.key);
    bool good = scan_yaml_node(y, &v);
    if (good) {
        const struct slice text = s->f->text;
        v.end = y->end;
        while (v.on_line && v.end < text.n && text.p[v.end] != '\n')
            v.end++; /* a new member is inserted at the end of the line */
        if (v.on_line && v.end > 0 && v.end < text.n && text.p[v.end - 1] == '\r')
            v.end--;
        mcpfile_collect(s, &v);
    }
    mcpfile_pop_to_depth(s, depth);
    return good;
}

static bool scan_yaml_mapping(struct yaml *y, struct mcpfile_value *v)
{
    struct mcpfile_scan *s = y->s;
    bool outer = y->flow;
    size_t from = yaml_get_bytes_of_token(y).at, object = s->object;
    v->type = MCPFILE_TABLE;
    v->first_header = s->f->headers;
    y->flow = y->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    s->object = from;
    while (mcpfile_yaml_next_event(y) && y->event.type != YAML_MAPPING_END_EVENT)
        if (!mcpfile_yaml_scan_member(y))
            break;
    if (s->why != NULL)
        return false;
    if (y->flow)
        y->end = yaml_get_bytes_of_token(y).at + yaml_get_bytes_of_token(y).n;
    s->object = object;
    y->flow = outer;
    v->headers_n = s->f->headers - v->first_header;
    v->token = (struct span){from, y->end - from};
    return true;
}

/* Scans the value that begins at the current event. */
static bool scan_yaml_node(struct yaml *y, struct mcpfile_value *v)
{
    bool good = true;
    if (y->s->nesting == MCPFILE_DEPTH_MAX)
        return mcpfile_fail(y->s, y->s->f->text.p + yaml_get_bytes_of_token(y).at,
                            "too many nested brackets");
    y->s->nesting++;
    if (y->event.type == YAML_SCALAR_EVENT) {
        record_yaml_scalar(y, v);
    } else if (y->event.type == YAML_SEQUENCE_START_EVENT) {
        good = scan_yaml_sequence(y, v);
    } else if (y->event.type == YAML_MAPPING_START_EVENT) {
        good = scan_yaml_mapping(y, v);
    } else {
        v->type = MCPFILE_OTHER; /* the value is a YAML alias */
        v->token = yaml_get_bytes_of_token(y);
        y->end = v->token.at + v->token.n;
    }
    y->s->nesting--;
    return good;
}

static bool scan_yaml_document(struct yaml *y)
{
    struct mcpfile_value v = {0};
    /* the first two events are the start of the stream and the start of the document */
    if (!mcpfile_yaml_next_event(y) || !mcpfile_yaml_next_event(y))
        return false;
    if (y->event.type == YAML_STREAM_END_EVENT)
        return true; /* an empty file is valid, and has no servers */
    if (!mcpfile_yaml_next_event(y) || !scan_yaml_node(y, &v) || !mcpfile_yaml_next_event(y) ||
        !mcpfile_yaml_next_event(y))
        return false;
    return y->event.type == YAML_STREAM_END_EVENT ||
           mcpfile_fail(y->s, y->s->f->text.p + yaml_get_bytes_of_token(y).at,
                        "expected one document");
}

bool mcpfile_scan_yaml(struct mcpfile_scan *s)
{
    struct yaml y = {.s = s};
    if (yaml_parser_initialize(&y.parser) == 0) {
        s->no_memory = true;
        return mcpfile_fail(s, s->p, "out of memory");
    }
    yaml_parser_set_encoding(&y.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y.parser, (const unsigned char *)s->f->text.p, s->f->text.n);
    bool good = scan_yaml_document(&y);
    yaml_event_delete(&y.event);
    yaml_parser_delete(&y.parser);
    return good;
}

const char *mcpfile_libyaml_version(void)
{
    return yaml_get_version_string();
}
