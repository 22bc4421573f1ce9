/* values.c - parts for the values of a call, without the messages around them: arguments, result,
 * error. */
#include "cli/ui/detail/detail_parts.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/ui/detail/token.h"
#include "wire/json/text.h"
#include "wire/rpc.h"

#include <stdio.h>

/* A value of a message. Only the beginning of a long message is searched, so the end of its last
 * value may be missing. */
struct found {
    struct json_value v;
    bool cut; /* the searched beginning of the message does not contain the end of the value */
};

/* Returns at most the first DETAIL_TEXT_MAX bytes of an escaped string. Removes an escape or
 * character at the end if it is incomplete. */
static struct slice shorten_escaped_string(struct slice raw)
{
    struct slice s = text_prefix(raw, DETAIL_TEXT_MAX);
    size_t i = 1;
    while (i < 5 && i < s.n && s.p[s.n - i] != '\\')
        i++;
    if (i < s.n && s.p[s.n - i] == '\\')
        s.n -= i;
    /* an escape such as \uD83D at the end is the first half of a character */
    const char *last = s.n >= 6 ? s.p + s.n - 6 : NULL;
    if (last != NULL && memcmp(last, "\\u", 2) == 0 && strchr("dD", last[2]) != NULL &&
        strchr("89abAB", last[3]) != NULL)
        s.n -= 6;
    while (s.n > 0 && s.p[s.n - 1] == '\\')
        s.n--;
    return s;
}

static void add_found_value_part(struct detail *d, size_t message, const struct found *found,
                                 const char *pointer, const char *title)
{
    struct json_value v = found->v;
    bool cut = found->cut, text = v.type == JSON_STRING;
    if (v.type == JSON_NONE || d->n == d->cap)
        return;
    struct part *p = detail_add_part(d, PART_VALUE);
    p->message = message;
    p->has_view = true;
    p->from = (size_t)(v.text.p - d->s.message[message].body.p);
    p->to = p->from + v.text.n;
    if (text) {
        struct slice raw = cut ? (struct slice){v.text.p + 1, v.text.n - 1} : json_string_raw(v);
        cut |= raw.n > DETAIL_TEXT_MAX;
        raw = cut ? shorten_escaped_string(raw) : raw;
        p->to = cut ? p->from + 1 + raw.n : p->to;
        json_unescape(&p->text, raw);
    }
    p->rows.failed |= p->text.failed;
    snprintf(p->pointer, sizeof p->pointer, "%s", pointer);
    if (cut)
        snprintf(p->title, sizeof p->title, "%.20s, the first %u KiB", title,
                 (unsigned)((p->to - p->from) >> 10));
    else
        snprintf(p->title, sizeof p->title, "%s", title);
    struct slice s = text ? buf_slice(&p->text) : v.text;
    view_open(&p->view, !text || (!cut && view_is_json(s)) ? VIEW_JSON : VIEW_TEXT, s);
    view_fold_for_first_display(&p->view);
}

static void add_value_part(struct detail *d, size_t message, struct json_value v,
                           const char *pointer, const char *title)
{
    add_found_value_part(d, message, &(struct found){v, false}, pointer, title);
}

/* Returns the title of a content that is not text. For binary data, such as an image, the title
 * includes type and size. */
static const char *make_content_title(char room[PART_TITLE], const char *title,
                                      struct json_value item)
{
    struct slice type = text_prefix(json_string_raw(json_get(item, "mimeType")), 20);
    struct slice data = json_string_raw(json_get(item, "data")); /* `data` is base64 text */
    if (type.p == NULL || data.p == NULL)
        return title;
    snprintf(room, PART_TITLE, "%s, %.*s, %s", title, (int)type.n, type.p,
             units_format_bytes((int64_t)(data.n / 4 * 3)).s);
    return room;
}

/* Adds parts for the contents of a tool's result: texts as text, others as JSON. */
static void add_content_parts(struct detail *d, size_t message, const struct rpc *m)
{
    const char *title = m->is_error.type == JSON_TRUE ? "error" : "result";
    struct json_walk w = json_walk_begin(m->content);
    struct json_value item;
    struct slice key;
    char pointer[PART_POINTER], room[PART_TITLE];
    for (size_t i = 0; i < DETAIL_CONTENTS_MAX && json_walk_next(&w, &key, &item); i++) {
        struct json_value text = json_get(item, "text");
        bool is_text = text.type == JSON_STRING;
        snprintf(pointer, sizeof pointer, "/result/content/%zu%s", i, is_text ? "/text" : "");
        add_value_part(d, message, is_text ? text : item, pointer,
                       is_text ? title : make_content_title(room, title, item));
    }
    add_value_part(d, message, m->structured, "/result/structuredContent", "structured result");
}

/* ---- long messages: only values that begin in the first DETAIL_VALUES_MAX bytes are found ---- */

static bool message_is_long(const struct detail *d, size_t message)
{
    return d->s.message[message].body.n > DETAIL_VALUES_MAX;
}

/* Adds a part for the value that the pointer names. Returns false if there is no such value. */
static bool add_part_at_pointer(struct detail *d, size_t message, const char *pointer,
                                const char *title)
{
    struct slice head = {d->s.message[message].body.p, DETAIL_VALUES_MAX};
    struct view v;
    size_t at, children;
    view_open(&v, VIEW_JSON, head);
    bool found = view_find_pointer(&v, slice_of(pointer), &at);
    view_close(&v);
    if (!found || at >= head.n)
        return false;
    size_t end = token_skip_value(head, at, &children);
    enum json_type type = head.p[at] == '"'   ? JSON_STRING
                          : head.p[at] == '{' ? JSON_OBJECT
                          : head.p[at] == '[' ? JSON_ARRAY
                                              /* the type JSON_NUMBER is also used for true, false
                                               * and null */
                                              : JSON_NUMBER;
    struct found value = {{type, {head.p + at, end - at}}, end == head.n};
    add_found_value_part(d, message, &value, pointer, title);
    return true;
}

static void add_long_answer_parts(struct detail *d, size_t message)
{
    const char *title = call_status_failed(d->s.status) ? "error" : "result";
    char pointer[PART_POINTER];
    size_t i = 0;
    bool more = true;
    for (; more && i < DETAIL_CONTENTS_MAX; i++) {
        snprintf(pointer, sizeof pointer, "/result/content/%zu/text", i);
        more = add_part_at_pointer(d, message, pointer, title);
        pointer[strlen(pointer) - strlen("/text")] = '\0';
        more = more || add_part_at_pointer(d, message, pointer, title);
    }
    bool contents = i > 1;
    contents |= add_part_at_pointer(d, message, "/result/structuredContent", "structured result");
    if (!contents && !add_part_at_pointer(d, message, "/result", title)) {
        (void)add_part_at_pointer(d, message, "/error/message", title);
        (void)add_part_at_pointer(d, message, "/error/data", "error data");
    }
}

/* ---- the parts ---- */

static void add_detail_parts_of_answer(struct detail *d, size_t message, const struct rpc *m)
{
    char title[PART_TITLE] = "error";
    if (message_is_long(d, message)) {
        add_long_answer_parts(d, message);
    } else if (m->error.type == JSON_OBJECT) {
        if (m->error_code.type == JSON_NUMBER)
            snprintf(title, sizeof title, "error %.*s", (int)size_min(m->error_code.text.n, 20),
                     m->error_code.text.p);
        add_value_part(d, message, m->error_message, "/error/message", title);
        add_value_part(d, message, json_get(m->error, "data"), "/error/data", "error data");
    } else if (m->content.type == JSON_ARRAY) {
        add_content_parts(d, message, m);
    } else {
        add_value_part(d, message, m->result, "/result", "result");
    }
}

/* Parses message `i`. Returns false if the message cannot be read. */
static bool read_message_for_values(const struct detail *d, size_t i, struct rpc *ret)
{
    struct slice body = d->s.message[i].body;
    return body.p != NULL && (message_is_long(d, i) || rpc_read(body, ret) == 0);
}

static void add_request_parts(struct detail *d)
{
    struct rpc request;
    if (d->s.messages_n == 0 || !read_message_for_values(d, 0, &request))
        return;
    if (message_is_long(d, 0)) {
        if (!add_part_at_pointer(d, 0, "/params/arguments", "arguments"))
            (void)add_part_at_pointer(d, 0, "/params", "params");
    } else if (request.arguments.type != JSON_NONE) {
        add_value_part(d, 0, request.arguments, "/params/arguments", "arguments");
    } else {
        add_value_part(d, 0, request.params, "/params", "params");
    }
}

void values_add_parts_of_call(struct detail *d)
{
    struct rpc answer;
    size_t at = 1;
    while (at < d->s.messages_n && d->s.message[at].kind != KIND_RESULT &&
           d->s.message[at].kind != KIND_ERROR)
        at++;
    bool answered = at < d->s.messages_n && read_message_for_values(d, at, &answer);
    bool failed = answered && (message_is_long(d, at) ? call_status_failed(d->s.status)
                                                      : answer.error.type == JSON_OBJECT ||
                                                            answer.is_error.type == JSON_TRUE);
    if (failed)
        add_detail_parts_of_answer(d, at, &answer);
    add_request_parts(d);
    if (answered && !failed)
        add_detail_parts_of_answer(d, at, &answer);
}

size_t values_find_end_of_value(const struct detail *d, size_t message, size_t at, bool forward)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct part *p = &d->part[i];
        if (p->kind == PART_VALUE && p->message == message && at >= p->from && at < p->to)
            return forward ? p->to : p->from;
    }
    return SIZE_MAX;
}
