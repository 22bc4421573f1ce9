/* node.h - a compiled schema. Internal to wire/schema/.
 *
 * The JSON of a schema is kept as a tree. Each subschema has one rule: a range of keywords, in the
 * order of enum keyword. Each keyword refers to the node of its value. Nothing here blocks. */
#ifndef MI_WIRE_SCHEMA_NODE_H
#define MI_WIRE_SCHEMA_NODE_H

#include "base/pattern.h"
#include "base/work.h"
#include "wire/json/tree.h"
#include "wire/schema/compile.h"

/* The dialects, in the order of their publication. A dialect does not have the keywords that later
 * dialects added. */
enum dialect {
    DIALECT_DRAFT4,
    DIALECT_DRAFT6,
    DIALECT_DRAFT7,
    DIALECT_2019,
    DIALECT_2020, /* the default */
    DIALECT_UNKNOWN
};

/* Keywords in the order in which they are checked: cheap keywords come first. Keywords that depend
 * on what other keywords have evaluated come last. */
enum keyword {
    /* a `$schema` with an unsupported dialect, or with another dialect than that of the root
     * schema */
    KW_DIALECT,
    KW_REF,
    KW_DYNAMIC_REF, /* $dynamicRef or $recursiveRef */
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
    KW_UNEVALUATED_PROPERTIES,
    KW_UNEVALUATED_ITEMS,
    KW_DEFS, /* $defs or definitions: only contains schemas for $ref */
    KW_COUNT
};

struct schema_keyword {
    uint32_t at; /* node of the keyword's value */
    /* for a reference: number of the target rule plus one; 0: the target is not in this document */
    uint32_t rule;
    /* for KW_DYNAMIC_REF: group of the anchors that have the name in the reference; 0: the
     * reference is treated like a $ref */
    uint32_t group;
    uint8_t word; /* enum keyword */
};

struct schema_rule {
    uint32_t first, n; /* its keywords */
    uint32_t base; /* the resource that contains the rule; set only if there are dynamic anchors */
    bool never;    /* true: the schema is the value `false` */
    bool unevaluated; /* true: the rule has one of the keywords KW_UNEVALUATED_… */
};

/* A possible target of a KW_DYNAMIC_REF: the rule `rule`, if the resource `base` is being
 * evaluated. */
struct schema_anchor {
    uint32_t group, base, rule;
};

#define SCHEMA_NO_RULE UINT32_MAX

struct schema {
    char *text; /* owned, like the other pointers of this struct except `limits` */
    size_t text_n;
    struct json_tree tree;
    enum dialect dialect;
    bool unevaluated;         /* true: a rule has one of the keywords KW_UNEVALUATED_… */
    struct schema_rule *rule; /* rule[0] is the root */
    size_t rules;
    struct schema_keyword *keyword;
    size_t keywords, keywords_cap;
    struct schema_anchor *anchor; /* the dynamic anchors, ordered by group and base */
    size_t anchors;
    /* for each node: number of its rule; SCHEMA_NO_RULE: the node is not a schema */
    uint32_t *rule_of;
    /* for each node: the compiled pattern; NULL: the node is not a pattern, or its pattern is
     * invalid */
    struct pattern **pattern;
    struct buf scratch[2]; /* unescaped text */
    /* the limits; borrowed from the caller, or a pointer to the member `own` */
    struct schema_limits *limits;
    struct schema_limits own; /* limits that are used if the caller passes none */
    size_t taken;     /* bytes of the schema that count against the quota, without its patterns */
    struct work work; /* steps that the compiler has taken so far */
};

static inline const struct json_node *schema_get_node(const struct schema *s, uint32_t at)
{
    return &s->tree.node[at];
}

/* Returns the dialect that a `$schema` names. */
enum dialect schema_read_dialect(struct json_value value);
/* Turns a subschema and its subschemas into rules, unless this was done before. Returns 0, MI_EFULL
 * or MI_ENOMEM. */
MI_MUST int schema_compile(struct schema *s, uint32_t at);
/* Finds the targets of all references. Returns what schema_compile() returns. */
MI_MUST int schema_link_references(struct schema *s);

/* Whether the text has this format. Always true for an unknown format. */
bool schema_text_has_format(struct slice format, struct slice text);
/* Returns a format in words, such as "a date as in RFC 3339"; NULL if the format is not checked. */
const char *schema_describe_format(struct slice format);

#endif
