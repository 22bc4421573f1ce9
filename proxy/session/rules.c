#include "proxy/session/rules.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/request.h"
#include "wire/json/text.h"

static int get_error_code_of_rule(enum rule r)
{
    switch (r) {
    case RULE_INVALID_PARAMS:
    case RULE_MISSING_META:
    case RULE_INVALID_META:
    case RULE_UNKNOWN_INPUT_KEY:
    case RULE_BAD_RETRY:
        return RPC_INVALID_PARAMS;
    case RULE_WRONG_DIRECTION:
    case RULE_UNDECLARED_CAPABILITY:
        return RPC_METHOD_NOT_FOUND;
    default:
        return RPC_INVALID_REQUEST;
    }
}

/* Returns true if the message must be rejected. Then *ret is the first rule that it violates, and
 * `why` gets a text such as "invalid-params: a member of params is missing or of a wrong type:
 * `uri`". A batch is forwarded as a whole, so its members are never rejected. */
static bool must_reject_message(struct traffic *t, const struct message *x, enum rule *ret,
                                struct buf *why)
{
    breaches grave =
        t->validate == VALIDATE_PROTOCOL && x->batch_seq == 0 ? rules_select_errors(x->rules) : 0;
    /* This rule is a MUST since revision 2025-06-18; before, it was a SHOULD. */
    if (t->protocol.revision < REV_2025_06_18)
        grave &= ~RULE(RULE_UNDECLARED_CAPABILITY);
    if (grave == 0)
        return false;
    *ret = (enum rule)__builtin_ctzll(grave);
    const char *sentence = rule_meaning(*ret);
    buf_adds(why, rule_name(*ret));
    buf_adds(why, ": ");
    buf_add(why, sentence, strlen(sentence) - 1); /* the sentence without its full stop */
    if ((RULES_OF_MEMBERS & RULE(*ret)) != 0)
        buf_printf(why, ": %s", t->protocol.blame);
    log_warn("rejected: from=%s server=%s %s", x->dir == ROW_C2S ? "client" : "server", t->server,
             buf_str(why));
    return true;
}

static enum protocol_party get_protocol_party_of_sender(const struct message *x)
{
    return x->dir == ROW_C2S ? PARTY_CLIENT : PARTY_SERVER;
}

/* Notes the forms in which a message of the server asks the user for input. */
static breaches check_form_request(struct traffic *t, const struct message *x)
{
    return forms_read_rpc(&t->forms, redact_get_current_sanitizer(), &x->m, x->dir == ROW_C2S)
               ? RULE(RULE_SECRET_IN_FORM)
               : 0;
}

/* With --validate protocol, returns true if a pending request has the same progress token.
 * correlate.c also notes such tokens, but only after the request was added to the table: then it is
 * too late to reject the request. */
static bool request_reuses_token(struct traffic *t, const struct message *x)
{
    if (t->validate != VALIDATE_PROTOCOL || x->m.meta.type != JSON_OBJECT)
        return false;
    struct pending *p = pending_find_token(&t->open[x->dir], json_get(x->m.meta, "progressToken"));
    return p != NULL && !p->cancelled;
}

bool rules_check_request(struct traffic *t, struct message *x, struct protocol_asked *ret)
{
    struct buf why = {0};
    enum rule r;
    x->rules = protocol_check_request(&t->protocol, get_protocol_party_of_sender(x), &x->m, ret) |
               check_form_request(t, x);
    if (request_reuses_token(t, x))
        x->rules |= RULE(RULE_REUSED_TOKEN);
    if (!must_reject_message(t, x, &r, &why))
        return true;
    if (x->dir == ROW_C2S) {
        answer_reject_message(t, x, get_error_code_of_rule(r), buf_str(&why), rule_name(r));
    } else {
        uint64_t seq = message_record(t, x, KIND_REQUEST, ROW_REFUSED);
        /* A server of revision 2026-07-28 must not send requests. It awaits no answer, so it gets
         * no error. */
        if (r != RULE_SERVER_REQUEST)
            answer_send_error(t, ROW_C2S, x->m.id.text, seq, get_error_code_of_rule(r),
                              buf_str(&why), rule_name(r));
    }
    buf_close(&why);
    return false;
}

bool rules_check_notification(struct traffic *t, struct message *x)
{
    struct buf why = {0};
    enum rule r;
    x->rules = protocol_check_notification(&t->protocol, get_protocol_party_of_sender(x), &x->m) |
               check_form_request(t, x);
    if (!must_reject_message(t, x, &r, &why))
        return true;
    message_record(t, x, KIND_NOTIFICATION, ROW_REFUSED);
    buf_close(&why);
    return false;
}

bool rules_check_answer(struct traffic *t, struct message *x, struct pending *p)
{
    struct buf why = {0};
    enum rule r;
    x->rules =
        protocol_check_answer(&t->protocol, get_protocol_party_of_sender(x), &x->m, &p->asked) |
        check_form_request(t, x);
    if (!must_reject_message(t, x, &r, &why))
        return true;
    if (x->dir == ROW_S2C) {
        answer_replace_rejected_answer(t, x, p, buf_str(&why), rule_name(r));
    } else {
        struct row row = make_message_row(t, x, row_kind_of_rpc(x->m.kind), ROW_REFUSED);
        row.request_seq = p->request_seq;
        journal_append(t->journal, &row);
        if (r != RULE_CLIENT_ANSWER)
            answer_send_error(t, ROW_C2S, p->id, p->request_seq, RPC_INTERNAL_ERROR, buf_str(&why),
                              rule_name(r));
        request_close(t, ROW_S2C, p);
    }
    buf_close(&why);
    return false;
}

bool rules_check_late_answer(struct traffic *t, struct message *x, const struct pending *p)
{
    x->rules =
        protocol_check_answer(&t->protocol, get_protocol_party_of_sender(x), &x->m, &p->asked);
    return t->validate != VALIDATE_PROTOCOL || rules_select_errors(x->rules) == 0;
}

void rules_add_progress_breaches(struct traffic *t, struct message *x, struct pending *p)
{
    x->rules |= protocol_check_progress(&t->protocol, &x->m, p != NULL ? &p->asked : NULL);
}

bool rules_check_progress(struct traffic *t, struct message *x)
{
    struct buf why = {0};
    enum rule r;
    bool forward = !must_reject_message(t, x, &r, &why);
    if (!forward)
        message_record(t, x, KIND_NOTIFICATION, ROW_REFUSED);
    buf_close(&why);
    return forward;
}
