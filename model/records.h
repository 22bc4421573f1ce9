/* records.h - what is recorded: sessions, their messages, events and calls, and their processes. This is the data model.
 *
 * Each record is described once, by the table of its fields below. Whatever treats fields alike is made from it: the
 * struct, reading rows, `--json`, the header of a cassette, the rows of a store, the proof of a bundle. Where only some
 * fields take part, a column of the table says which. docs/vault.md says what the fields mean.
 *
 * A new field is one line here, a line in docs/vault.md, and its test.
 *
 * name      of the member, of the column in the database, and everywhere else.
 * type      NUMBER; TIME: microseconds since the Unix epoch; SINCE: microseconds since the start of the session; TOOK:
 *           microseconds that something took; SIZE: bytes; TEXT; JSON: text that is JSON, or should be; WORD(enum,
 *           words): one of a few words.
 * NULL      what stands for NULL in the struct. NOT_NULL: the column is never NULL. NO_TEXT: {NULL, 0}. ZERO: 0.
 *           MINUS_ONE: -1. UNLESS(flag): NULL unless the member `flag` is true.
 * since     the version of the schema that has the column (vault/store/schema.h).
 * evidence  the record that covers it (docs/evidence.md). OPEN: that of the session, message or event, in this order.
 *           TAIL: the same, behind all others and the body, only if it is not NULL. BODY: its text, behind OPEN. END:
 *           that of the end of the session.
 * cassette  member of the header of a cassette: NEEDED, YES, or V2: of version 2 and later. (A line of a message has
 *           names of its own: vault/cassette/message.c.)
 * store     sent to a store (vault/unsent): KEY, the first column; YES; FULL: not with `--level minimal`;
 *           PROGRAM: likewise, except the first element of the array. LATER: behind the columns of evidence, and of a
 *           session as FULL.
 * json      member of --json.
 * journal   from the proxy: START: in struct session_start (journal/form.h); UPDATE: in struct session_update; YES: in
 *           struct row (journal/entry.h); NO: it is set by the recorder, or by an import. */
#ifndef MI_MODEL_RECORDS_H
#define MI_MODEL_RECORDS_H

/* clang-format off */
#define SESSION_FIELDS(FIELD)                                                                                   \
    /*    name                type    NULL                     since evidence cassette store    json journal */ \
    FIELD(uid,                TEXT,   NOT_NULL,                1,    OPEN,    NO,      KEY,     YES, START)     \
    FIELD(name,               TEXT,   NOT_NULL,                1,    OPEN,    NEEDED,  YES,     YES, START)     \
    FIELD(command,            JSON,   NOT_NULL,                1,    OPEN,    NO,      PROGRAM, YES, START)     \
    FIELD(client_name,        TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(client_version,     TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(server_name,        TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(server_version,     TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(protocol_version,   TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(started_at_us,      TIME,   NOT_NULL,                1,    OPEN,    YES,     YES,     YES, START)     \
    FIELD(ended_at_us,        TIME,   ZERO,                    1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(end_reason,         TEXT,   NO_TEXT,                 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(exit_status,        NUMBER, UNLESS(has_exit_status), 1,    END,     YES,     YES,     YES, UPDATE)    \
    FIELD(pid,                NUMBER, NOT_NULL,                1,    OPEN,    NO,      YES,     YES, START)     \
    FIELD(host,               TEXT,   NOT_NULL,                1,    OPEN,    NO,      YES,     YES, START)     \
    FIELD(record_level,       TEXT,   NOT_NULL,                1,    OPEN,    YES,     YES,     YES, START)     \
    FIELD(interposer_version, TEXT,   NOT_NULL,                1,    OPEN,    NO,      YES,     YES, NO)        \
    FIELD(redact_rules,       JSON,   NO_TEXT,                 2,    OPEN,    YES,     FULL,    YES, START)     \
    FIELD(cwd,                TEXT,   NO_TEXT,                 4,    TAIL,    NO,      LATER,   YES, START)     \
    FIELD(tools_rule,         TEXT,   NO_TEXT,                 4,    TAIL,    V2,      LATER,   YES, NO)

#define MESSAGE_FIELDS(FIELD)                                                                                                      \
    /*    name         type                                 NULL                    since evidence cassette store  json journal */ \
    FIELD(seq,         NUMBER,                              NOT_NULL,               1,    OPEN,    NO,      KEY,   YES, YES)       \
    FIELD(t_us,        SINCE,                               NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(direction,   WORD(row_direction, row_directions), NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(origin,      WORD(row_origin, row_origins),       NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(kind,        WORD(row_kind, row_kinds),           NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(rpc_id,      JSON,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(method,      TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(target,      TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(body,        JSON,                                NO_TEXT,                1,    BODY,    NO,      YES,   NO,  YES)       \
    FIELD(body_offset, NUMBER,                              UNLESS(is_large),       1,    NO,      NO,      LATER, NO,  NO)        \
    FIELD(body_length, SIZE,                                ZERO,                   1,    NO,      NO,      YES,   NO,  NO)        \
    FIELD(size,        SIZE,                                NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(redactions,  NUMBER,                              NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(action,      WORD(row_action, row_actions),       NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(request_seq, NUMBER,                              ZERO,                   1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(error_code,  NUMBER,                              UNLESS(has_error_code), 1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(batch_seq,   NUMBER,                              ZERO,                   1,    OPEN,    NO,      YES,   YES, YES)       \
    FIELD(finding,     TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, NO)        \
    FIELD(revision,    TEXT,                                NO_TEXT,                4,    TAIL,    NO,      LATER, YES, NO)

#define EVENT_FIELDS(FIELD)                                                       \
    /*    name    type    NULL      since evidence cassette store json journal */ \
    FIELD(id,     NUMBER, NOT_NULL, 1,    NO,      NO,      KEY,  YES, NO)        \
    FIELD(t_us,   SINCE,  NOT_NULL, 1,    OPEN,    NO,      YES,  YES, YES)       \
    FIELD(kind,   TEXT,   NOT_NULL, 1,    OPEN,    NO,      YES,  YES, YES)       \
    FIELD(detail, JSON,   NO_TEXT,  1,    OPEN,    NO,      YES,  YES, YES)

/* A request with what became of it (model/calls.h). It follows from messages, so evidence, cassettes and the journal have none
 * of it, and a store derives it again. It is shown with other members (docs/mcp-server.md, docs/export.md). */
#define CALL_FIELDS(FIELD)                                                                                                           \
    /*    name           type                                 NULL                    since evidence cassette store json journal */ \
    FIELD(closing_seq,   NUMBER,                              ZERO,                   4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(direction,     WORD(row_direction, row_directions), NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(origin,        WORD(row_origin, row_origins),       NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(method,        TEXT,                                NO_TEXT,                4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(target,        TEXT,                                NO_TEXT,                4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(status,        WORD(call_status, call_statuses),    NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(error_code,    NUMBER,                              UNLESS(has_error_code), 4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(t_us,          SINCE,                               NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(duration_us,   TOOK,                                MINUS_ONE,              4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(request_size,  SIZE,                                NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(response_size, SIZE,                                MINUS_ONE,              4,    NO,      NO,      YES,  NO,  NO)

/* The processes of a session that has not ended: those of the interposer (pid), of its client and of the server. All fields are
 * in the journal. BOOT: text of process_boot(). PID: id of a process, of a process group or of a session (setsid(2)). TICKS:
 * start time of a process, process_start(). If no server runs, server_pid is 0, and the other fields of the server describe
 * the last one. */
#define RUNNING_FIELDS(FIELD)               \
    /*    name            type    NULL */   \
    FIELD(boot,           BOOT,   NOT_NULL) \
    FIELD(pid_namespace,  NUMBER, ZERO)     \
    FIELD(pid,            PID,    NOT_NULL) \
    FIELD(pid_start,      TICKS,  ZERO)     \
    FIELD(client_pid,     PID,    ZERO)     \
    FIELD(client_start,   TICKS,  ZERO)     \
    FIELD(server_pid,     PID,    ZERO)     \
    FIELD(server_start,   TICKS,  ZERO)     \
    FIELD(server_group,   PID,    ZERO)     \
    FIELD(server_session, PID,    ZERO)
/* clang-format on */

/* Choosing fields at compile time: FIELD_IF(FIELD_OPEN_##evidence)(text) is the text of a field with OPEN, and nothing for any
 * other. */
#define FIELD_IF(choice) FIELD_IF_(choice)
#define FIELD_IF_(choice) FIELD_IF_##choice
#define FIELD_IF_0(...)
#define FIELD_IF_1(...) __VA_ARGS__
#define FIELD_NAME(name, ...) ", " #name /* for a list of columns */
#define FIELD_NUMBER_NUMBER 1            /* of the type: is it a number? */
#define FIELD_NUMBER_TIME 1
#define FIELD_NUMBER_SINCE 1
#define FIELD_NUMBER_TOOK 1
#define FIELD_NUMBER_SIZE 1
#define FIELD_NUMBER_TEXT 0
#define FIELD_NUMBER_JSON 0
#define FIELD_NUMBER_WORD(type, words) 0
#define FIELD_UPDATE_START 0
#define FIELD_UPDATE_UPDATE 1
#define FIELD_UPDATE_NO 0
#define FIELD_OPEN_OPEN 1
#define FIELD_OPEN_TAIL 0
#define FIELD_OPEN_BODY 0
#define FIELD_OPEN_END 0
#define FIELD_OPEN_NO 0
#define FIELD_TAIL_OPEN 0
#define FIELD_TAIL_TAIL 1
#define FIELD_TAIL_BODY 0
#define FIELD_TAIL_END 0
#define FIELD_TAIL_NO 0
#define FIELD_END_OPEN 0
#define FIELD_END_TAIL 0
#define FIELD_END_BODY 0
#define FIELD_END_END 1
#define FIELD_END_NO 0
/* Of the store: before the columns of evidence, but not the key; and behind them. */
#define FIELD_FIRST_KEY 0
#define FIELD_FIRST_YES 1
#define FIELD_FIRST_FULL 1
#define FIELD_FIRST_PROGRAM 1
#define FIELD_FIRST_LATER 0
#define FIELD_FIRST_NO 0
#define FIELD_LAST_KEY 0
#define FIELD_LAST_YES 0
#define FIELD_LAST_FULL 0
#define FIELD_LAST_PROGRAM 0
#define FIELD_LAST_LATER 1
#define FIELD_LAST_NO 0

#endif
