#include "cli/send/outgoing.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/send/argument_json.h"
#include "cli/settings/command.h"
#include "wire/json/pointer.h"
#include "wire/json/set.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/rpc_out.h"

void outgoing_close(struct outgoing *r)
{
    buf_close(&r->method);
    buf_close(&r->target);
    buf_close(&r->params);
    cli_value_close(&r->words);
}

/* ---- from words ---- */

/* Methods whose target may be given as a word without a member name. member: the member of params
 * for the target. */
static const struct {
    const char *method, *member;
    /* needed: the target must be given. arguments: true: the other words set members of
     * `arguments`; false: they set members of params. */
    bool needed, arguments;
} targets[] = {
    {"tools/call", "name", true, true},
    {"prompts/get", "name", true, true},
    {"resources/read", "uri", false, false},
    {"resources/subscribe", "uri", false, false},
    {"resources/unsubscribe", "uri", false, false},
    {"tasks/get", "taskId", false, false},
    {"tasks/result", "taskId", false, false},
    {"tasks/cancel", "taskId", false, false},
    {"logging/setLevel", "level", false, false},
};

/* Returns the index of the request's method in `targets`; MI_COUNT(targets) if it is not there. */
static size_t find_target(const struct outgoing *r)
{
    size_t i = 0;
    while (i < MI_COUNT(targets) && !slice_is(buf_slice(&r->method), targets[i].method))
        i++;
    return i;
}

bool outgoing_is_tool_call(const struct outgoing *r)
{
    return slice_is(buf_slice(&r->method), "tools/call");
}

static int read_target_and_words(struct outgoing *r, char *const *words, int n, struct buf *error)
{
    int st = 0;
    for (int i = 0; st == 0 && i < n; i++) {
        bool pair = cli_value_is_name_value_pair(words[i]);
        if (pair || r->target.n > 0 || i > 0) {
            st = cli_value_add_word(&r->words, words[i], false, error);
        } else if (find_target(r) < MI_COUNT(targets)) {
            buf_adds(&r->target, words[i]);
        } else {
            buf_addc(error, '\'');
            text_append_visible(error, slice_of(words[i]));
            buf_adds(error, "': expected NAME=VALUE");
            st = MI_EINVAL;
        }
    }
    return st;
}

int outgoing_read_words(struct outgoing *r, char *const *words, int n, struct buf *error)
{
    const struct method *known = method_find(slice_of(words[0]));
    bool is_method = known != NULL && known->is_request && known->from_client != 0;
    r->may_be_tool = !is_method && strchr(words[0], '/') != NULL;
    if (is_method || r->may_be_tool) {
        buf_adds(&r->method, words[0]);
    } else {
        buf_adds(&r->method, "tools/call");
        buf_adds(&r->target, words[0]);
    }
    int st = read_target_and_words(r, words + 1, n - 1, error);
    size_t row = find_target(r);
    if (st == 0 && row < MI_COUNT(targets) && targets[row].needed && r->target.n == 0) {
        buf_printf(error, "missing name: %s NAME", words[0]);
        st = MI_EINVAL;
    }
    return st < 0 ? st : r->method.failed || r->target.failed ? MI_ENOMEM : 0;
}

int outgoing_make_tool_call(struct outgoing *r)
{
    buf_clear(&r->target);
    buf_slice_add(&r->target, buf_slice(&r->method));
    buf_clear(&r->method);
    buf_adds(&r->method, "tools/call");
    r->may_be_tool = false;
    return r->method.failed || r->target.failed ? MI_ENOMEM : 0;
}

/* Sets a member of params. value: JSON. Returns false if memory is short. */
static bool set_params_member(struct outgoing *r, struct slice name, const struct buf *value)
{
    struct buf pointer = {0}, changed = {0}, error = {0};
    pointer_add(&pointer, name);
    bool good = !pointer.failed && !value->failed && !r->params.failed &&
                json_set_value_at_pointer(&changed, buf_slice(&r->params), buf_slice(&pointer),
                                          buf_slice(value), &error) == 0;
    if (good) {
        buf_close(&r->params);
        r->params = changed;
    } else {
        buf_close(&changed);
    }
    buf_close(&pointer);
    buf_close(&error);
    return good;
}

int outgoing_make_params(struct outgoing *r, struct json_value input_schema, struct slice meta)
{
    struct buf value = {0};
    size_t row = find_target(r);
    bool good = true, has_row = row < MI_COUNT(targets);
    buf_adds(&r->params, r->params.n == 0 ? "{}" : "");
    if (meta.n > 0) {
        buf_slice_add(&value, meta);
        good = set_params_member(r, slice_of("_meta"), &value);
    }
    if (good && r->target.n > 0 && has_row) {
        buf_clear(&value);
        text_append_json(&value, buf_slice(&r->target));
        good = set_params_member(r, slice_of(targets[row].member), &value);
    }
    if (good && has_row && targets[row].arguments) {
        buf_clear(&value);
        argument_json_append_object(&value, input_schema, &r->words);
        good = set_params_member(r, slice_of("arguments"), &value);
    }
    for (size_t i = 0; good && !(has_row && targets[row].arguments) && i < r->words.n; i++) {
        buf_clear(&value);
        argument_json_append_param(&value, buf_str(&r->method), &r->words.list[i]);
        good = set_params_member(r, r->words.list[i].name, &value);
    }
    buf_close(&value);
    return good ? 0 : MI_ENOMEM;
}

/* ---- from a recording ---- */

int outgoing_copy_recorded_request(struct outgoing *r, const struct rpc *recorded)
{
    struct slice target = rpc_target(recorded);
    json_unescape(&r->method, recorded->method);
    if (target.p != NULL)
        json_unescape(&r->target, target);
    if (recorded->params.type == JSON_OBJECT)
        buf_slice_add(&r->params, recorded->params.text);
    return r->method.failed || r->target.failed || r->params.failed ? MI_ENOMEM : 0;
}

/* ---- changes ---- */

/* If the pointer is /arguments/NAME, replaces the content of `b` with NAME. Otherwise returns
 * false. */
static bool read_argument_name_of_pointer(struct slice pointer, struct buf *b)
{
    static const char above[] = "/arguments/";
    size_t n = sizeof above - 1;
    buf_clear(b);
    return slice_begins(pointer, above) && memchr(pointer.p + n, '/', pointer.n - n) == NULL &&
           pointer_unescape(b, (struct slice){pointer.p + n, pointer.n - n});
}

/* Appends the value of an option --set, or a secret that the user typed, to `b`, as JSON. */
static void outgoing_write_typed_value(struct buf *b, struct slice params,
                                       const struct cli_value *g, struct json_value input_schema)
{
    struct buf name = {0};
    struct json_scan scan;
    struct json_value old = json_find_at_pointer((struct json_value){JSON_OBJECT, params}, g->name);
    bool plain = old.type == JSON_NONE || old.type == JSON_STRING || old.type == JSON_NULL;
    if (!g->is_json && input_schema.type != JSON_NONE &&
        read_argument_name_of_pointer(g->name, &name)) {
        struct cli_value one = *g;
        one.name = buf_slice(&name);
        argument_json_append_argument(b, input_schema, one.name,
                                      &(struct cli_value_list){.list = &one, .n = 1});
    } else if (g->is_json || (!plain && json_scan(buf_slice(&g->value), NULL, NULL, &scan) == 0)) {
        buf_slice_add(b, buf_slice(&g->value));
    } else {
        text_append_json(b, buf_slice(&g->value));
    }
    b->failed |= name.failed;
    buf_close(&name);
}

static int outgoing_set_param(struct buf *params, const struct cli_value *g,
                              struct json_value input_schema, struct buf *error)
{
    struct buf value = {0}, changed = {0}, reason = {0};
    if (params->n == 0)
        buf_adds(params, "{}");
    outgoing_write_typed_value(&value, buf_slice(params), g, input_schema);
    int st = value.failed || params->failed
                 ? MI_ENOMEM
                 : json_set_value_at_pointer(&changed, buf_slice(params), g->name,
                                             buf_slice(&value), &reason);
    if (st == 0 && changed.p[0] != '{') {
        buf_adds(&reason, "replaces all params of the request: its value must be an object");
        st = MI_EINVAL;
    }
    if (st == 0) {
        buf_close(params);
        *params = changed;
        changed = (struct buf){0};
    } else if (st == MI_EINVAL) {
        buf_addc(error, '\'');
        text_append_visible(error, g->name);
        buf_printf(error, "' %s", buf_str(&reason));
    }
    buf_close(&value);
    buf_close(&changed);
    buf_close(&reason);
    return st;
}

int outgoing_set_params(struct buf *params, const struct cli_value_list *sets,
                        struct json_value input_schema, struct buf *error)
{
    int st = 0;
    for (size_t i = 0; st == 0 && i < sets->n; i++)
        st = outgoing_set_param(params, &sets->list[i], input_schema, error);
    return st;
}

/* ---- secrets ---- */

struct remaining {
    const struct cli_value_list *sets;
    secrets_fn fn;
    void *ctx;
};

/* Whether `pointer` is equal to `outer`, or inside of it. */
static bool pointer_is_inside_other(struct slice pointer, struct slice outer)
{
    return pointer.n >= outer.n && memcmp(pointer.p, outer.p, outer.n) == 0 &&
           (pointer.n == outer.n || pointer.p[outer.n] == '/');
}

static void outgoing_on_secret(void *ctx, struct slice pointer, enum marks marks, struct slice raw)
{
    const struct remaining *r = ctx;
    for (size_t i = 0; i < r->sets->n; i++)
        if (pointer_is_inside_other(pointer, r->sets->list[i].name))
            return; /* the user has replaced this value with --set */
    r->fn(r->ctx, pointer, marks, raw);
}

int outgoing_for_each_secret(struct slice params, const struct cli_value_list *sets, secrets_fn fn,
                             void *ctx)
{
    struct remaining r = {sets, fn, ctx};
    return params.n == 0
               ? 0
               : secrets_for_each((struct json_value){JSON_OBJECT, params}, outgoing_on_secret, &r);
}

#define TEXT_MAX 300

static void report_secret(void *ctx, struct slice pointer, enum marks marks, struct slice raw)
{
    struct buf p = {0}, text = {0};
    int *n = ctx;
    text_append_visible(&p, pointer);
    text_append_visible(&text, text_prefix(raw, TEXT_MAX));
    if (marks == MARKS_SECRET)
        log_error("the secret at %s was not recorded (\"%s\"): give it with --set %s=VALUE, where "
                  "VALUE may be @FILE or env:NAME",
                  buf_str(&p), buf_str(&text), buf_str(&p));
    else
        log_error("the text at %s was truncated in the recording: give it with --set %s=VALUE, "
                  "where VALUE may be @FILE, or record with --record full",
                  buf_str(&p), buf_str(&p));
    buf_close(&p);
    buf_close(&text);
    ++*n;
}

int outgoing_refuse_secrets(struct slice params, const struct cli_value_list *sets)
{
    int n = 0;
    if (outgoing_for_each_secret(params, sets, report_secret, &n) < 0) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    return n > 0 ? EXIT_USAGE : EXIT_FINE;
}

void outgoing_write_message(const struct outgoing *r, struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "jsonrpc", "2.0");
    json_out_int(&j, "id", 0);
    json_out_text(&j, "method", buf_slice(&r->method));
    if (r->params.n > 0)
        json_out_add_visible_json(&j, "params",
                                  buf_slice(&r->params)); /* writes params on one line */
    json_out_end(&j);
}
