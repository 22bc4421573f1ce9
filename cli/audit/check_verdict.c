/* check_verdict.c - prints the verdict for people. */
#include "cli/audit/check_verdict.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/frame/out.h"
#include "cli/frame/pretty.h"
#include "cli/frame/session.h"
#include "vault/proof/bundle_record.h"
#include "wire/json/scan.h"

#include <stdio.h>

#define INDENT 12 /* width of the labels in columns */

struct page {
    struct out o;
    size_t from; /* offset in o.b at which the text after a label begins */
    const struct bundle *b;
    bool bodies;
    struct query_session session;
    /* owned; their texts are borrowed: by `start` from `first`, by `end` from `last`, by `session`
     * from both */
    struct bundle_walk first, last, at;
    struct bundle_record start, end; /* records of the session's start and end */
    /* the requests printed so far; their members that are texts are not valid any more */
    struct query_message request[VERDICT_MESSAGES];
    size_t requests;
};

static void print_label(struct page *p, const char *name)
{
    out_print_styled_words(&p->o, OUT_DIM, name);
    for (size_t n = strlen(name); n < INDENT; n++)
        out_add_raw(&p->o, " ");
    p->from = p->o.b.n;
}

static void end_labelled_line(struct page *p)
{
    out_fill_line(&p->o, p->from, INDENT);
}

static void print_text_line(struct page *p, const char *name, struct slice text)
{
    print_label(p, name);
    out_add_text(&p->o, text);
    end_labelled_line(p);
}

static void print_redaction_time(struct page *p, const char *what, int64_t at_us)
{
    if (at_us == 0)
        return;
    print_label(p, "redacted");
    out_printf(&p->o, "%s, at ", what);
    out_add_raw(&p->o, clock_format_utc(at_us).s);
    end_labelled_line(p);
}

/* Prints "NAME VERSION", or NAME if the version is unknown. */
static void print_name_and_version(struct page *p, const char *what, struct slice name,
                                   struct slice version)
{
    if (name.p == NULL)
        return;
    print_label(p, what);
    out_add_text(&p->o, name);
    if (version.p != NULL) {
        out_add_raw(&p->o, " ");
        out_add_text(&p->o, version);
    }
    end_labelled_line(p);
}

static void print_session(struct page *p)
{
    struct query_session *s = &p->session;
    print_text_line(p, "session", s->uid);
    print_text_line(p, "server", s->name);
    print_text_line(p, "command", s->command);
    print_name_and_version(p, "said to be", s->server_name, s->server_version);
    print_name_and_version(p, "client", s->client_name, s->client_version);
    print_label(p, "recorded");
    if (s->pid == 0)
        out_add_raw(&p->o, "imported; ");
    out_add_raw(&p->o, clock_format_utc(s->started_at_us).s);
    out_add_raw(&p->o, " to ");
    out_add_raw(&p->o, clock_format_utc(s->ended_at_us).s);
    out_add_raw(&p->o, ", by the clock of ");
    out_add_text(&p->o, s->host.n > 0 ? s->host : slice_of("the machine"));
    end_labelled_line(p);
    print_label(p, "ended");
    out_add_text(&p->o, s->end_reason.p != NULL ? s->end_reason : slice_of("-"));
    out_add_raw(&p->o, ", sealed ");
    out_add_raw(&p->o, clock_format_utc(p->b->leaf[p->b->seal].leaf.at_us).s);
    end_labelled_line(p);
    print_redaction_time(p, "the data of the session's start", p->start.redacted_at_us);
    print_redaction_time(p, "the data of the session's end", p->end.redacted_at_us);
}

static void print_message_body(struct page *p, struct slice body)
{
    struct json_scan scan;
    if (body.p == NULL) {
        out_add_raw(&p->o, "    (its body was not recorded)");
    } else if (json_scan(body, NULL, NULL, &scan) == 0) {
        pretty_print(&p->o, scan.root, 4);
        return;
    } else {
        out_add_raw(&p->o, "    ");
        out_add_text(&p->o, body);
    }
    out_end_line(&p->o);
}

/* Prints the status and duration of the call that the message answers or cancels. */
static void print_call_status(struct page *p, struct query_message *m)
{
    for (size_t i = 0; i < p->requests; i++) {
        int64_t took_us;
        if (p->request[i].seq != m->request_seq)
            continue;
        m->request_action = p->request[i].action;
        if (__builtin_sub_overflow(m->t_us, p->request[i].t_us, &took_us))
            took_us = INT64_MAX;
        out_printf(&p->o, ", %s after %s", value_get_word(&call_statuses, query_get_call_status(m)),
                   units_format_duration(took_us).s);
    }
}

static void print_message(struct page *p, const struct bundle_record *r)
{
    struct query_message m = bundle_record_to_message(r);
    char name[32];
    int64_t at_us;
    (void)snprintf(name, sizeof name, "message %lld ", (long long)m.seq);
    if (p->bodies)
        out_end_line(&p->o);
    print_label(p, name);
    /* the sum may overflow, because a bundle may contain any numbers as times */
    if (__builtin_add_overflow(p->session.started_at_us, m.t_us, &at_us))
        at_us = INT64_MAX;
    out_add_raw(&p->o, clock_format_utc(at_us).s);
    out_printf(&p->o, " %s, %s", m.direction == ROW_C2S ? "client to server" : "server to client",
               value_get_word(&row_kinds, m.kind));
    if (m.method.p != NULL) {
        out_add_raw(&p->o, " ");
        out_add_text(&p->o, m.method);
    }
    if (m.target.p != NULL) {
        out_add_raw(&p->o, " ");
        out_add_text(&p->o, m.target);
    }
    if (m.action != ROW_FORWARDED)
        out_printf(&p->o, ", %s", value_get_word(&row_actions, m.action));
    print_call_status(p, &m);
    end_labelled_line(p);
    print_redaction_time(p, "after it was recorded", r->redacted_at_us);
    if (p->bodies)
        print_message_body(p, m.body);
    if (m.kind == KIND_REQUEST && p->requests < VERDICT_MESSAGES)
        p->request[p->requests++] = m;
}

static void print_checkpoint(struct page *p, const struct verdict *v)
{
    struct buf key = {0};
    print_label(p, "checkpoint");
    out_add_text(&p->o, v->b->checkpoint.origin);
    out_printf(&p->o, ", %llu leaves", (unsigned long long)v->b->checkpoint.size);
    end_labelled_line(p);
    key_write_public(&key, &v->b->signer);
    print_text_line(p, "signed with", buf_slice(&key));
    if (!key_eq(&v->b->signer, v->key))
        print_text_line(
            p, "",
            slice_of("the given key is an earlier key of this log: each key signs its successor"));
    if (v->anchor != NULL)
        print_text_line(p, "anchored", slice_of(v->anchor));
    print_text_line(p, "not proven",
                    slice_of(v->anchor != NULL
                                 ? "whether the contents of the messages are true"
                                 : "whether this checkpoint was anchored: to prove that, pass a "
                                   "copy from an anchor with --checkpoint NOTE"));
    buf_close(&key);
}

static void print_verdict(struct page *p, const struct verdict *v)
{
    long long sealed = v->b->leaf[v->b->seal].leaf.records;
    out_print_styled_words(&p->o, OUT_GREEN, "PROVEN");
    if (bundle_has_all_records(v->b))
        out_printf(&p->o,
                   "      all %lld records of this session are unchanged since they were sealed",
                   sealed);
    else
        out_printf(&p->o,
                   "      these %llu of the %lld records of this session are unchanged since they "
                   "were sealed",
                   (unsigned long long)v->b->records_n, sealed);
    out_end_line(&p->o);
}

int verdict_print_text(const struct verdict *v)
{
    struct page p = {.b = v->b, .bodies = v->bodies};
    out_open(&p.o);
    if (!v->proven) {
        out_print_styled_words(&p.o, OUT_RED, "NOT PROVEN");
        out_add_raw(&p.o, "  ");
        p.from = p.o.b.n;
        out_add_text(&p.o, slice_of(v->why));
        end_labelled_line(&p);
        return out_close(&p.o);
    }
    p.first = bundle_begin_walk(v->b);
    p.last = p.at = p.first;
    bool good = bundle_next_record(v->b, &p.first, &p.start) &&
                bundle_read_end_record(v->b, &p.last, &p.end);
    if (good) {
        bundle_record_to_session(&p.session, &p.start);
        bundle_record_to_session_end(&p.session, &p.end);
        print_verdict(&p, v);
        print_session(&p);
        print_checkpoint(&p, v);
        if (v->b->records_n <= VERDICT_MESSAGES) {
            struct bundle_record r;
            while (bundle_next_record(p.b, &p.at, &r))
                if (r.kind == BUNDLE_MESSAGE)
                    print_message(&p, &r);
        }
        good = !p.at.text.failed;
    }
    bundle_walk_close(&p.first);
    bundle_walk_close(&p.last);
    bundle_walk_close(&p.at);
    int status = out_close(&p.o);
    if (!good)
        log_error("out of memory");
    return good ? status : EXIT_TROUBLE;
}
