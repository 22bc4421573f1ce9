#include "vault/audit/verdict.h"

static const char *const status_names[AUDIT_STATUSES] = {
    [AUDIT_NOT_COVERED] = "not covered",
    [AUDIT_REMOVING] = "being removed",
    [AUDIT_TAMPERED] = "TAMPERED",
    [AUDIT_OPEN] = "open",
    [AUDIT_INCOMPLETE] = "incomplete",
    [AUDIT_REDACTED] = "redacted",
    [AUDIT_VALID] = "valid",
    [AUDIT_NOT_ANCHORED] = "valid, not anchored",
};

static const struct {
    const char *name, *implies;
} kinds[AUDIT_KINDS] = {
    [AUDIT_NOTHING] = {"", ""},
    [AUDIT_ADDED] = {"added", "Something was inserted that the recorder did not write."},
    [AUDIT_REMOVED] = {"removed", "Something that was recorded is missing."},
    [AUDIT_MOVED] = {"moved", "The order of what was recorded is no longer known."},
    [AUDIT_CHANGED] = {"changed", "What is stored now is not what was recorded."},
    [AUDIT_EXCHANGED] = {"exchanged",
                         "Records were replaced together with their commitments: each agrees "
                         "with its own, but not with the log."},
    [AUDIT_SIGNATURE] = {"signature", "Somebody without the private key of this vault wrote it."},
    [AUDIT_ROLLED_BACK] = {"rolled back",
                           "The vault was replaced by an older copy, or its log was cut."},
    [AUDIT_FORKED] = {"forked", "The vault has another history than the one that was signed."},
    [AUDIT_DAMAGED] = {"damaged",
                       "The file contradicts itself: what a command shows need not be what "
                       "is compared here, so nothing else was."},
};

enum audit_status audit_decide_status(const struct audit_facts *f)
{
    if (!f->covered)
        return AUDIT_NOT_COVERED;
    if (f->tampered)
        return AUDIT_TAMPERED;
    if (f->pruned)
        return AUDIT_REMOVING;
    if (!f->sealed)
        return f->runs ? AUDIT_OPEN : AUDIT_INCOMPLETE;
    if (f->killed)
        return AUDIT_INCOMPLETE;
    if (f->redacted)
        return AUDIT_REDACTED;
    return f->anchored ? AUDIT_VALID : AUDIT_NOT_ANCHORED;
}

const char *audit_status_name(enum audit_status s)
{
    return status_names[s];
}

bool audit_status_is_failure(enum audit_status s)
{
    return s == AUDIT_TAMPERED || s == AUDIT_INCOMPLETE || s == AUDIT_REMOVING;
}

const char *audit_kind_name(enum audit_kind k)
{
    return kinds[k].name;
}

const char *audit_explain_fault_kind(enum audit_kind k)
{
    return kinds[k].implies;
}
