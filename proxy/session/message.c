#include "proxy/session/message.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "model/link.h"
#include "wire/json/text.h"

#include <stdio.h>

#define NAME_SHOWN 80 /* maximum characters of a method or target in message_append_name() */

void message_close(struct message *x)
{
    chunk_release(x->copy.chunk);
    x->copy = (struct line){0};
}

/* Returns the text of a client's message as it is recorded, without secrets that were entered in
 * forms; {NULL, 0} if out of memory. */
static struct slice get_text_for_recording(struct traffic *t, const struct rpc *m,
                                           struct slice text, uint64_t *ret_n)
{
    size_t n = 0;
    *ret_n = 0;
    /* An invalid message may also contain a user's answer to a form: if it answers a request, it is
     * forwarded. */
    bool may_answer = m->kind != RPC_REQUEST && m->kind != RPC_NOTIFICATION && m->kind != RPC_ERROR;
    if (!may_answer && (m->findings & RPC_AMBIGUOUS) == 0 &&
        m->in_params[FIELD_INPUT_RESPONSES] == JSON_NONE)
        return text;
    if (forms_hide_secrets(&t->forms, text, &t->hidden, &n) < 0)
        return (struct slice){0};
    *ret_n = n;
    return n > 0 ? buf_slice(&t->hidden) : text;
}

struct row make_message_row(struct traffic *t, const struct message *x, enum row_kind kind,
                            enum row_action action)
{
    struct row row = {
        .kind = kind,
        .direction = x->dir,
        .t_us = x->dir == ROW_C2S ? t->gate.arrived_us : 0,
        .action = action,
        .method = x->m.method,
        .target = rpc_target(&x->m),
        .body = x->text,
        .not_json = x->m.fault.kind != JSON_OK,
        .size = x->size,
        .batch_seq = x->batch_seq,
        .findings = x->m.findings | x->repairs,
        .rules = x->rules,
        .may_link = link_may_exist_in_message(&x->m),
    };
    if (x->m.id.type != JSON_NONE)
        row.rpc_id = x->m.id.text;
    if (x->m.kind == RPC_ERROR)
        row.has_error_code = json_int(x->m.error_code, &row.error_code);
    if (x->dir == ROW_C2S)
        row.body = get_text_for_recording(t, &x->m, x->text, &row.redactions);
    return row;
}

int message_replace_text(struct message *x, struct chunk *copy, size_t n)
{
    findings found = x->m.findings;
    message_close(x);
    x->copy = (struct line){copy->data, n, copy};
    x->line = &x->copy;
    x->text = (struct slice){copy->data, n};
    int st = rpc_read(x->text, &x->m);
    x->m.findings |= found;
    return st;
}

/* Records the replaced bytes, which are stored nowhere else, without the text around them. */
static void record_repaired_bytes(struct traffic *t, uint64_t seq)
{
    struct buf b = {0};
    for (size_t i = 0; i < t->invalid_lines.repairs.n; i++) {
        const struct repair *r = &t->invalid_lines.repairs.list[i];
        char hex[2 * REPAIR_BYTES_MAX + 1] = "";
        for (size_t k = 0; k < r->bytes_n; k++)
            snprintf(hex + 2 * k, 3, "%02x", (unsigned)(unsigned char)r->bytes[k]);
        buf_clear(&b);
        struct json_out j = json_out_to(&b);
        json_out_object(&j, NULL);
        json_out_uint(&j, "seq", seq);
        json_out_str(&j, "finding", finding_name(r->finding));
        json_out_uint(&j, "offset", r->at);
        json_out_uint(&j, "count", r->count);
        if (r->bytes_n > 0)
            json_out_str(&j, "bytes", hex);
        json_out_end(&j);
        if (!b.failed)
            journal_append_event(t->journal, "repaired", buf_str(&b));
    }
    buf_close(&b);
}

void message_report_repairs(struct traffic *t, uint64_t seq)
{
    if (t->invalid_lines.repairs.n == 0)
        return;
    record_repaired_bytes(t, seq);
    t->invalid_lines.repairs.n = 0;
}

uint64_t message_append_to_journal(struct traffic *t, const struct row *row)
{
    uint64_t seq = journal_append(t->journal, row);
    message_report_repairs(t, seq);
    return seq;
}

uint64_t message_record(struct traffic *t, const struct message *x, enum row_kind kind,
                        enum row_action action)
{
    struct row row = make_message_row(t, x, kind, action);
    return message_append_to_journal(t, &row);
}

void message_add_text_to_outbox(struct traffic *t, const struct message *x)
{
    char *end = x->line->p + (x->text.p - x->line->p) + x->text.n;
    *end = '\n'; /* overwrites the line's newline, or a byte that a repair has removed */
    if (outbox_add(&t->out[x->dir], x->line->chunk, x->text.p, x->text.n + 1) < 0) {
        log_error("out of memory, closing the connection: server=%s", t->server);
        outbox_discard_after_error(&t->out[x->dir]);
    }
}

uint64_t message_forward(struct traffic *t, const struct message *x, enum row_kind kind)
{
    uint64_t seq = message_record(t, x, kind, ROW_FORWARDED);
    message_add_text_to_outbox(t, x);
    return seq;
}

uint64_t message_record_and_stage(struct traffic *t, enum row_direction dir, struct outbox *to,
                                  struct slice text)
{
    struct rpc m;
    struct chunk *c = chunk_new(text.n + 1);
    if (c == NULL || rpc_read(text, &m) < 0) {
        chunk_release(c);
        log_error("out of memory for a message to the %s: server=%s",
                  dir == ROW_C2S ? "server" : "client", t->server);
        return 0;
    }
    memcpy(c->data, text.p, text.n);
    c->data[text.n] = '\n';
    struct row row = {
        .kind = row_kind_of_rpc(m.kind),
        .direction = dir,
        .origin = ROW_INTERPOSER,
        .action = ROW_FORWARDED,
        .method = m.method,
        .body = {c->data, text.n},
        .size = text.n,
        .findings = m.kind == RPC_REQUEST ? FINDING(FIND_OWN_REQUEST) : 0,
    };
    /* The slices of m point into the caller's text. The slices of the row must point to the same
     * offsets in the chunk, which has a copy of the text. */
    if (m.id.text.p != NULL)
        row.rpc_id = (struct slice){c->data + (m.id.text.p - text.p), m.id.text.n};
    row.method.p = c->data + (m.method.p - text.p);
    uint64_t seq = journal_append(t->journal, &row);
    if (dir == ROW_C2S && m.kind == RPC_REQUEST)
        t->invalid_lines.own_pending++;
    else if (dir == ROW_C2S)
        t->invalid_lines.notified_seq = seq;
    if (outbox_add(to, c, c->data, text.n + 1) < 0)
        outbox_discard_after_error(to);
    chunk_release(c);
    return seq;
}

/* Appends a name. The name is sanitized before it is truncated, because half a secret would not be
 * recognized. */
static void append_sanitized_name(struct buf *b, struct slice name)
{
    struct buf clean = {0};
    if (redact_append_sanitized_text(name, &clean) < 0)
        b->failed = true;
    text_append_visible(
        b, (struct slice){clean.p, redact_get_len_of_first_chars(buf_slice(&clean), NAME_SHOWN)});
    buf_close(&clean);
}

void message_append_name(struct buf *b, struct slice method, struct slice target)
{
    append_sanitized_name(b, method);
    if (target.p != NULL) {
        buf_addc(b, ' ');
        append_sanitized_name(b, target);
    }
}
