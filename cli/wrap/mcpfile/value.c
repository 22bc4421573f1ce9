#include "cli/wrap/mcpfile/value.h"

#include "cli/wrap/mcpfile/collect.h"

bool mcpfile_end_element(struct mcpfile_scan *s, char close)
{
    if (!s->language->skip(s))
        return false;
    if (mcpfile_next_char_is(s, ',')) {
        s->p++;
        return s->language->skip(s);
    }
    return mcpfile_next_char_is(s, close) ||
           mcpfile_fail(s, s->p, close == ']' ? "expected a comma or ]" : "expected a comma or }");
}

static bool scan_array(struct mcpfile_scan *s, struct mcpfile_value *v)
{
    bool is_args = mcpfile_path_is_args(s);
    size_t depth = s->depth;
    v->first_arg = s->f->args;
    s->p++;
    mcpfile_push_key(s, (struct span){0});
    bool good = s->language->skip(s);
    while (good && !mcpfile_next_char_is(s, ']')) {
        struct mcpfile_value element = {0};
        good = mcpfile_scan_value(s, &element) && mcpfile_end_element(s, ']');
        v->mixed |= element.type != MCPFILE_STRING;
        if (good && is_args && element.type == MCPFILE_STRING)
            mcpfile_add_arg(s, element.token);
    }
    mcpfile_pop_to_depth(s, depth);
    v->args_n = s->f->args - v->first_arg;
    if (good)
        s->p++;
    return good;
}

bool mcpfile_scan_value(struct mcpfile_scan *s, struct mcpfile_value *v)
{
    const char *from = s->p;
    bool good;
    if (s->nesting == MCPFILE_DEPTH_MAX)
        return mcpfile_fail(s, s->p, "too many nested brackets");
    if (s->p == s->end)
        return mcpfile_fail(s, s->p, "unexpected end of the file");
    s->nesting++;
    if (strchr(s->language->quotes, *s->p) != NULL) {
        v->type = MCPFILE_STRING;
        good = s->language->string(s, &v->token);
    } else if (*s->p == '{') {
        v->type = MCPFILE_TABLE;
        v->first_header = s->f->headers;
        good = s->language->table(s);
        v->headers_n = s->f->headers - v->first_header;
    } else if (*s->p == '[') {
        v->type = MCPFILE_ARRAY;
        good = scan_array(s, v);
    } else {
        v->type = MCPFILE_OTHER;
        good = s->language->literal(s);
    }
    s->nesting--;
    v->token = mcpfile_span_from_pointer(s, from);
    return good;
}
