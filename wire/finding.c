#include "wire/finding.h"

static const struct {
    const char *name;
    enum severity severity;
    const char *meaning;
} findings_table[FIND_COUNT] = {
    [FIND_CRLF] = {"crlf", SEVERITY_WARNING, "The line ends with CR LF; the CR was removed."},
    [FIND_BOM] = {"bom", SEVERITY_WARNING,
                  "A byte order mark precedes the message; it was removed."},
    [FIND_BLANK_LINE] = {"blank-line", SEVERITY_WARNING, "An empty line; it was dropped."},
    [FIND_GLUED_TEXT] = {"glued-text", SEVERITY_ERROR,
                         "Log text precedes a message on the same line; the two were separated."},
    [FIND_NOT_JSON] = {"not-json", SEVERITY_ERROR, "The line is not JSON."},
    [FIND_CUT_JSON] = {"cut-json", SEVERITY_ERROR,
                       "The object or array does not end on this line: it continues on the next "
                       "line, or its end was lost."},
    [FIND_INVALID_UTF8] = {"invalid-utf8", SEVERITY_ERROR, "The line is not well-formed UTF-8."},
    [FIND_TOO_DEEP] = {"too-deep", SEVERITY_ERROR, "The JSON is nested deeper than 10,000 levels."},
    [FIND_SEVERAL_VALUES] = {"several-values", SEVERITY_ERROR,
                             "More than one JSON value on one line."},
    [FIND_TOO_LONG] = {"too-long", SEVERITY_ERROR,
                       "The line is longer than --max-message; its bytes were discarded."},
    [FIND_NO_NEWLINE] = {"no-newline", SEVERITY_WARNING, "The stream ended inside this line."},
    [FIND_UNFINISHED_LINE] = {"unfinished-line", SEVERITY_WARNING,
                              "The line began, but nothing more of it arrived for 5 seconds: the "
                              "newline is missing, or the writer did not flush."},
    [FIND_CONTENT_LENGTH] = {"content-length", SEVERITY_ERROR,
                             "The peer frames messages with Content-Length headers, as LSP does; "
                             "MCP uses one message per line."},
    [FIND_LARGE_MESSAGE] =
        {"large-message", SEVERITY_WARNING,
         "The message is larger than 10 MiB: some clients close the connection at that size."},
    [FIND_DEEP_MESSAGE] =
        {"deep-message", SEVERITY_WARNING,
         "The message is nested deeper than 512 levels: some parsers reject it, Python's from "
         "about 1,000 on."},
    [FIND_CONTROL_CHARACTER] = {"control-character", SEVERITY_ERROR,
                                "A control character in a string is not escaped."},
    [FIND_NOT_A_NUMBER] = {"not-a-number", SEVERITY_ERROR,
                           "NaN, Infinity or -Infinity, which JSON does not have."},
    [FIND_TRAILING_TEXT] = {"trailing-text", SEVERITY_ERROR,
                            "Text follows a message on the same line."},
    [FIND_SEVERAL_LINES] = {"several-lines", SEVERITY_ERROR,
                            "A message over several lines; they were joined."},
    [FIND_NULL_RESULT] = {"null-result", SEVERITY_ERROR,
                          "The result is null, where MCP requires an object."},
    [FIND_NOT_JSONRPC] = {"not-jsonrpc", SEVERITY_ERROR, "JSON, but not a JSON-RPC 2.0 message."},
    [FIND_DUPLICATE_ENVELOPE_KEY] = {"duplicate-envelope-key", SEVERITY_ERROR,
                                     "One of jsonrpc, id, method, params, result, error occurs "
                                     "twice: two parsers may read different messages."},
    [FIND_CALL_AND_ANSWER] = {"call-and-answer", SEVERITY_ERROR,
                              "The object has a method and also a result or an error: two readers "
                              "may see different messages."},
    [FIND_DUPLICATE_KEY] = {"duplicate-key", SEVERITY_WARNING,
                            "An object inside the message has a key twice."},
    [FIND_BATCH] = {"batch", SEVERITY_ERROR,
                    "A batch in a revision without batches, or an empty or invalid batch."},
    [FIND_NULL_ID] = {"null-id", SEVERITY_ERROR, "The id is null."},
    [FIND_FRACTIONAL_ID] = {"fractional-id", SEVERITY_ERROR,
                            "The id is a number but not an integer."},
    [FIND_NULL_PARAMS] = {"null-params", SEVERITY_WARNING,
                          "params is null; it should be an object, or omitted."},
    [FIND_ARRAY_PARAMS] = {"array-params", SEVERITY_ERROR,
                           "params is an array; MCP requires an object."},
    [FIND_NULL_BESIDE_ANSWER] = {"null-beside-answer", SEVERITY_WARNING,
                                 "A null error beside a result, a null result beside an error, or "
                                 "either beside a method."},
    [FIND_RESULT_NOT_OBJECT] = {"result-not-object", SEVERITY_ERROR,
                                "The result is not an object, which MCP requires."},
    [FIND_MALFORMED_ANSWER] = {"malformed-answer", SEVERITY_ERROR,
                               "An answer that cannot be read, or has no result and no error, "
                               "both, or members of a wrong "
                               "type."},
    [FIND_REUSED_ID] = {"reused-id", SEVERITY_ERROR,
                        "The request has the id of another pending request."},
    [FIND_ID_TYPE_CHANGED] =
        {"id-type-changed", SEVERITY_ERROR,
         "The answer has the request's id with another JSON type, \"7\" for 7."},
    [FIND_UNKNOWN_ANSWER] = {"unknown-answer", SEVERITY_ERROR,
                             "An answer that matches no pending request."},
    [FIND_LATE_ANSWER] =
        {"late-answer", SEVERITY_NOTE,
         "An answer to a request that had been cancelled, or whose deadline had passed."},
    [FIND_LATE_PROGRESS] = {"late-progress", SEVERITY_NOTE,
                            "Progress for a request whose deadline had passed, or a stream "
                            "acknowledged again; it was dropped."},
    [FIND_OWN_REQUEST] = {"own-request", SEVERITY_NOTE,
                          "A request of the interposer to the server, or its answer; it is not "
                          "forwarded to the client."},
    [FIND_CANCELLED_INITIALIZE] = {"cancelled-initialize", SEVERITY_ERROR,
                                   "The client cancelled initialize, which MCP forbids."},
    [FIND_TOO_MANY_OPEN] = {"too-many-open", SEVERITY_WARNING,
                            "More requests were pending than the interposer can track."},
    [FIND_TOOL_ERROR] = {"tool-error", SEVERITY_NOTE, "The tool reports that it failed (isError)."},
    [FIND_BODY_LOST] =
        {"body-lost", SEVERITY_NOTE,
         "The body is over 64 KiB and could not be written to Bodies/: only its row is kept."},
    [FIND_TIMEOUT] = {"timeout", SEVERITY_ERROR,
                      "The server had not answered when the request's deadline passed."},
    [FIND_SERVER_GONE] = {"server-gone", SEVERITY_ERROR,
                          "The server exited, or closed its stdin, before it answered."},
    [FIND_INTERRUPTED] = {"interrupted", SEVERITY_NOTE,
                          "The session ended before the server answered, and not because of the "
                          "server."},
};

const char *finding_name(enum finding f)
{
    return findings_table[f].name;
}

const char *finding_meaning(enum finding f)
{
    return findings_table[f].meaning;
}

enum severity finding_severity(enum finding f)
{
    return findings_table[f].severity;
}

const char *severity_name(enum severity s)
{
    static const char *const names[] = {
        [SEVERITY_NOTE] = "note", [SEVERITY_WARNING] = "warning", [SEVERITY_ERROR] = "error"};
    return names[s];
}
