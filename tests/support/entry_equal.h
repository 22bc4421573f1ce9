/* entry_equal.h - compares entries of a journal field by field, for the tests of journal/entry_form.h. */
#ifndef MI_TESTS_ENTRY_EQUAL_H
#define MI_TESTS_ENTRY_EQUAL_H

#include "journal/entry_form.h"

/* Missing and empty are different. */
static inline bool same_text(struct slice a, struct slice b)
{
    return (a.p == NULL) == (b.p == NULL) && slice_eq(a, b);
}

static inline bool same_string(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static inline bool same_message(const struct row *a, const struct row *b)
{
    return a->kind == b->kind && a->seq == b->seq && a->t_us == b->t_us &&
           a->direction == b->direction && a->origin == b->origin && a->action == b->action &&
           same_text(a->rpc_id, b->rpc_id) && same_text(a->method, b->method) &&
           same_text(a->target, b->target) && same_text(a->body, b->body) &&
           a->not_json == b->not_json && a->size == b->size && a->redactions == b->redactions &&
           a->request_seq == b->request_seq && a->has_error_code == b->has_error_code &&
           a->error_code == b->error_code && a->batch_seq == b->batch_seq &&
           a->findings == b->findings && a->rules == b->rules &&
           a->ends_invocation == b->ends_invocation;
}

static inline bool same_event(const struct row *a, const struct row *b)
{
    return same_string(a->event, b->event) && a->t_us == b->t_us && same_text(a->body, b->body);
}

static inline bool same_update(const struct session_update *a, const struct session_update *b)
{
    for (size_t i = 0; i < fields_of_update.n; i++) {
        struct cell x = field_get(&fields_of_update.list[i], a);
        struct cell y = field_get(&fields_of_update.list[i], b);
        if (x.type != y.type || x.number != y.number || !same_text(x.text, y.text))
            return false;
    }
    return true;
}

/* For the tables of model/records.h. */
#define SAME_NUMBER(name) a->name == b->name
#define SAME_TIME SAME_NUMBER
#define SAME_TOOK SAME_NUMBER
#define SAME_COUNT SAME_NUMBER
#define SAME_SIZE SAME_NUMBER
#define SAME_PID SAME_NUMBER
#define SAME_TICKS SAME_NUMBER
#define SAME_FLAG SAME_NUMBER
#define SAME_WORD(type, words) SAME_NUMBER
#define SAME_TEXT(name) same_text(a->name, b->name)
#define SAME_JSON SAME_TEXT
#define SAME_STRING(name) same_string(a->name, b->name)
#define SAME_BOOT SAME_STRING
#define AND_SAME(name, type, null) &&SAME_##type(name)

static inline bool same_running(const struct running *a, const struct running *b)
{
    return true RUNNING_FIELDS(AND_SAME);
}

static inline bool same_invocation(const struct invocation *a, const struct invocation *b)
{
    return true INVOCATION_FIELDS(AND_SAME);
}

static inline bool same_escalation(const struct escalation *a, const struct escalation *b)
{
    bool same = a->stderr_n == b->stderr_n ESCALATION_FIELDS(AND_SAME);
    for (size_t i = 0; same && i < a->stderr_n; i++)
        same = same_text(a->stderr_lines[i], b->stderr_lines[i]);
    return same;
}

static inline bool same_entry(const struct entry *a, const struct entry *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case ENTRY_MESSAGE:
        return same_message(&a->row, &b->row) &&
               (!a->row.ends_invocation || same_invocation(&a->invocation, &b->invocation));
    case ENTRY_EVENT:
        return same_event(&a->row, &b->row);
    case ENTRY_UPDATE:
        return same_update(&a->update, &b->update);
    case ENTRY_RUNNING:
        return same_running(&a->running, &b->running);
    case ENTRY_INVOCATION:
        return same_invocation(&a->invocation, &b->invocation);
    case ENTRY_ESCALATION:
        return a->t_us == b->t_us && same_escalation(&a->escalation, &b->escalation);
    case ENTRY_LOST:
        return memcmp(&a->lost, &b->lost, sizeof a->lost) == 0;
    case ENTRY_RULES:
        return memcmp(&a->added, &b->added, sizeof a->added) == 0;
    case ENTRY_TOOLS_WANTED:
        return true;
    }
    return false;
}

static inline bool same_start(const struct session_start *a, const struct session_start *b)
{
    return same_text(a->uid, b->uid) && same_text(a->vault, b->vault) &&
           same_text(a->name, b->name) && same_text(a->command, b->command) &&
           same_text(a->host, b->host) && same_text(a->redact_rules, b->redact_rules) &&
           same_text(a->cwd, b->cwd) && same_text(a->tools_rule, b->tools_rule) && a->level == b->level && a->sync_full == b->sync_full &&
           a->stop_on_error == b->stop_on_error && a->started_wall_us == b->started_wall_us &&
           a->pid == b->pid;
}

#endif
