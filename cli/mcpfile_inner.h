/* mcpfile_inner.h - what the two scanners of a client's configuration file share.
 *
 * Only cli/mcpfile*.c include this. */
#ifndef MI_CLI_MCPFILE_INNER_H
#define MI_CLI_MCPFILE_INNER_H

#include "cli/mcpfile.h"

#define MCPFILE_LEVELS 8 /* keys of a path that are kept; what matters lies higher */

/* A scan in progress. A level of the path is a key as written; n == 0: an element of an array. */
struct mcpfile_scan {
    struct mcpfile *f;
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

/* false: s->why says what is wrong. */
bool mcpfile_scan_json(struct mcpfile_scan *s);
bool mcpfile_scan_toml(struct mcpfile_scan *s);
/* What a TOML string or key says. */
void mcpfile_toml_string(struct slice token, struct buf *b);

#endif
