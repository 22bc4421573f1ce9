#include "vault/remote/remote.h"

const struct remote_shape remote_shape[REMOTE_TABLES] = {
    [REMOTE_SESSIONS] =
        {"sessions", "ttitttttttiitiittttii",
         "id, vault, uid, number, name, command, client_name, client_version, server_name,"
         " server_version, protocol_version, started_at_us, ended_at_us, end_reason, exit_status, "
         "pid,"
         " host, record_level, interposer_version, redact_rules, salt, end_commitment"},
    [REMOTE_MESSAGES] =
        {"messages", "iitttttttiiiitiiit",
         "id, seq, t_us, direction, origin, kind, rpc_id, method, target, body, body_offset,"
         " body_length, size, redactions, action, request_seq, error_code, batch_seq, finding,"
         " session_id"},
    [REMOTE_EVENTS] = {"events", "iitt", "session_id, id, t_us, kind, detail"},
    [REMOTE_LEAVES] = {"leaves", "it", "number, n, leaf"},
};
