#include "vault/remote/remote.h"

#define TYPE(type) FIELD_EITHER(FIELD_NUMBER_##type, "i", "t")
#define CELL(name, type, n, s, e, c, store, ...) FIELD_IF(FIELD_FIRST_##store)(TYPE(type))
#define CELL_LAST(name, type, n, s, e, c, store, ...) FIELD_IF(FIELD_LAST_##store)(TYPE(type))
#define COLUMN(name, type, n, s, e, c, store, ...) FIELD_IF(FIELD_FIRST_##store)(", " #name)
#define COLUMN_LAST(name, type, n, s, e, c, store, ...) FIELD_IF(FIELD_LAST_##store)(", " #name)
/* CELL_ALL and COLUMN_ALL list all fields of a message that a store has, in the order of the
 * vault. */
#define CELL_ALL(...) CELL(__VA_ARGS__) CELL_LAST(__VA_ARGS__)
#define COLUMN_ALL(...) COLUMN(__VA_ARGS__) COLUMN_LAST(__VA_ARGS__)

const struct remote_shape remote_shape[REMOTE_TABLES] = {
    [REMOTE_SESSIONS] =
        {"sessions", "tti" SESSION_FIELDS(CELL) "ii" SESSION_FIELDS(CELL_LAST) "i",
         "id, vault, uid, number" SESSION_FIELDS(COLUMN) ", salt, end_commitment" SESSION_FIELDS(
             COLUMN_LAST) ", sent, calls"},
    [REMOTE_MESSAGES] = {"messages", "i" MESSAGE_FIELDS(CELL_ALL),
                         "id, seq" MESSAGE_FIELDS(COLUMN_ALL) ", session_id"},
    [REMOTE_EVENTS] = {"events", "i" EVENT_FIELDS(CELL), "session_id, id" EVENT_FIELDS(COLUMN)},
    [REMOTE_LEAVES] = {"leaves", "it", "number, n, leaf"},
    [REMOTE_CALLS] = {"calls", "i" CALL_FIELDS(CELL) CALL_RESERVED_FIELDS(CELL),
                      "id, seq" CALL_FIELDS(COLUMN) CALL_RESERVED_FIELDS(COLUMN)},
    [REMOTE_SUMMARIES] = {"summaries", "iiiiiiiiiiiii",
                          "id, last_seq, last_t_us, tools_changed, unfinished, ok, tool_error, "
                          "error, refused, cancelled,"
                          " server_gone, interrupted, timeout, open"},
};
