#include "wire/json/tree.h"

#include "wire/json/text.h"

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>
#include <stdlib.h>

/* number of tokens that fit on the stack; most calls have arguments with fewer tokens */
#define SHORT 64

/* Makes a node for each token, except for the keys of objects. node_of and `last` are scratch
 * arrays: the node of each token, and the last child of each node. */
static void make_tree_nodes(struct json_tree *t, const char *text, const jsmntok_t *tok, size_t n,
                            uint32_t *node_of, uint32_t *last)
{
    for (size_t i = 0; i < n; i++) {
        const jsmntok_t *up = tok[i].parent >= 0 ? &tok[tok[i].parent] : NULL;
        if (up != NULL && up->type == JSMN_OBJECT)
            /* The token is a key. Its value is the next token, which jsmn makes a child of the
             * key. */
            continue;
        uint32_t me = (uint32_t)t->n++;
        struct json_node *node = &t->node[me];
        /* the text of a string has no quotes in jsmn, but has quotes in a node */
        size_t quote = tok[i].type == JSMN_STRING;
        const char *p = text + tok[i].start - quote;
        size_t value_n = (size_t)(tok[i].end - tok[i].start) + 2 * quote;
        *node = (struct json_node){.value = {json_type_at(*p), {p, value_n}}};
        node_of[i] = me;
        last[me] = 0;
        if (up == NULL)
            continue;
        if (up->type == JSMN_STRING) {
            node->key = (struct slice){text + up->start, (size_t)(up->end - up->start)};
            node->up = node_of[up->parent];
        } else {
            node->up = node_of[tok[i].parent];
        }
        if (last[node->up] != 0)
            t->node[last[node->up]].next = me;
        else
            t->node[node->up].child = me;
        last[node->up] = me;
        t->node[node->up].count++;
        node->depth = t->node[node->up].depth + 1;
    }
}

static int build_nodes(struct json_tree *t, struct slice text, const jsmntok_t *tok, size_t n,
                       uint32_t *node_of)
{
    t->node = malloc(n * sizeof *t->node);
    if (t->node == NULL)
        return MI_ENOMEM;
    make_tree_nodes(t, text.p, tok, n, node_of, node_of + n);
    return 0;
}

/* Whether the text has too many levels, or too many values in deep levels. Call it before jsmn
 * runs: at the end of each array and object, jsmn climbs from the last token to the token that
 * ends, so the time of jsmn is quadratic in the number of levels. */
static bool json_has_too_many_levels(struct slice text)
{
    size_t depth = 0, last = 0, climbed = 0; /* `last`: the level of the last token */
    for (const char *p = text.p, *end = p + text.n; p < end; p++) {
        switch (*p) {
        case '}':
        case ']':
            climbed += last - --depth;
            if (climbed > JSON_TREE_CLIMBS)
                return true;
            break;
        case '{':
        case '[':
            if (++depth > JSON_TREE_DEPTH)
                return true;
            last = depth;
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\n':
        case ',':
        case ':':
            break;
        case '"':
            while (++p < end && *p != '"')
                p += *p == '\\';
            last = depth + 1;
            break;
        default:
            last = depth + 1;
        }
    }
    return false;
}

/* Builds the tree of a text with more than SHORT tokens: counts the tokens first. */
static int build_long_tree(struct json_tree *t, struct slice text)
{
    jsmn_parser parser;
    jsmn_init(&parser);
    int n = jsmn_parse(&parser, text.p, text.n, NULL, 0);
    if (n <= 0)
        return MI_EPROTO;
    if ((size_t)n > 2 * JSON_TREE_MAX || json_has_too_many_levels(text))
        return MI_EFULL;
    jsmntok_t *tok = calloc((size_t)n, sizeof *tok);
    uint32_t *node_of = calloc((size_t)n * 2, sizeof *node_of);
    jsmn_init(&parser);
    int st = tok == NULL || node_of == NULL ? MI_ENOMEM : 0;
    if (st == 0 && jsmn_parse(&parser, text.p, text.n, tok, (unsigned)n) != n)
        st = MI_EPROTO;
    if (st == 0)
        st = build_nodes(t, text, tok, (size_t)n, node_of);
    free(tok);
    free(node_of);
    return st;
}

/* Builds the tree of an object or array. Up to SHORT tokens need no memory besides the nodes. */
static int build_tree(struct json_tree *t, struct slice text)
{
    jsmn_parser parser;
    jsmntok_t tok[SHORT];
    uint32_t node_of[SHORT * 2];
    jsmn_init(&parser);
    int n = jsmn_parse(&parser, text.p, text.n, tok, SHORT);
    if (n == JSMN_ERROR_NOMEM)
        return build_long_tree(t, text);
    return n > 0 ? build_nodes(t, text, tok, (size_t)n, node_of) : MI_EPROTO;
}

int json_tree_open(struct json_tree *t, struct slice text)
{
    *t = (struct json_tree){0};
    while (text.n > 0 && (*text.p == ' ' || *text.p == '\t' || *text.p == '\n' || *text.p == '\r'))
        text = (struct slice){text.p + 1, text.n - 1};
    if (text.n == 0)
        return MI_EPROTO;
    if (text.n > JSON_TREE_TEXT_MAX)
        return MI_EFULL;
    int st;
    if (*text.p == '{' || *text.p == '[') {
        st = build_tree(t, text);
    } else { /* jsmn accepts a number only if a byte follows it */
        t->node = calloc(1, sizeof *t->node);
        st = t->node == NULL ? MI_ENOMEM : 0;
        while (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t' ||
               text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r')
            text.n--;
        if (st == 0)
            t->node[t->n++].value = (struct json_value){json_type_at(*text.p), text};
    }
    if (st < 0)
        json_tree_close(t);
    return st;
}

void json_tree_close(struct json_tree *t)
{
    free(t->node);
    *t = (struct json_tree){0};
}

uint32_t json_tree_get(const struct json_tree *t, uint32_t object, const char *name)
{
    uint32_t found = 0;
    if (t->node[object].value.type != JSON_OBJECT)
        return 0;
    for (uint32_t c = t->node[object].child; c != 0; c = t->node[c].next)
        if (json_key_is(t->node[c].key, name))
            found = c;
    return found;
}
