#include "model/status.h"

bool finding_is_listed(struct slice finding, const char *name)
{
    return finding.p != NULL && memmem(finding.p, finding.n, name, strlen(name)) != NULL;
}

enum call_status call_status_before_answer(enum row_action request_action)
{
    return request_action == ROW_REFUSED ? CALL_REFUSED : CALL_OPEN;
}

enum call_status call_status_after_message(enum row_action request_action, enum row_kind kind,
                                           enum row_origin origin, struct slice finding)
{
    bool ours = origin == ROW_INTERPOSER;
    if (request_action == ROW_REFUSED)
        return CALL_REFUSED;
    if (kind == KIND_NOTIFICATION)
        return CALL_CANCELLED;
    if (ours && finding_is_listed(finding, "server-gone"))
        return CALL_SERVER_GONE;
    if (ours && finding_is_listed(finding, "interrupted"))
        return CALL_INTERRUPTED;
    if (ours && finding_is_listed(finding, "timeout"))
        return CALL_TIMEOUT;
    if (kind == KIND_ERROR)
        return CALL_ERROR;
    return finding_is_listed(finding, "tool-error") ? CALL_TOOL_ERROR : CALL_OK;
}

enum call_status message_status(enum row_kind kind, enum row_action action, enum row_origin origin,
                                struct slice finding, enum row_action request_action)
{
    if (kind == KIND_RESULT || kind == KIND_ERROR)
        return call_status_after_message(request_action, kind, origin, finding);
    return action == ROW_REFUSED ? CALL_REFUSED : CALL_UNKNOWN;
}

bool call_status_failed(enum call_status s)
{
    switch (s) {
    case CALL_TOOL_ERROR:
    case CALL_ERROR:
    case CALL_REFUSED:
    case CALL_SERVER_GONE:
    case CALL_TIMEOUT:
        return true;
    case CALL_OK:
    case CALL_CANCELLED:
    case CALL_INTERRUPTED:
    case CALL_OPEN:
    case CALL_UNKNOWN:
        break;
    }
    return false;
}
