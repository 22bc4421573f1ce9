/* records.h - what is recorded: sessions, their messages, events, calls and processes, log lines,
 * escalations. This is the data model.
 *
 * Each record is described once, by the table of its fields below. The following are generated from
 * this table: the struct, reading rows, `--json`, the header of a cassette, the rows of a store,
 * the proof of a bundle. If only some fields take part in one of these, a column of the table says
 * which. docs/vault.md says what the fields mean.
 *
 * A new field is one line here, a step of the upgrade (vault/store/schema.c), a line in
 * docs/vault.md, and its test. docs/architecture.md ("The records") says what is generated from the
 * line, and what must be written by hand.
 *
 * name      of the member, of the column in the database, and everywhere else.
 * type      NUMBER; TIME: microseconds since the Unix epoch; SINCE: microseconds since the start of
 *           the session; TOOK: microseconds that something took; SIZE: bytes; TEXT; JSON: text that
 *           is JSON, or should be; WORD(enum, words): one of a few words.
 * NULL      what stands for NULL in the struct. NOT_NULL: the column is never NULL. NO_TEXT: {NULL,
 *           0}. ZERO: 0. MINUS_ONE: -1. UNLESS(flag): NULL unless the member `flag` is true.
 * since     the version of the schema that has the column (vault/store/schema.h).
 * evidence  the record of the evidence that covers the field (docs/evidence.md). OPEN: the record
 *           of the session, message or event, which has these fields in this order. BODY: its text,
 *           after the fields of OPEN. TAIL: the same record, after the fields of OPEN and BODY, up
 *           to the last field that is not NULL. END: the record of the session's end. A new field
 *           of a session or message must be TAIL or NO, and a new field of an event must be NO:
 *           otherwise the commitments of older records no longer match.
 * cassette  whether the header of a cassette has the field: NEEDED: always; YES: if it is known;
 *           V2: if it is known, from version 2 on. (A line of a message has names of its own:
 *           vault/cassette/message_line.c.)
 * store     whether the field is sent to a store (vault/unsent): KEY: as the first column; YES;
 *           FULL: not with `--level minimal`; PROGRAM: with `--level minimal` only the first
 *           element of the array. LATER: in a column after those of the evidence; for a session,
 *           not with `--level minimal`. A new field of a session or message must be LATER
 *           or NO.
 * json      whether --json has the field.
 * journal   from the proxy: START: in struct session_start (journal/entry_form.h); UPDATE: in
 *           struct session_update; YES: in struct row (journal/entry.h); NO: it is set by the
 *           recorder, or by an import. */
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
    FIELD(tools_rule,         TEXT,   NO_TEXT,                 4,    TAIL,    V2,      LATER,   YES, START)

/* usual: the column's value in most rows (vault/store/row_batch.h). OWN: a different value in each
 * row; SAME: the same value in all rows; RARE: NULL. */
#define MESSAGE_FIELDS(FIELD)                                                                                                            \
    /*    name         type                                 NULL                    since evidence cassette store  json journal usual */ \
    FIELD(seq,         NUMBER,                              NOT_NULL,               1,    OPEN,    NO,      KEY,   YES, YES,    OWN)     \
    FIELD(t_us,        SINCE,                               NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(direction,   WORD(row_direction, row_directions), NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(origin,      WORD(row_origin, row_origins),       NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    SAME)    \
    FIELD(kind,        WORD(row_kind, row_kinds),           NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(rpc_id,      JSON,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(method,      TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(target,      TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(body,        JSON,                                NO_TEXT,                1,    BODY,    NO,      YES,   NO,  YES,    OWN)     \
    FIELD(body_offset, NUMBER,                              UNLESS(is_large),       1,    NO,      NO,      LATER, NO,  NO,     RARE)    \
    FIELD(body_length, SIZE,                                ZERO,                   1,    NO,      NO,      YES,   NO,  NO,     RARE)    \
    FIELD(size,        SIZE,                                NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(redactions,  NUMBER,                              NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    SAME)    \
    FIELD(action,      WORD(row_action, row_actions),       NOT_NULL,               1,    OPEN,    NO,      YES,   YES, YES,    SAME)    \
    FIELD(request_seq, NUMBER,                              ZERO,                   1,    OPEN,    NO,      YES,   YES, YES,    OWN)     \
    FIELD(error_code,  NUMBER,                              UNLESS(has_error_code), 1,    OPEN,    NO,      YES,   YES, YES,    RARE)    \
    FIELD(batch_seq,   NUMBER,                              ZERO,                   1,    OPEN,    NO,      YES,   YES, YES,    RARE)    \
    FIELD(finding,     TEXT,                                NO_TEXT,                1,    OPEN,    NO,      YES,   YES, NO,     RARE)    \
    FIELD(revision,    TEXT,                                NO_TEXT,                4,    TAIL,    NO,      LATER, YES, NO,     RARE)

#define EVENT_FIELDS(FIELD)                                                       \
    /*    name    type    NULL      since evidence cassette store json journal */ \
    FIELD(id,     NUMBER, NOT_NULL, 1,    NO,      NO,      KEY,  YES, NO)        \
    FIELD(t_us,   SINCE,  NOT_NULL, 1,    OPEN,    NO,      YES,  YES, YES)       \
    FIELD(kind,   TEXT,   NOT_NULL, 1,    OPEN,    NO,      YES,  YES, YES)       \
    FIELD(detail, JSON,   NO_TEXT,  1,    OPEN,    NO,      YES,  YES, YES)

/* A request with its outcome (model/calls.h). Calls are derived from messages. So evidence,
 * cassettes and the journal do not contain calls, and a store derives them again. `mcp` shows calls
 * (docs/mcp-server.md) without the fields that their messages also have. */
#define CALL_FIELDS(FIELD)                                                                                                           \
    /*    name           type                                 NULL                    since evidence cassette store json journal */ \
    FIELD(closing_seq,   NUMBER,                              ZERO,                   4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(direction,     WORD(row_direction, row_directions), NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(origin,        WORD(row_origin, row_origins),       NOT_NULL,               4,    NO,      NO,      YES,  NO,  NO)         \
    FIELD(method,        TEXT,                                NO_TEXT,                4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(target,        TEXT,                                NO_TEXT,                4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(status,        WORD(call_status, call_statuses),    NOT_NULL,               4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(error_code,    NUMBER,                              UNLESS(has_error_code), 4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(t_us,          SINCE,                               NOT_NULL,               4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(duration_us,   TOOK,                                MINUS_ONE,              4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(request_size,  SIZE,                                NOT_NULL,               4,    NO,      NO,      YES,  YES, NO)         \
    FIELD(response_size, SIZE,                                MINUS_ONE,              4,    NO,      NO,      YES,  YES, NO)

/* A call that was several requests (model/operations.h). Operations are derived from messages, as
 * calls are. The last three fields tell which message may continue the operation; they are not
 * shown. */
#define OPERATION_FIELDS(FIELD)                                                                                     \
    /*    name         type                                     NULL       since evidence cassette store json journal */ \
    FIELD(requests,    NUMBER,                                  NOT_NULL,  4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(asked,       NUMBER,                                  NOT_NULL,  4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(status,      WORD(call_status, call_statuses),        NOT_NULL,  4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(closing_seq, NUMBER,                                  ZERO,      4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(error_code,  NUMBER,                                  UNLESS(has_error_code), 4, NO, NO,   NO,   YES, NO)   \
    FIELD(duration_us, TOOK,                                    MINUS_ONE, 4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(server_us,   TOOK,                                    NOT_NULL,  4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(person_us,   TOOK,                                    NOT_NULL,  4,    NO,      NO,      NO,   YES, NO)   \
    FIELD(state,       WORD(operation_state, operation_states), NOT_NULL,  4,    NO,      NO,      NO,   NO,  NO)   \
    FIELD(since_us,    SINCE,                                   NOT_NULL,  4,    NO,      NO,      NO,   NO,  NO)   \
    FIELD(key,         NUMBER,                                  ZERO,      4,    NO,      NO,      NO,   NO,  NO)

/* Columns of `calls` that verification does not derive again. model/operations.h sets
 * operation_seq. No code sets revision yet. The other columns are counted when the answer is stored
 * (model/context.h). */
#define CALL_RESERVED_FIELDS(FIELD)                                                            \
    /*    name                type    NULL       since evidence cassette store json journal */ \
    FIELD(revision,           TEXT,   NO_TEXT,   4,    NO,      NO,      YES,  NO,  NO)        \
    FIELD(operation_seq,      NUMBER, ZERO,      4,    NO,      NO,      YES,  NO,  NO)        \
    FIELD(result_tokens,      NUMBER, MINUS_ONE, 4,    NO,      NO,      YES,  NO,  NO)        \
    FIELD(result_binaries,    NUMBER, MINUS_ONE, 5,    NO,      NO,      NO,   NO,  NO)        \
    FIELD(result_binary_size, SIZE,   MINUS_ONE, 5,    NO,      NO,      NO,   NO,  NO)

/* The processes of a session that has not ended: those of the interposer (pid), of its client and
 * of the server. All fields are in the journal. BOOT: text of process_read_boot_id(). PID: id of a
 * process, of a process group or of a session (setsid(2)). TICKS: start time of a process,
 * process_start(). If no server runs, server_pid is 0, and the other fields of the server describe
 * the last server process. */
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

/* Other entries that the proxy adds to its journal besides messages. Types: TIME: wall clock;
 * COUNT: a number that is never negative; STRING: ends with a NUL; FLAG: true or false. Texts that
 * were received are between the quotes of a JSON string, escapes as written, unless their type is
 * JSON. */

/* A finished request of the client, for the log directory. Only record/process/log_directory.c
 * writes these lines, and nothing in the program reads them; docs/vault.md describes their members,
 * and a test compares the two. `result` is taken from the text of the first content block or, if
 * that block has no text, from the JSON of the result. */
#define INVOCATION_FIELDS(FIELD)                                                                                                \
    /*    name            type                              NULL */                                                             \
    FIELD(wall_us,        TIME,                             NOT_NULL) /* time of the end of the request */                      \
    FIELD(seq,            COUNT,                            NOT_NULL) /* seq of the request */                                  \
    FIELD(status,         WORD(call_status, call_statuses), NOT_NULL)                                                           \
    FIELD(method,         TEXT,                             NOT_NULL)                                                           \
    FIELD(target,         TEXT,                             NO_TEXT)                                                            \
    FIELD(arguments,      JSON,                             NO_TEXT)  /* the arguments may be truncated */                      \
    FIELD(arguments_n,    SIZE,                             NOT_NULL) /* size of the untruncated arguments */                   \
    FIELD(error_code,     JSON,                             NO_TEXT)                                                            \
    FIELD(error_message,  JSON,                             NO_TEXT)                                                            \
    FIELD(duration_us,    TOOK,                             NOT_NULL)                                                           \
    FIELD(request_bytes,  SIZE,                             NOT_NULL)                                                           \
    FIELD(response_bytes, SIZE,                             NOT_NULL)                                                           \
    FIELD(result,         TEXT,                             NO_TEXT)  /* start of that text, <= INVOCATION_RESULT_MAX bytes */  \
    FIELD(result_escaped, FLAG,                             NOT_NULL) /* `result` is from a JSON string: it must be unescaped */

/* A problem that a person must solve. record/process/escalation_text.c writes its file from this
 * record, and leaves out unknown values. */
#define ESCALATION_FIELDS(FIELD)                                                                                                          \
    /*    name              type                                       NULL */                                                            \
    FIELD(cause,            WORD(escalation_cause, escalation_causes), NOT_NULL)                                                          \
    FIELD(at_us,            TIME,                                      NOT_NULL)                                                          \
    FIELD(seq,              COUNT,                                     ZERO)     /* seq of the request */                                 \
    FIELD(method,           TEXT,                                      NO_TEXT)                                                           \
    FIELD(tool,             TEXT,                                      NO_TEXT)                                                           \
    FIELD(request,          JSON,                                      NO_TEXT)  /* as received */                                        \
    FIELD(answer,           JSON,                                      NO_TEXT)  /* the answer that reports a problem with credentials */ \
    FIELD(action,           STRING,                                    NO_TEXT)  /* a summary, such as "killed, restarted" */             \
    FIELD(happened,         TEXT,                                      NO_TEXT)  /* the problem, in sentences */                          \
    FIELD(done,             TEXT,                                      NO_TEXT)  /* what the proxy did, in sentences */                   \
    FIELD(look,             TEXT,                                      NO_TEXT)  /* hints that follow the fixed hints for the cause */    \
    FIELD(post_mortem,      TEXT,                                      NO_TEXT)  /* postmortem_append_sentence() */                       \
    FIELD(post_mortem_json, JSON,                                      NO_TEXT)  /* postmortem_append_json() */                           \
    FIELD(last_to_server,   TEXT,                                      NO_TEXT)  /* lines */                                              \
    FIELD(last_to_client,   TEXT,                                      NO_TEXT)

/* A row of the table `escalations`, which counts how often a problem has occurred. Texts are
 * sanitized. */
#define PROBLEM_FIELDS(FIELD)                                               \
    /*    name         type                                       NULL */   \
    FIELD(cause,       WORD(escalation_cause, escalation_causes), NOT_NULL) \
    FIELD(server,      TEXT,                                      NOT_NULL) \
    FIELD(tool,        TEXT,                                      NO_TEXT)  \
    FIELD(method,      TEXT,                                      NO_TEXT)  \
    FIELD(file,        TEXT,                                      NOT_NULL) \
    FIELD(first_at_us, TIME,                                      NOT_NULL) \
    FIELD(last_at_us,  TIME,                                      NOT_NULL) \
    FIELD(count,       NUMBER,                                    NOT_NULL)

/* The front matter of an escalation's file, in this order (model/escalation_head.h). Texts are
 * sanitized. A field that is NULL has no line. Times are UTC, as text. json: whether `escalations
 * list --json` has the field. */
#define ESCALATION_HEAD_FIELDS(FIELD)                                              \
    /*    name        type                                       NULL      json */ \
    FIELD(cause,      WORD(escalation_cause, escalation_causes), NOT_NULL, YES)    \
    FIELD(server,     TEXT,                                      NOT_NULL, YES)    \
    FIELD(tool,       TEXT,                                      NO_TEXT,  YES)    \
    FIELD(method,     TEXT,                                      NO_TEXT,  YES)    \
    FIELD(session,    TEXT,                                      NOT_NULL, YES)    \
    FIELD(seq,        NUMBER,                                    ZERO,     YES)    \
    FIELD(first_at,   TEXT,                                      NOT_NULL, YES)    \
    FIELD(last_at,    TEXT,                                      NOT_NULL, YES)    \
    FIELD(count,      NUMBER,                                    ZERO,     YES)    \
    FIELD(action,     TEXT,                                      NO_TEXT,  YES)    \
    FIELD(interposer, TEXT,                                      NOT_NULL, NO)
/* clang-format on */

/* FIELD_IF(choice)(text) expands to the text if `choice` is 1, and to nothing if it is 0. Example:
 * FIELD_IF(FIELD_OPEN_##evidence)(text) gives the text only for a field with OPEN. */
#define FIELD_IF(choice) FIELD_IF_(choice)
#define FIELD_IF_(choice) FIELD_IF_##choice
#define FIELD_IF_0(...)
#define FIELD_IF_1(...) __VA_ARGS__
/* FIELD_EITHER() expands to `yes` if `choice` is 1, and to `no` if it is 0. Example:
 * FIELD_EITHER(FIELD_NUMBER_##type, text for a number, text for any other type). */
#define FIELD_EITHER(choice, yes, no) FIELD_EITHER_(choice, yes, no)
#define FIELD_EITHER_(choice, yes, no) FIELD_EITHER_##choice(yes, no)
#define FIELD_EITHER_0(yes, no) no
#define FIELD_EITHER_1(yes, no) yes
#define FIELD_NAME(name, ...) ", " #name /* a comma and the name, for a list of columns */
#define FIELD_NUMBER_NUMBER 1            /* 1 if values of this type are numbers */
#define FIELD_NUMBER_TIME 1
#define FIELD_NUMBER_SINCE 1
#define FIELD_NUMBER_TOOK 1
#define FIELD_NUMBER_SIZE 1
#define FIELD_NUMBER_TEXT 0
#define FIELD_NUMBER_JSON 0
#define FIELD_NUMBER_WORD(type, words) 0
#define FIELD_NUMBER_BOOT 0
#define FIELD_NUMBER_PID 1
#define FIELD_NUMBER_TICKS 1
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
/* The order of the columns of a store. FIELD_FIRST_* is 1 for the columns before the columns of the
 * evidence, but 0 for the key column. FIELD_LAST_* is 1 for the columns after the columns of the
 * evidence. */
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
