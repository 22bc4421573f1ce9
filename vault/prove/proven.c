#include "vault/prove/proven.h"

struct query_message proven_message(const struct bundle_record *r)
{
    const struct slice *f = r->field;
    return (struct query_message){
        .seq = bundle_number(f[MESSAGE_SEQ]),
        .t_us = bundle_number(f[MESSAGE_T]),
        .direction = value_of(&row_directions, f[MESSAGE_DIRECTION]),
        .origin = value_of(&row_origins, f[MESSAGE_ORIGIN]),
        .kind = value_of(&row_kinds, f[MESSAGE_KIND]),
        .action = value_of(&row_actions, f[MESSAGE_ACTION]),
        .rpc_id = f[MESSAGE_RPC_ID],
        .method = f[MESSAGE_METHOD],
        .target = f[MESSAGE_TARGET],
        .body = f[MESSAGE_BODY],
        .finding = f[MESSAGE_FINDING],
        .size = bundle_number(f[MESSAGE_SIZE]),
        .redactions = bundle_number(f[MESSAGE_REDACTIONS]),
        .request_seq = bundle_number(f[MESSAGE_REQUEST]),
        .batch_seq = bundle_number(f[MESSAGE_BATCH]),
        .has_error_code = f[MESSAGE_ERROR_CODE].p != NULL,
        .error_code = bundle_number(f[MESSAGE_ERROR_CODE]),
    };
}

void proven_session(struct query_session *s, const struct bundle_record *r)
{
    const struct slice *f = r->field;
    *s = (struct query_session){
        .uid = f[SESSION_UID],
        .name = f[SESSION_NAME],
        .command = f[SESSION_COMMAND],
        .started_at_us = bundle_number(f[SESSION_STARTED_AT]),
        .pid = bundle_number(f[SESSION_PID]),
        .host = f[SESSION_HOST],
        .record_level = f[SESSION_LEVEL],
        .interposer_version = f[SESSION_VERSION],
        .redact_rules = f[SESSION_RULES],
    };
}

void proven_end(struct query_session *s, const struct bundle_record *r)
{
    const struct slice *f = r->field;
    s->client_name = f[END_CLIENT_NAME];
    s->client_version = f[END_CLIENT_VERSION];
    s->server_name = f[END_SERVER_NAME];
    s->server_version = f[END_SERVER_VERSION];
    s->protocol_version = f[END_PROTOCOL];
    s->ended_at_us = bundle_number(f[END_AT]);
    s->end_reason = f[END_REASON];
    s->has_exit_status = f[END_EXIT_STATUS].p != NULL;
    s->exit_status = bundle_number(f[END_EXIT_STATUS]);
}
