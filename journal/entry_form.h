/* entry_form.h - the entries of a journal as bytes.
 *
 * Form      integers in the machine's byte order; texts as a length and bytes. A text that lies
 *           within the body of its row is stored as a position in the body
 *           (journal/message_entry.h). The form is private to one version of the program
 *           (RING_VERSION): it is never written to a disk.
 * Owns      nothing. Texts of a read entry point into the bytes.
 * Errors    MI_EINVAL: the bytes are not an entry; every length is checked.
 * Blocks    never. Pure. */
#ifndef MI_JOURNAL_ENTRY_FORM_H
#define MI_JOURNAL_ENTRY_FORM_H

#include "journal/entry.h"
#include "journal/running.h"

enum entry_kind {
    /* members: row (with seq and t_us) and, if row.ends_invocation is true, invocation */
    ENTRY_MESSAGE = 1,
    ENTRY_EVENT,        /* members: row.event, row.t_us, row.body */
    ENTRY_UPDATE,       /* update */
    ENTRY_RUNNING,      /* running */
    ENTRY_INVOCATION,   /* invocation */
    ENTRY_ESCALATION,   /* members: escalation (with at_us); t_us is the time in the session */
    ENTRY_TOOLS_WANTED, /* an entry without content; appended by journal_request_previous_tools() */
    /* member: `lost`, which counts messages that did not fit into the journal */
    ENTRY_LOST,
    ENTRY_RULES, /* member: `added`, further rules that a recorded message violates */
};

/* Session metadata for the recorder; ring_get_session_start() returns the memory that has it. */
struct session_start {
    struct slice uid;     /* uid_make() */
    struct slice vault;   /* absolute path */
    struct slice name;    /* name of the server */
    struct slice command; /* command of the server, as a JSON array of its argv */
    struct slice host;
    struct slice redact_rules; /* the session's redaction rules, JSON; {NULL, 0}: unknown */
    struct slice cwd;          /* working directory of the server; {NULL, 0}: unknown */
    /* rule of the allowed tools (wire/mcp/tool_rule.h); {NULL, 0}: no rule */
    struct slice tools_rule;
    enum record_level level;
    bool sync_full, stop_on_error;
    int64_t started_wall_us, pid;
};

struct lost_messages {
    uint64_t n, first_seq, last_seq;
    int64_t t_us;
};

struct added_rules {
    uint64_t seq; /* seq of the message that violates the rules */
    breaches rules;
};

struct entry {
    enum entry_kind kind;
    union {
        struct {
            struct row row;
            struct invocation invocation;
        };
        struct session_update update;
        struct running running;
        struct {
            /* the texts `server`, `session` and `command` of the escalation are not stored */
            struct escalation escalation;
            int64_t t_us;
            /* after form_read_entry(): escalation.stderr_lines points to this array */
            struct slice lines[ESCALATION_LINES_MAX];
        };
        struct lost_messages lost;
        struct added_rules added;
    };
};

/* Returns the number of bytes that form_write_entry() writes. Of an escalation's stderr_lines only
 * the last ESCALATION_LINES_MAX are written. */
size_t form_size_of_entry(const struct entry *e);
void form_write_entry(const struct entry *e, char *to);
/* Reads an entry. `kind` is the kind of the record. All texts point into `bytes`. The C strings
 * event and action point there as well, and end with a NUL. escalation.stderr_lines points to
 * ret->lines, so *ret must not be copied. Does not check whether a body is JSON. */
MI_MUST int form_read_entry(enum entry_kind kind, struct slice bytes, struct entry *ret);

/* Appends the session's start to b; sets b->failed if memory runs out. */
void form_append_session_start(struct buf *b, const struct session_start *s);
MI_MUST int form_read_session_start(struct slice bytes, struct session_start *ret);

#endif
