/* question.h - what `search` searches for: texts in messages, and fields of messages and their
 * sessions.
 *
 * question_open() reads a question from the operands and options of the command. Other callers use
 * question_initialize(), add texts and fields, and then call question_combine_conditions().
 *
 * Rules     the operand `FIELD:VALUE` is a field; each field may be given once. An operand that
 *           looks like an unknown or misspelt field is an error; every other operand is a text. A
 *           message must match all texts and fields.
 * Owns      the terms and the query for the index; the values of fields are borrowed.
 * Errors    EXIT_USAGE or EXIT_TROUBLE; question_open() reports them on stderr.
 * Blocks    never. */
#ifndef MI_CLI_LOOK_SEARCH_QUESTION_H
#define MI_CLI_LOOK_SEARCH_QUESTION_H

#include "cli/frame/filter.h"
#include "vault/search/search_terms.h"

enum question_field {
    QUESTION_SERVER,
    QUESTION_CLIENT,
    QUESTION_TOOL,
    QUESTION_METHOD,
    QUESTION_STATUS,
    QUESTION_KIND,
    QUESTION_TOOK,
    QUESTION_FIELDS
};

struct question {
    /* Filter of the options. question_combine_conditions() makes it point to `fields`, so the
     * question must not be moved later. */
    struct filter filter;
    struct filter fields;
    /* borrowed; values that the fields must have; NULL: any value */
    const char *field[QUESTION_FIELDS];
    struct search_terms terms; /* owned */
    /* the question has a field of messages or no search text, or `filter` has a condition on tool,
     * method, failures or duration */
    bool narrowed;
    bool all_exact; /* every term is searched byte for byte */
    /* The search covers the session newest_session up to the message newest_seq, and all older
     * sessions completely. newest_session is 0 if there is no limit. */
    int64_t newest_session, newest_seq;
};

/* Returns the name of a field. *ret_values: its values as `a|b`; NULL: any value. */
const char *question_field(size_t field, const char **ret_values);

/* Returns EXIT_FINE or, after a message on stderr, EXIT_USAGE or EXIT_TROUBLE. question_close()
 * must be called in any case. */
MI_MUST int question_open(struct question *x, const struct settings *s);
void question_close(struct question *x);

/* Begins a question that matches every message. Returns 0, MI_ENOMEM, or MI_ESTORE: this SQLite has
 * no FTS5. question_close() must be called in any case. */
MI_MUST int question_initialize(struct question *x);
/* Sets a field, which must not be set yet. Returns false if question_field() does not list the
 * value. */
MI_MUST bool question_set_field(struct question *x, enum question_field field, const char *value);
/* Adds a text. Returns 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int question_add_text(struct question *x, const char *text, bool exact);
/* Must be called after the last text and field were added, and after the filter was set. */
void question_combine_conditions(struct question *x);
/* Adds words (fields or texts; the array ends with NULL) to a question that has begun, and makes it
 * ready. Returns EXIT_FINE; or EXIT_USAGE or EXIT_TROUBLE, with a sentence in `error`. */
MI_MUST int question_read_words(struct question *x, char *const *words, bool exact,
                                struct buf *error);

/* Makes the last word of each text a prefix, as if the text ended with `*`. Returns false if no
 * text has changed. */
bool question_make_last_words_prefixes(struct question *x);

/* Whether the session may have matching messages. */
bool question_matches_session(const struct question *x, const struct query_session *s);
/* Whether the search covers the message `seq` of this session (see newest_session and
 * newest_seq). */
bool question_includes_message_seq(const struct question *x, int64_t session_id, int64_t seq);
/* Whether the fields match. The text is not checked. */
bool question_matches_message(const struct question *x, int64_t session_started_at_us,
                              const struct query_message *m);

#endif
