#include "cli/question.h"

#include "base/log.h"
#include "cli/session.h"

static const char *const names[FIELDS] = {
    [FIELD_SERVER] = "server", [FIELD_CLIENT] = "client", [FIELD_TOOL] = "tool",
    [FIELD_METHOD] = "method", [FIELD_STATUS] = "status", [FIELD_KIND] = "kind",
};
static const char *const values[FIELDS] = {
    [FIELD_STATUS] = "ok|tool-error|error|refused|timeout|server-gone",
    [FIELD_KIND] = "request|notification|result|error|batch|noise|stderr",
};

/* ---- what is asked ---- */

static bool is_one_of(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = words; n > 0; p++) {
        size_t len = strcspn(p, "|");
        if (len == n && memcmp(p, word, n) == 0)
            return true;
        p += len;
        if (*p == '\0')
            break;
    }
    return false;
}

/* `tool:x` is a field; anything else with a colon is text. EXIT_FINE or EXIT_USAGE. */
static int take_field(struct question *x, const struct command *c, const char *word,
                      bool *ret_taken)
{
    for (size_t i = 0; i < FIELDS; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(word, names[i], n) != 0 || word[n] != ':')
            continue;
        *ret_taken = true;
        if (x->field[i] != NULL)
            return settings_usage(c, "'%s': there is a '%s:' already", word, names[i]);
        if (values[i] != NULL && !is_one_of(values[i], word + n + 1))
            return settings_usage(c, "'%s': write %s:%s", word, names[i], values[i]);
        x->field[i] = word + n + 1;
        return EXIT_FINE;
    }
    return EXIT_FINE;
}

static int take_operand(struct question *x, const struct command *c, const char *word, bool exact)
{
    bool taken = false;
    int status = take_field(x, c, word, &taken);
    if (status != EXIT_FINE || taken)
        return status;
    if (word[0] == '\0')
        return settings_usage(c, "an empty TEXT is everywhere; write a word");
    int st = search_terms_add(&x->terms, word, exact);
    if (st == MI_EFULL)
        return settings_usage(c, "more than %d TEXTs", SEARCH_TERMS_MAX);
    if (st < 0) {
        log_error("no memory");
        return EXIT_TROUBLE;
    }
    return EXIT_FINE;
}

int question_open(struct question *x, const struct command *c, const struct settings *s)
{
    *x = (struct question){.all_exact = true};
    filter_read(&x->filter, s);
    int st = search_terms_open(&x->terms);
    if (st < 0) {
        log_error("%s",
                  st == MI_ENOMEM ? "no memory" : "this SQLite cannot search text: it has no FTS5");
        return EXIT_TROUBLE;
    }
    for (int i = 0; i < s->operands_n; i++) {
        int status = take_operand(x, c, s->operands[i], settings_on(s, "exact"));
        if (status != EXIT_FINE)
            return status;
    }
    if (s->operands_n == 0)
        return settings_usage(c, "nothing to search for; write a word, or a field such as "
                                 "tool:NAME");
    x->narrowed = x->terms.n == 0;
    for (size_t i = 0; i < x->terms.n; i++)
        x->all_exact &= x->terms.term[i].exact;
    for (size_t i = FIELD_TOOL; i < FIELDS; i++)
        x->narrowed |= x->field[i] != NULL;
    if (!search_terms_query(&x->terms, &x->match))
        buf_clear(&x->match);
    return EXIT_FINE;
}

void question_close(struct question *x)
{
    search_terms_close(&x->terms);
    buf_close(&x->match);
}

/* ---- what fits ---- */

bool question_takes_session(const struct question *x, const struct query_session *s)
{
    bool too_old = s->ended_at_us != 0 && s->ended_at_us < x->filter.since_us;
    return !too_old && s->started_at_us < x->filter.until_us &&
           filter_name(x->filter.server, s->name) &&
           filter_name(x->filter.client, s->client_name) &&
           filter_name(x->field[FIELD_SERVER], s->name) &&
           filter_name(x->field[FIELD_CLIENT], s->client_name);
}

bool question_takes(const struct question *x, int64_t session_started_at_us,
                    const struct query_message *m)
{
    int64_t at_us = session_started_at_us + m->t_us;
    if (at_us < x->filter.since_us || at_us >= x->filter.until_us)
        return false;
    if (!filter_call(x->field[FIELD_METHOD], x->field[FIELD_TOOL], session_method(m),
                     session_target(m)) ||
        !filter_name(x->field[FIELD_KIND], m->kind))
        return false;
    if (x->field[FIELD_STATUS] == NULL)
        return true;
    const char *status = session_status(m);
    return status != NULL && strcmp(status, x->field[FIELD_STATUS]) == 0;
}

const char *question_kind(const struct question *x)
{
    const char *status = x->field[FIELD_STATUS];
    if (x->field[FIELD_KIND] != NULL)
        return x->field[FIELD_KIND];
    if (status == NULL || strcmp(status, "refused") == 0)
        return NULL;
    return strcmp(status, "ok") == 0 || strcmp(status, "tool-error") == 0 ? "result" : "error";
}
