#include "wire/rpc_out.h"

static void rpc_out_begin(struct json_out *j)
{
    json_out_object(j, NULL);
    json_out_str(j, "jsonrpc", "2.0");
}

void rpc_out_begin_answer(struct json_out *j, struct slice id)
{
    rpc_out_begin(j);
    json_out_raw(j, "id", id);
}

void rpc_out_begin_error_answer(struct json_out *j, struct slice id, int code, const char *message,
                                const char *cause)
{
    rpc_out_begin_answer(j, id);
    json_out_object(j, "error");
    json_out_int(j, "code", code);
    json_out_str(j, "message", message);
    json_out_object(j, "data");
    json_out_str(j, "source", "mcp-interposer");
    json_out_str(j, "cause", cause);
}

void rpc_out_begin_request(struct json_out *j, struct slice id, const char *method)
{
    rpc_out_begin(j);
    json_out_raw(j, "id", id);
    json_out_str(j, "method", method);
}

void rpc_out_begin_notification(struct json_out *j, const char *method)
{
    rpc_out_begin(j);
    json_out_str(j, "method", method);
}

void rpc_out_end(struct json_out *j)
{
    while (j->depth > 0)
        json_out_end(j);
}
