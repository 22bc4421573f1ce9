/* node.h - a compiled schema. Internal to wire/schema/.
 *
 * The JSON of a schema is kept as a tree. Each subschema has one rule: a range of keywords, in the order of enum
 * keyword. Each keyword refers to the node of its value. Nothing here blocks. */
#ifndef MI_WIRE_SCHEMA_NODE_H
#define MI_WIRE_SCHEMA_NODE_H

#include "base/pattern.h"
#include "base/work.h"
#include "wire/json/tree.h"
#include "wire/schema/compile.h"

/* In the order in which they are checked: cheap ones first. */
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
    KW_DEFS, /* only contains schemas for $ref */
    KW_COUNT
};

struct schema_keyword {
    uint32_t at;   /* node of its value */
    uint32_t rule; /* of $ref: number of the target rule plus one; 0: not in this document */
    uint8_t word;  /* enum keyword */
};

struct schema_rule {
    uint32_t first, n; /* of its keywords */
    bool never;        /* the schema `false` */
};

#define SCHEMA_NO_RULE UINT32_MAX

struct schema {
    char *text; /* owned, like all members below */
    size_t text_n;
    struct json_tree tree;
    bool draft7;
    struct schema_rule *rule; /* 0 is the root */
    size_t rules;
    struct schema_keyword *keyword;
    size_t keywords, keywords_cap;
    uint32_t *rule_of;        /* of each node; SCHEMA_NO_RULE: not a schema */
    struct pattern **pattern; /* of each node; NULL: not a pattern, or an invalid one */
    struct buf scratch[2];    /* unescaped text */
    struct schema_limits *limits;
    struct schema_limits own; /* if the caller has none */
    size_t taken;             /* of the quota, without patterns */
    struct work work;         /* while it is compiled */
};

static inline const struct json_node *schema_node(const struct schema *s, uint32_t at)
{
    return &s->tree.node[at];
}

/* Does the text have this format? Always true for an unknown format. */
bool schema_format_fits(struct slice format, struct slice text);
/* The name with its article, "a date-time"; NULL: the format is not checked. */
const char *schema_format_name(struct slice format);

#endif
