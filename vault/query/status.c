#include "vault/query/status.h"

#include "vault/store/connect.h"

struct query_message query_call_row(sqlite3_stmt *st)
{
    return (struct query_message){
        .seq = sqlite3_column_int64(st, 0),
        .kind = value_of(&row_kinds, connect_column(st, 1)),
        .action = value_of(&row_actions, connect_column(st, 2)),
        .origin = value_of(&row_origins, connect_column(st, 3)),
        .request_seq = sqlite3_column_int64(st, 4),
        .finding = connect_column(st, 5),
    };
}

bool query_has_finding(const struct query_message *m, const char *name)
{
    return m->finding.p != NULL && memmem(m->finding.p, m->finding.n, name, strlen(name)) != NULL;
}

enum call_status query_status(const struct query_message *m)
{
    bool ours = m->origin == ROW_INTERPOSER;
    if (m->request_action == ROW_REFUSED)
        return CALL_REFUSED;
    if (m->kind == KIND_NOTIFICATION)
        return CALL_CANCELLED;
    if (ours && query_has_finding(m, "server-gone"))
        return CALL_SERVER_GONE;
    if (ours && query_has_finding(m, "interrupted"))
        return CALL_INTERRUPTED;
    if (ours && query_has_finding(m, "timeout"))
        return CALL_TIMEOUT;
    if (m->kind == KIND_ERROR)
        return CALL_ERROR;
    return query_has_finding(m, "tool-error") ? CALL_TOOL_ERROR : CALL_OK;
}
