/* values.c - the values of a call, without the messages around them: what it was asked and what it answered. */
#include "cli/ui/detail/parts.h"

#include "wire/json/text.h"
#include "wire/rpc.h"

#include <stdio.h>

static void open_value(struct detail *d, size_t message, struct json_value v, const char *pointer,
                       const char *title)
{
    if (v.type == JSON_NONE || d->n == d->cap)
        return;
    struct part *p = detail_add(d, PART_VALUE);
    p->message = message;
    p->has_view = true;
    p->from = (size_t)(v.text.p - d->s.message[message].body.p);
    p->to = p->from + v.text.n;
    snprintf(p->pointer, sizeof p->pointer, "%s", pointer);
    snprintf(p->title, sizeof p->title, "%s", title);
    bool text = v.type == JSON_STRING && v.text.n <= DETAIL_TEXT_MAX;
    if (text)
        json_unescape(&p->text, json_string_raw(v));
    p->rows.failed |= p->text.failed;
    struct slice s = text ? buf_slice(&p->text) : v.text;
    view_open(&p->view, !text || view_is_json(s) ? VIEW_JSON : VIEW_TEXT, s);
    view_overview(&p->view);
}

/* The texts of a tool's result as text, its other contents as JSON. */
static void open_contents(struct detail *d, size_t message, const struct rpc *m)
{
    const char *title = m->is_error.type == JSON_TRUE ? "error" : "result";
    struct json_walk w = json_walk_begin(m->content);
    struct json_value item;
    struct slice key;
    char pointer[PART_POINTER];
    for (size_t i = 0; i < DETAIL_CONTENTS_MAX && json_walk_next(&w, &key, &item); i++) {
        struct json_value text = json_get(item, "text");
        bool is_text = text.type == JSON_STRING;
        snprintf(pointer, sizeof pointer, "/result/content/%zu%s", i, is_text ? "/text" : "");
        open_value(d, message, is_text ? text : item, pointer, title);
    }
    open_value(d, message, m->structured, "/result/structuredContent", "structured result");
}

static void open_answer(struct detail *d, size_t message, const struct rpc *m)
{
    char title[PART_TITLE] = "error";
    if (m->error.type == JSON_OBJECT) {
        if (m->error_code.type == JSON_NUMBER)
            snprintf(title, sizeof title, "error %.*s", (int)size_min(m->error_code.text.n, 20),
                     m->error_code.text.p);
        open_value(d, message, m->error_message, "/error/message", title);
        open_value(d, message, json_get(m->error, "data"), "/error/data", "error data");
    } else if (m->content.type == JSON_ARRAY) {
        open_contents(d, message, m);
    } else {
        open_value(d, message, m->result, "/result", "result");
    }
}

/* false: the message is not one, or is too long to be searched for values. */
static bool read_message(const struct detail *d, size_t i, struct rpc *ret)
{
    struct slice body = d->s.message[i].body;
    return body.p != NULL && body.n <= DETAIL_VALUES_MAX && rpc_read(body, ret) == 0;
}

void values_open(struct detail *d)
{
    struct rpc request, answer;
    size_t at = 1;
    while (at < d->s.messages_n && d->s.message[at].kind != KIND_RESULT &&
           d->s.message[at].kind != KIND_ERROR)
        at++;
    bool answered = at < d->s.messages_n && read_message(d, at, &answer);
    bool failed =
        answered && (answer.error.type == JSON_OBJECT || answer.is_error.type == JSON_TRUE);
    if (failed)
        open_answer(d, at, &answer);
    if (d->s.messages_n > 0 && read_message(d, 0, &request)) {
        if (request.arguments.type != JSON_NONE)
            open_value(d, 0, request.arguments, "/params/arguments", "arguments");
        else
            open_value(d, 0, request.params, "/params", "params");
    }
    if (answered && !failed)
        open_answer(d, at, &answer);
}

size_t values_around(const struct detail *d, size_t message, size_t at, bool forward)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct part *p = &d->part[i];
        if (p->kind == PART_VALUE && p->message == message && at >= p->from && at < p->to)
            return forward ? p->to : p->from;
    }
    return SIZE_MAX;
}
