/* mcpfile_value.c - values look alike in both languages; the pieces of which they are made do not. */
#include "cli/mcpfile_inner.h"

bool mcpfile_next(struct mcpfile_scan *s, char close)
{
    if (!s->language->skip(s))
        return false;
    if (mcpfile_sees(s, ',')) {
        s->p++;
        return s->language->skip(s);
    }
    return mcpfile_sees(s, close) || mcpfile_fail(s, s->p,
                                                  close == ']' ? "a comma or ] is expected here"
                                                               : "a comma or } is expected here");
}

static bool array(struct mcpfile_scan *s, struct mcpfile_value *v)
{
    bool wanted = mcpfile_wants_words(s);
    size_t depth = s->depth;
    v->word = s->f->words;
    s->p++;
    mcpfile_push(s, (struct span){0});
    bool good = s->language->skip(s);
    while (good && !mcpfile_sees(s, ']')) {
        struct mcpfile_value element = {0};
        good = mcpfile_value(s, &element) && mcpfile_next(s, ']');
        v->mixed |= element.type != MCPFILE_STRING;
        if (good && wanted && element.type == MCPFILE_STRING)
            mcpfile_word(s, element.token);
    }
    mcpfile_pop(s, depth);
    v->words = s->f->words - v->word;
    if (good)
        s->p++;
    return good;
}

bool mcpfile_value(struct mcpfile_scan *s, struct mcpfile_value *v)
{
    const char *from = s->p;
    bool good;
    if (s->nesting == MCPFILE_DEPTH_MAX)
        return mcpfile_fail(s, s->p, "too many brackets within brackets");
    if (s->p == s->end)
        return mcpfile_fail(s, s->p, "the file ends too early");
    s->nesting++;
    if (strchr(s->language->quotes, *s->p) != NULL) {
        v->type = MCPFILE_STRING;
        good = s->language->string(s, &v->token);
    } else if (*s->p == '{') {
        v->type = MCPFILE_TABLE;
        good = s->language->table(s);
    } else if (*s->p == '[') {
        v->type = MCPFILE_ARRAY;
        good = array(s, v);
    } else {
        v->type = MCPFILE_OTHER;
        good = s->language->literal(s);
    }
    s->nesting--;
    v->token = mcpfile_since(s, from);
    return good;
}
