/* question.h - what `search` is asked for: texts that a message has, and fields that it and its session have.
 *
 * Rules     `FIELD:VALUE` is a field, each at most once; every other operand is a text. A message is wanted that has
 *           all of them.
 * Owns      the terms and the query for the index; the fields' values are borrowed from argv.
 * Errors    a question that cannot be asked is told on stderr: EXIT_USAGE, or EXIT_TROUBLE.
 * Blocks    never. */
#ifndef MI_CLI_QUESTION_H
#define MI_CLI_QUESTION_H

#include "cli/filter.h"
#include "vault/search_text.h"

enum question_field {
    FIELD_SERVER,
    FIELD_CLIENT,
    FIELD_TOOL,
    FIELD_METHOD,
    FIELD_STATUS,
    FIELD_KIND,
    FIELDS
};

struct question {
    struct filter filter;
    const char *field[FIELDS]; /* borrowed; NULL: any */
    struct search_terms terms; /* owned */
    struct buf match;          /* owned; for FTS5; empty: the index is of no use */
    bool narrowed;             /* by a field of a message, or no text at all */
    bool all_exact;            /* no term is looked for by its words */
};

/* EXIT_FINE, or the status to exit with. question_close() in any case. */
MI_MUST int question_open(struct question *x, const struct command *c, const struct settings *s);
void question_close(struct question *x);

/* May messages of this session be what is wanted? It may have gone on long after it started. */
bool question_takes_session(const struct question *x, const struct query_session *s);
/* The message has the fields. Its text is not looked at. */
bool question_takes(const struct question *x, int64_t session_started_at_us,
                    const struct query_message *m);
/* The kind that all messages have which fit the fields; NULL: there are several. */
const char *question_kind(const struct question *x);

#endif
