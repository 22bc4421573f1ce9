#include "wire/glued.h"

#include "wire/lenient.h"

bool glued_message_echoes_client(const struct open_requests *open, const struct rpc *m)
{
    if (m->kind == RPC_NOTIFICATION)
        return rpc_method_is(m, "notifications/initialized") ||
               rpc_method_is(m, "notifications/roots/list_changed");
    return m->kind == RPC_REQUEST && open->has_method(open->ctx, m->id, m->method);
}

bool slice_begins_json_container(struct slice s)
{
    return s.n > 0 && (s.p[0] == '{' || s.p[0] == '[');
}

static struct slice slice_from_pointer(struct slice line, const char *p)
{
    return (struct slice){p, (size_t)(line.p + line.n - p)};
}

static struct slice slice_before_pointer(struct slice line, const char *p)
{
    return (struct slice){line.p, (size_t)(p - line.p)};
}

bool glued_find_message(struct slice line, const struct json_fault *fault,
                        const struct open_requests *open, struct slice *ret_before,
                        struct slice *ret_rest, struct rpc *ret)
{
    const char *p = line.p, *end = p + line.n;
    if (*p == '{' || (*p == '[' && fault->kind == JSON_TRAILING))
        return false;
    for (int i = 0; i < GLUED_TRIES && p < end; i++) {
        p = memchr(p + 1, '{', (size_t)(end - p) - 1);
        if (p == NULL)
            return false;
        struct slice rest = slice_from_pointer(line, p);
        struct rpc first;
        /* if `rest` begins with a message that is not an echo, and other text follows that message,
         * the line has no message that follows only log text */
        if (rpc_read(rest, ret) < 0 && ret->fault.kind == JSON_TRAILING &&
            rpc_read((struct slice){rest.p, ret->fault.at}, &first) == 0 &&
            first.kind != RPC_INVALID && !glued_message_echoes_client(open, &first))
            return false;
        if (ret->fault.kind != JSON_OK || ret->kind == RPC_INVALID || ret->kind == RPC_BATCH ||
            glued_message_echoes_client(open, ret))
            continue;
        ret->findings |= FINDING(FIND_GLUED_TEXT);
        *ret_before = slice_before_pointer(line, p);
        *ret_rest = rest;
        return true;
    }
    return false;
}

enum glued_result glued_find_first_message(struct slice line, size_t max,
                                           const struct open_requests *open, struct glued *ret)
{
    const char *p = line.p, *end = p + line.n;
    for (int i = 0; i < GLUED_TRIES; i++, p++) {
        p = memchr(p, '{', (size_t)(end - p));
        if (p == NULL)
            return GLUED_NONE;
        struct lenient l;
        ret->before = slice_before_pointer(line, p);
        ret->rest = slice_from_pointer(line, p);
        json_repair_open(&ret->repair, max);
        enum json_repair_result result = json_repair_add_line(&ret->repair, ret->rest);
        ret->flaw_at = result == JSON_REPAIR_FLAWED ? ret->repair.flaw_at : ret->rest.n;
        bool whole = result == JSON_REPAIR_WHOLE;
        if (whole && !slice_begins_json_container(ret->repair.trailing) &&
            rpc_read(buf_slice(&ret->repair.text), &ret->rpc) == 0 &&
            ret->rpc.kind != RPC_INVALID && ret->rpc.kind != RPC_BATCH &&
            !glued_message_echoes_client(open, &ret->rpc))
            return GLUED_MESSAGE;
        lenient_json_read(ret->rest, &l);
        bool two = whole && slice_begins_json_container(ret->repair.trailing);
        if (!two && l.is_answer && lenient_json_line_is_answer(&l) && open->has(open->ctx, l.id))
            return GLUED_UNREADABLE;
        json_repair_close(&ret->repair);
        if (two)
            return GLUED_NONE;
    }
    return GLUED_NONE;
}
