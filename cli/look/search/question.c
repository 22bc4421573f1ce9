#include "cli/look/search/question.h"

#include "base/log.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cli/settings/option_value.h"

#include <ctype.h>
#include <stdio.h>

#define FIELDS "server:, client:, tool:, method:, status:, kind: and took:"

static const char *const names[QUESTION_FIELDS] = {
    [QUESTION_SERVER] = "server", [QUESTION_CLIENT] = "client", [QUESTION_TOOL] = "tool",
    [QUESTION_METHOD] = "method", [QUESTION_STATUS] = "status", [QUESTION_KIND] = "kind",
    [QUESTION_TOOK] = "took",
};
static const char *const values[QUESTION_FIELDS] = {
    [QUESTION_STATUS] = "failed|ok|tool-error|error|refused|timeout|server-gone|interrupted",
    [QUESTION_KIND] = "request|notification|result|error|batch|noise|stderr",
};

const char *question_field(size_t field, const char **ret_values)
{
    *ret_values = values[field];
    return names[field];
}

/* ---- words ---- */

/* State of reading the words of a question. */
struct reading {
    struct question *x;
    bool exact; /* --exact was given: each text is searched byte for byte */
    struct buf *error;
};

/* Whether n lower-case letters, a colon and a letter begin the word, as in `is:failed`, but not in
 * `http://x`, `localhost:80` or `std::string`. */
static bool looks_like_field(const char *word, size_t n)
{
    size_t letters = 0;
    while (islower((unsigned char)word[letters]))
        letters++;
    return n > 0 && letters == n && isalpha((unsigned char)word[n + 1]);
}

/* Rejects a word such as `tools:x`, which is probably a misspelt field. With --exact, accepts the
 * word as text. */
static int question_reject_misspelt_field(const struct reading *r, const char *word)
{
    char name[NEAREST_MAX + 1];
    size_t n = strcspn(word, ":");
    if (word[n] != ':' || n > NEAREST_MAX || r->exact)
        return EXIT_FINE;
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    struct nearest near = nearest_begin_search(name);
    for (size_t i = 0; i < QUESTION_FIELDS; i++)
        nearest_add_candidate(&near, names[i]);
    if (near.best == NULL && !looks_like_field(word, n))
        return EXIT_FINE;
    buf_printf(r->error, "'%s': unknown field '%s'; ", word, name);
    if (near.best != NULL)
        buf_printf(r->error, "did you mean '%s%s'? ", near.best, word + n);
    buf_printf(r->error,
               "%s fields are " FIELDS "; to search for this text, use '%s %s' or --exact",
               near.best != NULL ? "The" : "the", name, word + n + 1);
    return EXIT_USAGE;
}

/* Reads a field such as `tool:x`. *ret_taken stays false if the word is text. */
static int question_read_field_word(const struct reading *r, const char *word, bool *ret_taken)
{
    struct question *x = r->x;
    for (size_t i = 0; i < QUESTION_FIELDS; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(word, names[i], n) != 0 || word[n] != ':')
            continue;
        *ret_taken = true;
        if (x->field[i] != NULL) {
            buf_printf(r->error, "'%s': '%s:' is given twice", word, names[i]);
            return EXIT_USAGE;
        }
        if (!question_set_field(x, (enum question_field)i, word + n + 1)) {
            buf_printf(r->error, "'%s': expected %s:%s", word, names[i],
                       values[i] != NULL ? values[i] : ">DURATION, such as took:>1s");
            return EXIT_USAGE;
        }
        return EXIT_FINE;
    }
    return question_reject_misspelt_field(r, word);
}

static int question_parse_word(const struct reading *r, const char *word)
{
    bool taken = false;
    int status = question_read_field_word(r, word, &taken);
    if (status != EXIT_FINE || taken)
        return status;
    if (word[0] == '\0') {
        buf_adds(r->error, "empty TEXT; give a word");
        return EXIT_USAGE;
    }
    int st = question_add_text(r->x, word, r->exact);
    if (st == MI_EFULL) {
        buf_printf(r->error, "too many TEXTs, at most %d are allowed", SEARCH_TERMS_MAX);
        return EXIT_USAGE;
    }
    if (st < 0) {
        buf_adds(r->error, "out of memory");
        return EXIT_TROUBLE;
    }
    return EXIT_FINE;
}

int question_initialize(struct question *x)
{
    *x = (struct question){.filter = FILTER_ANY, .fields = FILTER_ANY};
    return search_terms_open(&x->terms);
}

bool question_set_field(struct question *x, enum question_field field, const char *value)
{
    struct filter *f = &x->fields;
    if (values[field] != NULL && !value_is_allowed_choice(values[field], value))
        return false;
    x->field[field] = value;
    switch (field) {
    case QUESTION_SERVER:
        f->server = value;
        break;
    case QUESTION_CLIENT:
        f->client = value;
        break;
    case QUESTION_TOOL:
        f->tool = value;
        break;
    case QUESTION_METHOD:
        f->method = value;
        break;
    case QUESTION_STATUS:
        f->failed = strcmp(value, "failed") == 0;
        f->statuses = f->failed ? 0 : 1u << value_find_by_word(&call_statuses, slice_of(value));
        break;
    case QUESTION_KIND:
        f->kinds = 1u << value_find_by_word(&row_kinds, slice_of(value));
        break;
    case QUESTION_TOOK: /* `took:1s` means `took:>1s`, but needs no quotes in a shell */
        value += value[0] == '>';
        return units_parse_duration(value, &f->slow_us) == 0 && f->slow_us > 0;
    case QUESTION_FIELDS:
        break;
    }
    return true;
}

int question_add_text(struct question *x, const char *text, bool exact)
{
    return search_terms_add(&x->terms, text, exact);
}

void question_combine_conditions(struct question *x)
{
    x->filter.also = &x->fields;
    x->all_exact = true;
    for (size_t i = 0; i < x->terms.n; i++)
        x->all_exact &= x->terms.term[i].exact;
    x->narrowed = x->terms.n == 0 || filter_has_call_conditions(&x->filter);
    for (size_t i = QUESTION_TOOL; i < QUESTION_FIELDS; i++)
        x->narrowed |= x->field[i] != NULL;
}

int question_read_words(struct question *x, char *const *words, bool exact, struct buf *error)
{
    struct reading r = {x, exact, error};
    for (size_t i = 0; words[i] != NULL; i++) {
        int status = question_parse_word(&r, words[i]);
        if (status != EXIT_FINE)
            return status;
    }
    question_combine_conditions(x);
    return EXIT_FINE;
}

static int question_read_command_line(struct question *x, const struct settings *s,
                                      struct buf *error)
{
    int st = question_initialize(x);
    if (st < 0) {
        buf_adds(error, st == MI_ENOMEM ? "out of memory"
                                        : "cannot search: SQLite was built without FTS5");
        return EXIT_TROUBLE;
    }
    filter_read_from_options(&x->filter, s);
    if (s->operands_n == 0 && !filter_has_call_conditions(&x->filter)) {
        buf_adds(error, "nothing to search for; give a word, or a field such as tool:NAME");
        return EXIT_USAGE;
    }
    return question_read_words(x, s->operands, settings_is_on(s, "exact"), error);
}

int question_open(struct question *x, const struct settings *s)
{
    struct buf error = {0};
    int status = question_read_command_line(x, s, &error);
    if (status == EXIT_USAGE)
        (void)settings_fail_usage(s, "%s", buf_str(&error));
    else if (status != EXIT_FINE)
        log_error("%s", buf_str(&error));
    buf_close(&error);
    return status;
}

bool question_make_last_words_prefixes(struct question *x)
{
    bool changed = false;
    for (size_t i = 0; i < x->terms.n; i++) {
        struct search_term *t = &x->terms.term[i];
        changed |= !t->exact && !t->prefix;
        t->prefix |= !t->exact;
    }
    return changed;
}

void question_close(struct question *x)
{
    search_terms_close(&x->terms);
}

/* ---- matching ---- */

bool question_includes_message_seq(const struct question *x, int64_t session_id, int64_t seq)
{
    return x->newest_session == 0 || session_id < x->newest_session ||
           (session_id == x->newest_session && seq <= x->newest_seq);
}

bool question_matches_session(const struct question *x, const struct query_session *s)
{
    return question_includes_message_seq(x, s->id, 1) &&
           filter_matches_session(&x->filter, FILTER_HOLDS, s);
}

bool question_matches_message(const struct question *x, int64_t session_started_at_us,
                              const struct query_message *m)
{
    return filter_matches_message(&x->filter, session_started_at_us, m);
}
