#include "redact/form.h"
#include "base/chars.h"
#include "redact/member_value.h"
#include "redact/walk.h"
#include "wire/json/text.h"
#include <stdio.h>
#define PROSE_MAX 2048 /* maximum bytes that are read of a title or description */
#define WORDS 3        /* maximum number of words of a secret's name in prose */
#define WORD_MAX 15    /* maximum letters of a word that is looked up in a list */

/* ---- does a text ask for a secret? ----------------------------------------------------------- */
/* A word of prose, and the separator between it and the previous word. */
struct word {
    struct slice text;
    bool joined; /* only blanks are between the previous word and this word */
};

static bool is_prose_word_char(char c)
{
    return char_is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '\'' ||
           (unsigned char)c >= 0x80;
}

static bool parse_next_word(struct slice *rest, struct word *ret)
{
    size_t i = 0;
    ret->joined = true;
    for (; i < rest->n && !is_prose_word_char(rest->p[i]); i++)
        ret->joined = ret->joined && (rest->p[i] == ' ' || rest->p[i] == '\n');
    size_t from = i;
    while (i < rest->n && is_prose_word_char(rest->p[i]))
        i++;
    ret->text = (struct slice){rest->p + from, i - from};
    *rest = (struct slice){rest->p + i, rest->n - i};
    return ret->text.n > 0;
}

static bool word_is_in_word_list(struct slice word, const char *const *words)
{
    char low[WORD_MAX];
    if (word.n > sizeof low)
        return false;
    for (size_t i = 0; i < word.n; i++)
        low[i] = (char)(word.p[i] >= 'A' && word.p[i] <= 'Z' ? word.p[i] | 0x20 : word.p[i]);
    return slice_is_in_word_list((struct slice){low, word.n}, words);
}

/* Whether a text may ask for a secret whose name precedes this word. "token count" does not. */
static bool word_may_follow_secret(struct slice word)
{
    static const char *const words[] = {
        "for",  "of",    "to",   "from",   "here",  "in",     "on",    "used",   "required",
        "that", "which", "with", "is",     "and",   "or",     "again", "if",     "at",
        "as",   "you",   "your", "we",     "below", "so",     "will",  "please", "value",
        "was",  "by",    "must", "should", "can",   "needed", "has",   NULL};
    return word_is_in_word_list(word, words);
}

/* Whether this word before a secret's name shows a mere mention, as in "path of the secret". */
static bool word_only_mentions_secret(struct slice word)
{
    static const char *const words[] = {
        "of",    "about",     "without",  "no",   "not",   "never",   "don't",    "name",
        "path",  "link",      "url",      "many", "named", "count",   "label",    "reason",
        "whose", "reference", "location", "file", "when",  "purpose", "nickname", NULL};
    return word_is_in_word_list(word, words);
}

/* Whether the text only mentions the secret that the last word names, and does not ask for it.
 * "name and password" asks for both; "the last digits of the PIN" asks for the PIN. */
static bool secret_is_only_mentioned(const struct word *words, size_t n)
{
    static const char *const both[] = {"and", "or", NULL};
    static const char *const parts[] = {"digits", "characters", "value", NULL};
    static const char *const of[] = {"of", NULL};
    for (size_t i = n - 1; i > 0 && words[i].joined; i--) {
        struct slice word = words[i - 1].text;
        if (word_is_in_word_list(word, both))
            return false;
        if (i > 1 && words[i - 1].joined && word_is_in_word_list(word, of) &&
            word_is_in_word_list(words[i - 2].text, parts))
            return false;
        if (word_only_mentions_secret(word))
            return true;
    }
    return false;
}

static bool slice_is_capitals(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] >= 'a' && s.p[i] <= 'z')
            return false;
    return true;
}

/* Whether the last word, with the words before it, names a secret. Words with other meanings in
 * prose, such as `pass`, `cookie` and `authorization`, do not count. */
static bool words_are_secret_name(const struct keys *k, const struct word *words, size_t n)
{
    struct slice last = words[n - 1].text;
    size_t first = n - 1;
    while (first > 0 && n - first < WORDS && words[first].joined)
        first--;
    struct slice name = {words[first].text.p, (size_t)(last.p + last.n - words[first].text.p)};
    const struct key_rule *rule = key_find_form_field_rule(k, name);
    if (rule == NULL)
        rule = key_find_exact(k, last);
    return rule != NULL && (rule->flags & (KEY_NO_NUMBER | KEY_NO_WORD)) == 0 &&
           strcmp(rule->rule, "authorization") != 0 &&
           (!(rule->flags & KEY_CAPITALS) || slice_is_capitals(last));
}

/* Whether a text asks for a secret. Returns false if the text only mentions a secret. */
static bool prose_asks_for_secret(const struct keys *k, struct slice text)
{
    struct word words[WORDS + 2];
    size_t n = 0;
    struct slice rest = text;
    while (true) {
        if (n == MI_COUNT(words)) {
            memmove(words, words + 1, (n - 1) * sizeof *words);
            n--;
        }
        if (!parse_next_word(&rest, &words[n]))
            return false;
        n++;
        if (!words_are_secret_name(k, words, n))
            continue;
        struct slice behind = rest;
        struct word next;
        bool spoken_of =
            parse_next_word(&behind, &next) && next.joined && !word_may_follow_secret(next.text);
        if (!spoken_of && !secret_is_only_mentioned(words, n))
            return true;
    }
}

/* Finds the next member with this name: of several such members, a reader may use any. */
static bool find_member(struct json_walk *w, const char *name, struct json_value *ret)
{
    struct slice key;
    struct json_value one;
    while (w->object && json_walk_next(w, &key, &one))
        if (json_key_is(key, name)) {
            *ret = one;
            return true;
        }
    return false;
}

/* ---- does a field ask for a secret? ---------------------------------------------------------- */
static bool schema_type_equals(struct json_value type, const char *name)
{
    struct slice key;
    struct json_value one;
    if (type.type == JSON_STRING)
        return json_key_is(json_string_raw(type), name);
    for (struct json_walk w = json_walk_begin(type);
         type.type == JSON_ARRAY && json_walk_next(&w, &key, &one);)
        if (json_key_is(json_string_raw(one), name))
            return true;
    return false;
}

static bool schema_has_one_of(struct json_value schema, const char *const *names)
{
    for (; *names != NULL; names++)
        if (json_get(schema, *names).type != JSON_NONE)
            return true;
    return false;
}

/* Whether one of these schemas is a text without choices. An optional text is `anyOf` text and
 * null. */
static bool any_schema_is_text(struct json_value schemas)
{
    static const char *const choices[] = {"enum", "const", NULL};
    struct slice key;
    struct json_value one;
    for (struct json_walk w = json_walk_begin(schemas); json_walk_next(&w, &key, &one);)
        if (schema_type_equals(json_get(one, "type"), "string") && !schema_has_one_of(one, choices))
            return true;
    return false;
}

/* Whether the field is a text or number that a person types, not a box to tick or a choice. */
static bool field_is_typed_by_person(struct json_value schema, bool *ret_number)
{
    static const char *const choices[] = {"enum", "oneOf", "anyOf", "const", NULL};
    struct json_value type = json_get(schema, "type");
    *ret_number = schema_type_equals(type, "number") || schema_type_equals(type, "integer");
    if (schema.type != JSON_OBJECT ||
        (type.type != JSON_NONE && !*ret_number && !schema_type_equals(type, "string")))
        return false;
    return !schema_has_one_of(schema, choices) || any_schema_is_text(json_get(schema, "anyOf")) ||
           any_schema_is_text(json_get(schema, "oneOf"));
}

static bool text_asks_for_secret(const struct keys *k, struct json_value v)
{
    struct buf text = {0};
    if (v.type != JSON_STRING)
        return false;
    json_unescape(&text, json_string_first_bytes(v.text.p, 6 * PROSE_MAX)); /* \uXXXX has 6 bytes */
    struct slice start = {buf_slice(&text).p, size_min(text.n, PROSE_MAX)};
    bool asks = text.failed || prose_asks_for_secret(k, start);
    buf_close(&text);
    return asks;
}

static bool field_asks_for_secret(const struct keys *k, struct slice name, struct json_value schema)
{
    static const char *const prose[] = {"title", "description"};
    struct json_value v;
    bool number;
    if (!field_is_typed_by_person(schema, &number))
        return false;
    if (json_key_is(json_string_raw(json_get(schema, "format")), "password"))
        return true;
    const struct key_rule *rule = key_find_form_field_rule(k, name);
    if (rule != NULL)
        return !number || !(rule->flags & KEY_NO_NUMBER);
    for (size_t i = 0; i < MI_COUNT(prose); i++)
        for (struct json_walk w = json_walk_begin(schema); find_member(&w, prose[i], &v);)
            if (text_asks_for_secret(k, v))
                return true;
    return false;
}

/* ---- what was asked -------------------------------------------------------------------------- */
static uint64_t forms_hash(uint64_t seed, struct slice raw)
{
    struct buf plain = {0};
    uint64_t h = 0xcbf29ce484222325 ^ seed;
    if (raw.n > 0 && memchr(raw.p, '\\', raw.n) != NULL)
        json_unescape(&plain, raw);
    struct slice s = plain.n > 0 ? buf_slice(&plain) : raw;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001b3;
    buf_close(&plain);
    return h != 0 ? h : 1;
}

enum { OF_ID = 1, OF_KEY, OF_FIELD, OF_TASK };

/* Hashes an id. "7", 7 and 7.0 get the same hash: an answer with one of them belongs to the
 * request. */
static uint64_t forms_hash_of_id(struct json_value id)
{
    int64_t n;
    char text[24];
    if (json_int(id, &n)) {
        snprintf(text, sizeof text, "%lld", (long long)n);
        return forms_hash(OF_ID, slice_of(text));
    }
    return forms_hash(OF_ID, id.type == JSON_STRING ? json_string_raw(id) : id.text);
}

static const struct asked_form *forms_find_by_owner(const struct forms *f, uint64_t owner)
{
    for (size_t i = 0; i < FORMS_MAX; i++)
        if (f->form[i].owner == owner)
            return &f->form[i];
    return NULL;
}

static bool form_has_field(const struct asked_form *form, uint64_t field)
{
    for (unsigned i = 0; i < form->n; i++)
        if (form->field[i] == field)
            return true;
    return form->all;
}

static void form_add_field(struct asked_form *form, uint64_t field)
{
    if (form_has_field(form, field))
        return;
    if (form->n == FORM_FIELDS)
        form->all = true;
    else
        form->field[form->n++] = field;
}

/* Whether the form's only field has a name such as `value`, which does not describe the field. */
static bool form_has_one_vague_field(struct json_value fields, struct slice *ret_key)
{
    static const char *const names[] = {"value", "input", "answer", "response",
                                        "text",  "reply", NULL};
    struct slice key;
    struct json_value one, more;
    bool number;
    struct json_walk w = json_walk_begin(fields);
    if (!w.object || !json_walk_next(&w, ret_key, &one) || json_walk_next(&w, &key, &more))
        return false;
    return word_is_in_word_list(*ret_key, names) && field_is_typed_by_person(one, &number);
}

/* Notes a form. Returns whether it has secret fields. *budget: bytes that may still be read. */
static bool note_form(struct forms *f, const struct redact *r, uint64_t owner,
                      struct json_value params, size_t *budget)
{
    struct slice key;
    struct json_value one;
    struct buf name = {0};
    bool asks = false;
    const struct asked_form *known = forms_find_by_owner(f, owner);
    struct asked_form *form =
        known != NULL ? &f->form[known - f->form] : &f->form[f->next++ % FORMS_MAX];
    if (known == NULL)
        *form = (struct asked_form){.owner = owner};
    if (params.text.n > *budget) {
        form->all = true;
        return false;
    }
    *budget -= params.text.n;
    struct json_value fields = {0}, schema = json_get(params, "requestedSchema");
    for (struct json_walk of = json_walk_begin(schema); find_member(&of, "properties", &fields);)
        for (struct json_walk w = json_walk_begin(fields);
             w.object && json_walk_next(&w, &key, &one);) {
            buf_clear(&name);
            json_unescape(&name, key);
            if (field_asks_for_secret(&r->keys, name.failed ? key : buf_slice(&name), one)) {
                form_add_field(form, forms_hash(OF_FIELD, key));
                asks = true;
            }
        }
    if (!asks && form_has_one_vague_field(fields, &key) &&
        text_asks_for_secret(&r->keys, json_get(params, "message"))) {
        form_add_field(form, forms_hash(OF_FIELD, key));
        asks = true;
    }
    buf_close(&name);
    return asks;
}

/* Notes the forms in the inputRequests of a result, a task or a notification. */
static bool forms_note_inputs(struct forms *f, const struct redact *r, struct json_value requests)
{
    struct slice key;
    struct json_value one;
    bool asks = false;
    size_t budget = FORM_BYTES;
    for (struct json_walk w = json_walk_begin(requests);
         w.object && json_walk_next(&w, &key, &one);)
        if (json_key_is(json_string_raw(json_get(one, "method")), "elicitation/create"))
            asks |= note_form(f, r, forms_hash(OF_KEY, key), json_get(one, "params"), &budget);
    return asks;
}

/* Notes that the client answers the request with this id by creating a task. */
static void forms_note_task(struct forms *f, struct json_value id, struct json_value task)
{
    uint64_t owner = forms_hash_of_id(id);
    for (size_t i = 0; i < FORMS_MAX && task.type == JSON_STRING; i++)
        if (f->form[i].owner == owner)
            f->form[i].task = forms_hash(OF_TASK, json_string_raw(task));
}

/* Notes that the server requests the result of a task; `id` is the id of this request. */
static void forms_note_result(struct forms *f, struct json_value id, struct json_value task)
{
    uint64_t of_task = task.type == JSON_STRING ? forms_hash(OF_TASK, json_string_raw(task)) : 0;
    for (size_t i = 0; i < FORMS_MAX && of_task != 0; i++)
        if (f->form[i].task == of_task) {
            f->form[i].owner = forms_hash_of_id(id);
            return;
        }
}

bool forms_read_rpc(struct forms *f, const struct redact *r, const struct rpc *m, bool from_client)
{
    size_t budget = FORM_BYTES;
    if (from_client && m->in_result[FIELD_TASK] == JSON_OBJECT)
        forms_note_task(f, m->id, json_get(json_get(m->result, "task"), "taskId"));
    if (from_client || r == NULL)
        return false;
    if (rpc_method_is(m, "tasks/result"))
        forms_note_result(f, m->id, json_get(m->params, "taskId"));
    else if (rpc_method_is(m, "elicitation/create"))
        return note_form(f, r, forms_hash_of_id(m->id), m->params, &budget);
    return forms_note_inputs(f, r, rpc_get_input_requests(m));
}

/* ---- answers --------------------------------------------------------------------------------- */
struct hiding {
    const struct forms *f;
    const char *at; /* the text before this position was copied to `out` */
    struct buf *out;
    size_t n;
};

static void hide_form_value(struct hiding *h, struct json_value v)
{
    struct slice raw = json_string_raw(v);
    if (v.type < JSON_NUMBER ||
        (v.type == JSON_STRING && (raw.n == 0 || get_redaction_mark_len(raw) == raw.n)))
        return; /* null, true, false, "" and redaction marks contain nothing to hide */
    buf_add(h->out, h->at, (size_t)(v.text.p - h->at));
    buf_adds(h->out, "\"[redacted:form]\"");
    h->at = v.text.p + v.text.n;
    h->n++;
}

static bool form_has_secrets(const struct asked_form *form)
{
    return form->n > 0 || form->all;
}

/* The result of an elicitation: {"action": …, "content": {…}}. form is NULL if it is unknown. */
static void hide_secrets_in_answer(struct hiding *h, const struct asked_form *form,
                                   struct json_value answer)
{
    struct slice key;
    struct json_value one, content;
    if (form == NULL && json_get(answer, "action").type != JSON_STRING)
        return; /* `answer` belongs to another kind of request, such as a sampling request */
    if (answer.type != JSON_OBJECT && form_has_secrets(form))
        hide_form_value(h, answer);
    for (struct json_walk of = json_walk_begin(answer); find_member(&of, "content", &content);) {
        if (content.type != JSON_OBJECT && (form == NULL || form_has_secrets(form)))
            hide_form_value(h, content);
        for (struct json_walk w = json_walk_begin(content);
             w.object && json_walk_next(&w, &key, &one);)
            if (form == NULL || form_has_field(form, forms_hash(OF_FIELD, key)))
                hide_form_value(h, one);
    }
}

/* Returns the answered form, or NULL. For two or more ids: a form with all fields secret. */
static const struct asked_form *find_answered_form(const struct forms *f, struct json_value message)
{
    static const struct asked_form all = {.all = true};
    struct json_value id = {0}, more;
    struct json_walk w = json_walk_begin(message);
    (void)find_member(&w, "id", &id);
    return find_member(&w, "id", &more) ? &all : forms_find_by_owner(f, forms_hash_of_id(id));
}

static void hide_secrets_in_inputs(struct hiding *h, struct json_value params)
{
    struct slice key;
    struct json_value one, inputs;
    for (struct json_walk of = json_walk_begin(params);
         find_member(&of, "inputResponses", &inputs);) {
        if (inputs.type != JSON_OBJECT && forms_have_secrets(h->f))
            hide_form_value(h, inputs);
        for (struct json_walk w = json_walk_begin(inputs);
             w.object && json_walk_next(&w, &key, &one);)
            hide_secrets_in_answer(h, forms_find_by_owner(h->f, forms_hash(OF_KEY, key)), one);
    }
}

static void hide_secrets_in_message(struct hiding *h, struct json_value m)
{
    struct slice key;
    struct json_value one;
    const struct asked_form *form = find_answered_form(h->f, m);
    for (struct json_walk w = json_walk_begin(m); w.object && json_walk_next(&w, &key, &one);)
        if (json_key_is(key, "result"))
            hide_secrets_in_answer(h, form, one);
        else if (json_key_is(key, "params"))
            hide_secrets_in_inputs(h, one);
}

bool forms_have_secrets(const struct forms *f)
{
    for (size_t i = 0; i < FORMS_MAX; i++)
        if (form_has_secrets(&f->form[i]))
            return true;
    return false;
}

int forms_hide_secrets(const struct forms *f, struct slice message, struct buf *out, size_t *ret_n)
{
    struct hiding h = {.f = f, .at = message.p, .out = out};
    struct json_scan scan;
    struct slice key;
    struct json_value one;
    buf_clear(out);
    *ret_n = 0;
    if (json_scan(message, NULL, NULL, &scan) < 0) {
        if (!forms_have_secrets(f) || get_redaction_mark_len(message) == message.n)
            return 0;
        buf_adds(out, "[redacted:form]");
        *ret_n = 1;
        return out->failed ? MI_ENOMEM : 0;
    }
    struct json_value root = {json_type_at(*scan.root.p), scan.root};
    hide_secrets_in_message(&h, root);
    for (struct json_walk w = json_walk_begin(root);
         root.type == JSON_ARRAY && json_walk_next(&w, &key, &one);)
        hide_secrets_in_message(&h, one);
    if (h.n == 0)
        return 0;
    buf_add(out, h.at, (size_t)(message.p + message.n - h.at));
    *ret_n = h.n;
    return out->failed ? MI_ENOMEM : 0;
}
