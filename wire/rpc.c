#include "wire/rpc.h"

#include "wire/json/text.h"
#include "wire/meta.h"

/* Members of the envelope; `seen` has a bit for each. */
enum env { ENV_JSONRPC, ENV_ID, ENV_METHOD, ENV_PARAMS, ENV_RESULT, ENV_ERROR, ENV_OTHER };

struct reader {
    struct rpc *m;
    unsigned seen;
    struct json_value jsonrpc, method;
    /* `outer_at`: address of the key that was looked up last; `outer`: the member of the envelope
     * that has this key */
    const char *outer_at;
    enum env outer;
};

#define KEY_MAX FIELD_NAME_MAX /* maximum number of bytes of a known key */

/* Compares a key with a string literal, in one or two machine compares. */
#define KEY_IS(key, name)                                                                          \
    ((key).n == sizeof(name) - 1 && memcmp((key).p, name, sizeof(name) - 1) == 0)

static enum env get_envelope_member_by_name(struct slice key)
{
    return KEY_IS(key, "jsonrpc")  ? ENV_JSONRPC
           : KEY_IS(key, "id")     ? ENV_ID
           : KEY_IS(key, "method") ? ENV_METHOD
           : KEY_IS(key, "params") ? ENV_PARAMS
           : KEY_IS(key, "result") ? ENV_RESULT
           : KEY_IS(key, "error")  ? ENV_ERROR
                                   : ENV_OTHER;
}

/* For each member of params, and of result: the offset in struct rpc at which its value is stored.
 * 0: only its type is stored (offset 0 is `kind`, never a value). */
#define OFFSET(member) offsetof(struct rpc, member)
static const uint16_t params_offset[FIELD_COUNT] = {
    [FIELD_NAME] = OFFSET(name),
    [FIELD_URI] = OFFSET(uri),
    [FIELD_REF] = OFFSET(ref),
    [FIELD_TASK_ID] = OFFSET(uri),
    [FIELD_ARGUMENTS] = OFFSET(arguments),
    [FIELD_META] = OFFSET(meta),
    [FIELD_REQUEST_ID] = OFFSET(request_id),
    [FIELD_PROGRESS_TOKEN] = OFFSET(progress_token),
    [FIELD_PROGRESS] = OFFSET(progress),
    [FIELD_CURSOR] = OFFSET(cursor),
    [FIELD_REQUEST_STATE] = OFFSET(request_state),
};
static const uint16_t result_offset[FIELD_COUNT] = {
    [FIELD_CONTENT] = OFFSET(content),
    [FIELD_IS_ERROR] = OFFSET(is_error),
    [FIELD_RESULT_TYPE] = OFFSET(result_type),
    [FIELD_META] = OFFSET(result_meta),
    [FIELD_NEXT_CURSOR] = OFFSET(next_cursor),
    [FIELD_REQUEST_STATE] = OFFSET(request_state),
    [FIELD_STRUCTURED_CONTENT] = OFFSET(structured),
    [FIELD_TTL_MS] = OFFSET(ttl_ms),
    [FIELD_CACHE_SCOPE] = OFFSET(cache_scope),
};

/* Returns the key, unescaped to `room` if it has escapes and is short enough to be a known name. */
static struct slice unescape_short_key(struct slice key, char room[KEY_MAX])
{
    size_t n;
    if (key.n > 0 && memchr(key.p, '\\', key.n) != NULL &&
        json_unescape_to(key, room, KEY_MAX, &n) == 0)
        return (struct slice){room, n};
    return key;
}

static enum env get_envelope_member_of_key(struct slice key)
{
    char name[KEY_MAX];
    enum env e = get_envelope_member_by_name(key);
    return e != ENV_OTHER ? e : get_envelope_member_by_name(unescape_short_key(key, name));
}

static void read_envelope_member(struct reader *r, const struct json_member *mb)
{
    enum env e = get_envelope_member_of_key(mb->key);
    if (e == ENV_OTHER)
        return;
    if (r->seen & 1u << e)
        r->m->findings |= FINDING(FIND_DUPLICATE_ENVELOPE_KEY);
    r->seen |= 1u << e;
    struct json_value *const value[] = {&r->jsonrpc,   &r->m->id,     &r->method,
                                        &r->m->params, &r->m->result, &r->m->error};
    *value[e] = mb->value;
}

static void read_inner_member(struct reader *r, const struct json_member *mb)
{
    char name[KEY_MAX];
    /* all members of one object are reported one after the other, so the key of the object is
     * looked up only at the first of them */
    if (r->outer_at != mb->outer.p) {
        r->outer_at = mb->outer.p;
        r->outer = get_envelope_member_of_key(mb->outer);
    }
    struct slice key = unescape_short_key(mb->key, name);
    if (r->outer == ENV_ERROR) {
        if (KEY_IS(key, "code"))
            r->m->error_code = mb->value;
        else if (KEY_IS(key, "message"))
            r->m->error_message = mb->value;
    }
    if (r->outer != ENV_PARAMS && r->outer != ENV_RESULT)
        return;
    enum field f = field_find_name(key);
    if (f == FIELD_COUNT)
        return;
    bool params = r->outer == ENV_PARAMS;
    size_t offset = params ? params_offset[f] : result_offset[f];
    if (params)
        r->m->in_params[f] = (uint8_t)mb->value.type;
    else
        r->m->in_result[f] = (uint8_t)mb->value.type;
    if (offset != 0)
        memcpy((char *)r->m + offset, &mb->value, sizeof mb->value);
}

static void rpc_on_member(void *ctx, const struct json_member *mb)
{
    struct reader *r = ctx;
    if (mb->depth == 1)
        read_envelope_member(r, mb);
    else
        read_inner_member(r, mb);
}

static enum rpc_kind rpc_mark_invalid(struct rpc *m, enum finding why)
{
    m->findings |= FINDING(why);
    return RPC_INVALID;
}

static bool value_is_present(struct json_value v)
{
    return v.type != JSON_NONE && v.type != JSON_NULL;
}

static enum rpc_kind read_call_envelope(struct reader *r)
{
    struct rpc *m = r->m;
    if (r->method.type != JSON_STRING)
        return rpc_mark_invalid(m, FIND_NOT_JSONRPC);
    m->method = json_string_raw(r->method);
    if (m->result.type == JSON_NULL || m->error.type == JSON_NULL)
        m->findings |= FINDING(FIND_NULL_BESIDE_ANSWER);
    if (m->params.type == JSON_NULL)
        m->findings |= FINDING(FIND_NULL_PARAMS);
    else if (m->params.type == JSON_ARRAY)
        m->findings |= FINDING(FIND_ARRAY_PARAMS);
    else if (m->params.type != JSON_NONE && m->params.type != JSON_OBJECT)
        return rpc_mark_invalid(m, FIND_NOT_JSONRPC);
    switch (m->id.type) {
    case JSON_NONE:
        return RPC_NOTIFICATION;
    /* some libraries write all members, so id may be null; a request with such an id cannot be
     * answered */
    case JSON_NULL:
        m->findings |= FINDING(FIND_NULL_ID);
        return RPC_NOTIFICATION;
    case JSON_NUMBER:
    case JSON_STRING:
        return RPC_REQUEST;
    default:
        return rpc_mark_invalid(m, FIND_NOT_JSONRPC);
    }
}

static enum rpc_kind read_answer_envelope(struct rpc *m)
{
    bool result = m->result.type != JSON_NONE;
    bool error = m->error.type != JSON_NONE;
    if (result && error && (m->result.type == JSON_NULL || m->error.type == JSON_NULL)) {
        m->findings |= FINDING(FIND_NULL_BESIDE_ANSWER);
        result = m->result.type != JSON_NULL;
        error = m->error.type != JSON_NULL;
    }
    if (m->id.type != JSON_NONE && m->id.type != JSON_NULL && m->id.type != JSON_NUMBER &&
        m->id.type != JSON_STRING)
        return rpc_mark_invalid(m, FIND_MALFORMED_ANSWER);
    if (m->id.type == JSON_NULL)
        m->findings |= FINDING(FIND_NULL_ID);
    bool error_is_valid = m->error.type == JSON_OBJECT && json_is_integer(m->error_code) &&
                          m->error_message.type == JSON_STRING;
    if (result == error || (error && !error_is_valid))
        return rpc_mark_invalid(m, FIND_MALFORMED_ANSWER);
    if (error)
        return RPC_ERROR;
    if (m->id.type == JSON_NONE)
        return rpc_mark_invalid(m, FIND_MALFORMED_ANSWER);
    if (m->result.type != JSON_OBJECT)
        m->findings |= FINDING(FIND_RESULT_NOT_OBJECT);
    return RPC_RESULT;
}

static enum rpc_kind determine_message_kind(struct reader *r)
{
    struct rpc *m = r->m;
    if (m->is_call && m->is_answer)
        m->findings |= FINDING(FIND_CALL_AND_ANSWER);
    if (m->findings & RPC_AMBIGUOUS)
        return RPC_INVALID;
    if (!slice_is(r->jsonrpc.text, "\"2.0\"") &&
        (r->jsonrpc.type != JSON_STRING || !json_key_is(json_string_raw(r->jsonrpc), "2.0"))) {
        unsigned meant = 1u << ENV_JSONRPC | 1u << ENV_RESULT | 1u << ENV_ERROR;
        if (!m->is_call && m->id.type != JSON_NONE && (r->seen & meant) != 0)
            m->findings |= FINDING(FIND_MALFORMED_ANSWER);
        return rpc_mark_invalid(m, FIND_NOT_JSONRPC);
    }
    if (m->id.type == JSON_NUMBER && !json_is_integer(m->id))
        m->findings |= FINDING(FIND_FRACTIONAL_ID);
    if (m->is_call)
        return read_call_envelope(r);
    if (r->seen & (1u << ENV_RESULT | 1u << ENV_ERROR) || m->id.type != JSON_NONE)
        return read_answer_envelope(m);
    return rpc_mark_invalid(m, FIND_NOT_JSONRPC);
}

static bool line_begins_container(struct slice line)
{
    size_t i = 0;
    while (i < line.n && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r'))
        i++;
    return i < line.n && (line.p[i] == '{' || line.p[i] == '[');
}

static findings get_findings_of_json_fault(struct slice line, const struct json_scan *scan)
{
    switch (scan->fault.kind) {
    case JSON_UTF8:
        return FINDING(FIND_INVALID_UTF8);
    case JSON_DEEP:
        return FINDING(FIND_TOO_DEEP);
    case JSON_CUT:
        return FINDING(FIND_NOT_JSON) | (line_begins_container(line) ? FINDING(FIND_CUT_JSON) : 0);
    case JSON_TRAILING: {
        /* `12:00 {}` and `{} done` are log lines, but a parser that reads a stream finds two
         * messages in `{}{}`. */
        char next = line.p[scan->fault.at];
        bool two_containers =
            (scan->type == JSON_OBJECT || scan->type == JSON_ARRAY) && (next == '{' || next == '[');
        return two_containers ? FINDING(FIND_SEVERAL_VALUES) : FINDING(FIND_NOT_JSON);
    }
    default:
        return FINDING(FIND_NOT_JSON);
    }
}

int rpc_read(struct slice line, struct rpc *ret)
{
    *ret = (struct rpc){.kind = RPC_INVALID};
    struct reader r = {.m = ret};
    struct json_scan scan;
    int st = json_scan(line, rpc_on_member, &r, &scan);
    if (st < 0) {
        findings why = get_findings_of_json_fault(line, &scan);
        *ret = (struct rpc){.kind = RPC_INVALID, .findings = why, .fault = scan.fault};
        return st;
    }
    ret->text = scan.root;
    ret->is_call = r.seen & 1u << ENV_METHOD;
    ret->is_answer = value_is_present(ret->result) || value_is_present(ret->error);
    if (scan.duplicate_key)
        ret->findings |= FINDING(FIND_DUPLICATE_KEY);
    if (scan.deep)
        ret->findings |= FINDING(FIND_DEEP_MESSAGE);
    if (scan.type == JSON_OBJECT)
        ret->kind = determine_message_kind(&r);
    else if (scan.type == JSON_ARRAY)
        ret->kind = RPC_BATCH;
    else
        ret->kind = rpc_mark_invalid(ret, FIND_NOT_JSONRPC);
    return 0;
}

void rpc_read_truncated_line(struct slice head, struct rpc *ret)
{
    *ret = (struct rpc){.kind = RPC_INVALID};
    struct reader r = {.m = ret};
    struct json_scan scan;
    if (json_scan(head, rpc_on_member, &r, &scan) < 0)
        ret->fault = scan.fault;
    ret->is_call = r.seen & 1u << ENV_METHOD;
    ret->method = json_string_raw(r.method);
    bool number = ret->id.type == JSON_NUMBER;
    if (number && ret->id.text.p + ret->id.text.n == head.p + head.n)
        number = false; /* a number at the end may be incomplete: 7 may be the first digit of 78 */
    if (!number && ret->id.type != JSON_STRING)
        ret->id = (struct json_value){0};
}

bool rpc_method_is(const struct rpc *m, const char *method)
{
    return m->method.p != NULL && json_key_is(m->method, method);
}

struct slice rpc_target(const struct rpc *m)
{
    if (m->kind != RPC_REQUEST && m->kind != RPC_NOTIFICATION)
        return (struct slice){0};
    if (m->ref.type == JSON_OBJECT) {
        struct json_value v = json_get(m->ref, "name");
        return json_string_raw(v.type == JSON_STRING ? v : json_get(m->ref, "uri"));
    }
    return json_string_raw(m->name.type == JSON_STRING ? m->name : m->uri);
}

struct rpc_name rpc_name(const struct rpc *m, struct buf *b)
{
    struct slice target = rpc_target(m);
    buf_clear(b);
    if (m->method.p != NULL)
        json_unescape(b, m->method);
    size_t n = b->n;
    if (target.p != NULL)
        json_unescape(b, target);
    struct slice all = buf_slice(b);
    return (struct rpc_name){{all.p, n}, {all.p + n, all.n - n}};
}

bool rpc_is_modern(const struct rpc *m)
{
    if (m->meta.type != JSON_OBJECT || m->meta.text.n < sizeof META_VERSION)
        return false;
    return json_get(m->meta, META_VERSION).type == JSON_STRING;
}

bool rpc_is_interposer_error(const struct rpc *answer)
{
    struct json_value source = json_get(json_get(answer->error, "data"), "source");
    return answer->kind == RPC_ERROR && json_key_is(json_string_raw(source), "mcp-interposer");
}

struct json_value rpc_get_input_requests(const struct rpc *m)
{
    bool notes = m->kind == RPC_NOTIFICATION;
    if ((notes ? m->in_params : m->in_result)[FIELD_INPUT_REQUESTS] == JSON_NONE)
        return (struct json_value){JSON_NONE, {NULL, 0}};
    return json_get(notes ? m->params : m->result, "inputRequests");
}
