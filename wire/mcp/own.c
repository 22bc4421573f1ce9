#include "wire/mcp/own.h"

#include "wire/rpc_out.h"

static void add_client_info(struct json_out *j, const char *name)
{
    json_out_object(j, name);
    json_out_str(j, "name", "mcp-interposer");
    json_out_str(j, "version", MI_VERSION);
    json_out_end(j);
}

void own_write_initialize_params(struct buf *b, enum revision revision)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "protocolVersion", revision_name(revision));
    json_out_object(&j, "capabilities");
    json_out_end(&j);
    add_client_info(&j, "clientInfo");
    json_out_end(&j);
}

void own_write_initialized_message(struct buf *b)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_notification(&j, "notifications/initialized");
    rpc_out_end(&j);
}

void own_write_request_meta(struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "io.modelcontextprotocol/protocolVersion", revision_name(REV_2026_07_28));
    add_client_info(&j, "io.modelcontextprotocol/clientInfo");
    json_out_object(&j, "io.modelcontextprotocol/clientCapabilities");
    rpc_out_end(&j);
}

void own_write_tools_list(struct buf *b, struct slice id, struct slice meta, struct slice cursor)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_request(&j, id, "tools/list");
    json_out_object(&j, "params");
    if (meta.p != NULL)
        json_out_raw(&j, "_meta", meta);
    if (cursor.p != NULL)
        json_out_raw(&j, "cursor", cursor);
    rpc_out_end(&j);
}

void own_write_cancelled_message(struct buf *b, struct slice id, const char *reason)
{
    struct json_out j = json_out_to(b);
    rpc_out_begin_notification(&j, "notifications/cancelled");
    json_out_object(&j, "params");
    json_out_raw(&j, "requestId", id);
    if (reason != NULL)
        json_out_str(&j, "reason", reason);
    rpc_out_end(&j);
}
