#include "cli/look/session_header.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/json/text.h"

#include <stdio.h>

#define FIELD 10 /* width in columns of the name of a field */

static void session_header_print_label(struct out *o, const char *name)
{
    out_style(o, OUT_DIM);
    out_printf(o, "%-*s", FIELD, name);
    out_style(o, OUT_PLAIN);
}

static void print_header_name(struct out *o, struct slice name, struct slice version)
{
    out_add_text(o, name);
    if (version.p != NULL) {
        out_add_raw(o, " ");
        out_add_text(o, version);
    }
}

/* Prints a field, unless it has no text. */
static void print_header_field(struct out *o, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    session_header_print_label(o, name);
    out_add_text(o, text);
    out_end_line(o);
}

/* Prints a word in the form $'\033' (POSIX.1-2024). */
static void print_escaped_word(struct out *o, struct slice word)
{
    out_add_raw(o, "$'");
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        if (c < ' ' || c > '~')
            out_printf(o, "\\%03o", (unsigned)(unsigned char)c);
        else
            out_printf(o, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
    }
    out_add_raw(o, "'");
}

/* Prints a word, quoted for a shell. first: the word is the command, where an unquoted = would be
 * an assignment. */
static void print_quoted_word(struct out *o, struct slice word, bool first)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,=";
    size_t plain_n = sizeof plain - (first ? 2 : 1);
    struct buf visible = {0};
    bool quoted = word.n == 0;
    for (size_t i = 0; i < word.n; i++)
        quoted = quoted || memchr(plain, word.p[i], plain_n) == NULL;
    if (!quoted) {
        out_add_text(o, word);
        return;
    }
    text_append_visible(&visible, word);
    bool needs_escapes = !slice_eq(buf_slice(&visible), word);
    buf_close(&visible);
    if (needs_escapes) {
        print_escaped_word(o, word);
        return;
    }
    out_add_raw(o, "'");
    for (const char *q; (q = memchr(word.p, '\'', word.n)) != NULL;) {
        size_t n = (size_t)(q - word.p);
        out_add_text(o, (struct slice){word.p, n});
        out_add_raw(o, "'\\''");
        word = (struct slice){q + 1, word.n - n - 1};
    }
    out_add_text(o, word);
    out_add_raw(o, "'");
}

/* Prints the command, quoted so that a shell reads the same words. */
static void print_command_line(struct out *o, struct slice command)
{
    struct json_scan scan;
    struct buf word = {0};
    session_header_print_label(o, "command");
    if (json_scan(command, NULL, NULL, &scan) < 0 || scan.type != JSON_ARRAY) {
        out_add_text(o, command);
        out_end_line(o);
        return;
    }
    struct json_walk w = json_walk_begin((struct json_value){scan.type, scan.root});
    struct slice key;
    struct json_value v;
    for (bool first = true; json_walk_next(&w, &key, &v); first = false) {
        buf_clear(&word);
        json_unescape(&word, v.type == JSON_STRING ? json_string_raw(v) : v.text);
        out_add_raw(o, first ? "" : " ");
        print_quoted_word(o, buf_slice(&word), first);
    }
    out_end_line(o);
    buf_close(&word);
}

static void print_client_line(struct out *o, const struct query_session *s, bool sent)
{
    session_header_print_label(o, "client");
    print_header_name(o, s->client_name.p != NULL ? s->client_name : slice_of("unknown"),
                      s->client_version);
    if (s->protocol_version.p != NULL) {
        out_add_raw(o, ", protocol ");
        out_add_text(o, s->protocol_version);
    }
    out_add_raw(o, sent ? "; made by `send`" : "");
    out_end_line(o);
}

static void print_session_end_line(struct out *o, const struct query_session *s,
                                   const struct session_view *v)
{
    session_header_print_label(o, "ended");
    if (v->state == SESSION_LIVE) {
        out_style(o, OUT_GREEN);
        out_printf(o, "no, the session is live (process %lld)", (long long)s->pid);
    } else if (v->state == SESSION_DIED) {
        out_style(o, OUT_RED);
        out_printf(o, "died: process %lld exited without recording an end", (long long)s->pid);
    } else if (v->state == SESSION_ELSEWHERE) {
        out_add_raw(o, "unknown: the session ran on ");
        out_add_text(o, s->host);
    } else {
        out_add_text(o, s->end_reason.p != NULL ? s->end_reason : slice_of("no reason recorded"));
        if (s->has_exit_status)
            out_printf(o, ", exit status %lld", (long long)s->exit_status);
        if (s->has_exit_status && s->exit_status > 128 && s->exit_status < 128 + 65)
            out_printf(o, " (signal %d)", (int)(s->exit_status - 128));
    }
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

static void print_traffic_line(struct out *o, const struct query_summary *s, bool requests)
{
    static const struct {
        enum call_status status;
        const char *text;
    } counts[] = {
        {CALL_TOOL_ERROR, "tool-error"},   {CALL_ERROR, "error"},
        {CALL_REFUSED, "refused"},         {CALL_SERVER_GONE, "server-gone"},
        {CALL_TIMEOUT, "timeout"},         {CALL_CANCELLED, "cancelled"},
        {CALL_INTERRUPTED, "interrupted"}, {CALL_OPEN, "without an answer"},
    };
    const int64_t *by_status = requests ? s->by_status : s->ended_as;
    int64_t n = requests ? s->calls : s->operations;
    struct buf head = {0};
    char text[64];
    size_t at = FIELD;
    session_header_print_label(o, "traffic");
    buf_printf(&head, "%lld message%s, %lld %s%s", (long long)s->last_seq,
               s->last_seq == 1 ? "" : "s", (long long)n, requests ? "request" : "call",
               n == 1 ? "" : "s");
    if (!requests && s->calls > n)
        buf_printf(&head, " (%lld requests)", (long long)s->calls);
    if (n > 0)
        buf_printf(&head, ": %lld ok", (long long)by_status[CALL_OK]);
    out_add_raw(o, buf_str(&head));
    at += head.n;
    buf_close(&head);
    for (size_t i = 0; i < MI_COUNT(counts); i++) {
        int64_t calls = by_status[counts[i].status];
        if (calls == 0)
            continue;
        snprintf(text, sizeof text, "%lld %s", (long long)calls, counts[i].text);
        bool wraps = at + 2 + strlen(text) + 1 > o->columns;
        out_add_raw(o, wraps ? "," : ", ");
        if (wraps) {
            out_end_line(o);
            session_header_print_label(o, "");
        }
        out_print_styled_words(o, session_status_style(counts[i].status), text);
        at = (wraps ? FIELD : at + 2) + strlen(text);
    }
    out_end_line(o);
}

void session_header_print(struct out *o, const struct query_session *s,
                          const struct session_view *v, bool requests)
{
    session_header_print_label(o, "session");
    out_style(o, OUT_BOLD);
    out_printf(o, "%lld", (long long)s->number);
    out_style(o, OUT_PLAIN);
    out_add_raw(o, "  ");
    out_add_text(o, s->uid);
    out_end_line(o);
    session_header_print_label(o, "server");
    out_write_styled(o, OUT_CYAN, s->name);
    if (s->server_name.p != NULL) {
        out_add_raw(o, " (");
        print_header_name(o, s->server_name, s->server_version);
        out_add_raw(o, ")");
    }
    out_end_line(o);
    print_command_line(o, s->command);
    print_header_field(o, "directory", s->cwd);
    /* the rule selects the tools that the client sees */
    print_header_field(o, "rule", s->tools_rule);
    print_client_line(o, s, v->sent);
    session_header_print_label(o, "started");
    out_printf(o, "%s, %s %s", clock_format_local_time(s->started_at_us).s,
               v->state == SESSION_LIVE ? "so far" : "lasted",
               units_format_duration(v->lasted_us).s);
    out_end_line(o);
    print_session_end_line(o, s, v);
    print_header_field(o, "evidence", slice_of(session_evidence_name(s->evidence)));
    print_traffic_line(o, &v->summary, requests);
    out_end_line(o);
}

void session_title_print(struct out *o, const struct query_session *s)
{
    out_style(o, OUT_DIM);
    out_printf(o, "session %lld  ", (long long)s->number);
    out_add_text(o, s->name);
    out_printf(o, "  %s", clock_format_local_time(s->started_at_us).s);
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}
