/* mcpfile_inner.h - what the two scanners of a client's configuration file share.
 *
 * Layers    a language (mcpfile_json.c, mcpfile_toml.c) has its own blanks, strings, tables and literals, and tells
 *           of each key and value; mcpfile_value.c puts values together; mcpfile.c knows which of them make a server.
 * Errors    false, everywhere: mcpfile_fail() was called, and the scan is over.
 *
 * Only cli/mcpfile*.c include this. */
#ifndef MI_CLI_MCPFILE_INNER_H
#define MI_CLI_MCPFILE_INNER_H

#include "cli/mcpfile.h"

#define MCPFILE_LEVELS 8 /* keys of a path that are kept; what matters lies higher */

struct mcpfile_language;

/* A scan in progress. A level of the path is a key as written; n == 0: an element of an array. */
struct mcpfile_scan {
    struct mcpfile *f;
    const struct mcpfile_language *language;
    const char *p, *end;
    struct span level[MCPFILE_LEVELS];
    size_t depth;    /* of the path, those not kept included */
    size_t nesting;  /* brackets that are open */
    size_t object;   /* where the innermost JSON object begins */
    const char *why; /* the first fault; NULL: none */
    const char *at;  /* where it is */
    bool no_memory;
};

enum mcpfile_type { MCPFILE_STRING, MCPFILE_ARRAY, MCPFILE_TABLE, MCPFILE_OTHER };

/* A value, when it has ended; its path is the scan's. */
struct mcpfile_value {
    enum mcpfile_type type;
    struct span token, key;
    size_t end; /* mcpfile_server.command_end, were it the command */
    bool on_line;
    size_t word, words; /* of an array of strings that is some server's args */
    bool mixed;         /* that array holds something else as well */
};

/* What the two languages write differently. Each but `skip` begins at its first character. */
struct mcpfile_language {
    const char *quotes;                   /* a string begins with one of them */
    bool (*skip)(struct mcpfile_scan *s); /* what may stand between two elements of a list */
    bool (*string)(struct mcpfile_scan *s, struct span *ret);
    bool (*table)(struct mcpfile_scan *s); /* in braces */
    bool (*literal)(struct mcpfile_scan *s);
};

static inline size_t mcpfile_at(const struct mcpfile_scan *s)
{
    return (size_t)(s->p - s->f->text.p);
}

static inline struct span mcpfile_since(const struct mcpfile_scan *s, const char *from)
{
    return (struct span){(size_t)(from - s->f->text.p), (size_t)(s->p - from)};
}

static inline bool mcpfile_sees(const struct mcpfile_scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

bool mcpfile_fail(struct mcpfile_scan *s, const char *at, const char *why); /* false */
void mcpfile_push(struct mcpfile_scan *s, struct span key);
void mcpfile_pop(struct mcpfile_scan *s, size_t depth);
/* Is what comes now the array `args` of a server? Then its strings are noted. */
bool mcpfile_wants_words(struct mcpfile_scan *s);
void mcpfile_word(struct mcpfile_scan *s, struct span token);
void mcpfile_note(struct mcpfile_scan *s, const struct mcpfile_value *v);

/* The value that begins here. */
bool mcpfile_value(struct mcpfile_scan *s, struct mcpfile_value *v);
/* After an element of a list that ends with `close`: behind a comma, or at the end. */
bool mcpfile_next(struct mcpfile_scan *s, char close);
bool mcpfile_scan_json(struct mcpfile_scan *s);
bool mcpfile_scan_toml(struct mcpfile_scan *s);
/* What a TOML string or key says. */
void mcpfile_toml_string(struct slice token, struct buf *b);

#endif
