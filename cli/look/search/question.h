/* question.h - what `search` looks for: texts in messages, and fields of messages and their sessions.
 *
 * Rules     the operand `FIELD:VALUE` is a field, each at most once; one that looks like a misspelt field is an error;
 *           every other operand is a text. A message must match all of them.
 * Owns      the terms and the query for the index; the values of fields are borrowed from argv.
 * Errors    reported on stderr: EXIT_USAGE or EXIT_TROUBLE.
 * Blocks    never. */
#ifndef MI_CLI_LOOK_SEARCH_QUESTION_H
#define MI_CLI_LOOK_SEARCH_QUESTION_H

#include "cli/frame/filter.h"
#include "vault/search/text.h"

enum question_field {
    QUESTION_SERVER,
    QUESTION_CLIENT,
    QUESTION_TOOL,
    QUESTION_METHOD,
    QUESTION_STATUS,
    QUESTION_KIND,
    QUESTION_FIELDS
};

struct question {
    struct filter filter;
    const char *field[QUESTION_FIELDS]; /* borrowed; NULL: any */
    enum call_status status;            /* CALL_UNKNOWN: any */
    enum row_kind kind;                 /* KIND_UNKNOWN: any */
    struct search_terms terms;          /* owned */
    struct buf match;                   /* owned; for FTS5; empty: the index cannot help */
    bool narrowed;                      /* a field of messages is given, or there is no text */
    bool all_exact;                     /* every term is searched byte for byte */
};

/* The name of a field, and its values as `a|b`; NULL: any. */
const char *question_field(size_t field, const char **ret_values);

/* EXIT_FINE, or the status to exit with. question_close() in any case. */
MI_MUST int question_open(struct question *x, const struct settings *s);
void question_close(struct question *x);
/* Makes the last word of each text a prefix, as with a `*` at its end. false: nothing changed. */
bool question_as_prefixes(struct question *x);

/* Whether the session may have matching messages. */
bool question_matches_session(const struct question *x, const struct query_session *s);
/* Whether the fields match; the text is not checked. */
bool question_matches(const struct question *x, int64_t session_started_at_us,
                      const struct query_message *m);
/* The kind of all messages with matching fields; KIND_UNKNOWN: several kinds. */
enum row_kind question_kind(const struct question *x);

#endif
