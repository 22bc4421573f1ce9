/* schema_inner.h - what the files of the schema module share: schema.c compiles, schema_check.c and
 * schema_value.c hold values against what came of it, schema_format.c knows the formats.
 *
 * A schema's JSON stays a tree; of each subschema there is one rule, which is a run of keywords in the order
 * of enum keyword. A keyword knows the node of its value, and what was made of it. */
#ifndef MI_WIRE_SCHEMA_INNER_H
#define MI_WIRE_SCHEMA_INNER_H

#include "base/pattern.h"
#include "wire/json_tree.h"
#include "wire/schema.h"

/* In the order in which they are looked at: cheap ones first. */
enum keyword {
    KW_REF,
    KW_TYPE,
    KW_ENUM,
    KW_CONST,
    KW_MULTIPLE_OF,
    KW_MINIMUM,
    KW_MAXIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_MIN_LENGTH,
    KW_MAX_LENGTH,
    KW_FORMAT,
    KW_PATTERN,
    KW_MIN_ITEMS,
    KW_MAX_ITEMS,
    KW_MIN_PROPERTIES,
    KW_MAX_PROPERTIES,
    KW_REQUIRED,
    KW_DEPENDENT_REQUIRED,
    KW_PROPERTIES,
    KW_PATTERN_PROPERTIES,
    KW_ADDITIONAL_PROPERTIES,
    KW_PROPERTY_NAMES,
    KW_PREFIX_ITEMS,
    KW_ITEMS,
    KW_ADDITIONAL_ITEMS,
    KW_CONTAINS,
    KW_MIN_CONTAINS,
    KW_MAX_CONTAINS,
    KW_UNIQUE_ITEMS,
    KW_DEPENDENCIES,
    KW_DEPENDENT_SCHEMAS,
    KW_ALL_OF,
    KW_ANY_OF,
    KW_ONE_OF,
    KW_NOT,
    KW_IF,
    KW_THEN,
    KW_ELSE,
    KW_DEFS, /* only holds schemas that are referred to */
    KW_COUNT
};

struct schema_keyword {
    uint32_t at;   /* node of its value */
    uint32_t rule; /* $ref: the rule it leads to, and one more; 0: out of the document */
    uint8_t word;  /* enum keyword */
};

struct schema_rule {
    uint32_t first, n; /* of its keywords */
    bool never;        /* `false` */
};

#define SCHEMA_NO_RULE UINT32_MAX

struct schema {
    char *text; /* owned, like all below */
    size_t text_n;
    struct json_tree tree;
    bool draft7;
    struct schema_rule *rule; /* 0 is the root */
    size_t rules;
    struct schema_keyword *keyword;
    size_t keywords, keywords_cap;
    uint32_t *rule_of;        /* of each node; SCHEMA_NO_RULE: it is no schema */
    struct pattern **pattern; /* of each node; NULL: it is none, or a broken one */
    struct buf scratch[2];    /* text without escapes */
};

static inline const struct json_node *schema_node(const struct schema *s, uint32_t at)
{
    return &s->tree.node[at];
}

/* Does the text have this format? One that is not known has no rule. */
bool schema_format_fits(struct slice format, struct slice text);
/* "a date-time": for a sentence; NULL: it is not one that is looked at. */
const char *schema_format_name(struct slice format);

#endif
