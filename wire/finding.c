#include "wire/finding.h"

static const struct {
    const char *name;
    enum severity severity;
    const char *meaning, *remedy;
} findings_table[FIND_COUNT] = {
    [FIND_CRLF] = {"crlf", SEVERITY_WARNING, "The line ends with CR LF; the CR was removed.",
                   "Servers on Windows that write in text mode. Set stdout to binary, or the "
                   "newline to `\\n`."},
    [FIND_BOM] = {"bom", SEVERITY_WARNING,
                  "A byte order mark precedes the message; the mark was removed.",
                  ".NET and PowerShell writers with the encoding \"UTF-8\". Use the variant "
                  "without the byte order mark."},
    [FIND_BLANK_LINE] = {"blank-line", SEVERITY_WARNING, "An empty line, which was dropped.",
                         "A `print()` to stdout, or two newlines after a message."},
    [FIND_GLUED_TEXT] =
        {"glued-text", SEVERITY_ERROR,
         "Log text precedes a message on the same line; the text and the message were separated.",
         "A log call without a newline, or a progress line. Send logs to stderr."},
    [FIND_NOT_JSON] = {"not-json", SEVERITY_ERROR, "The line is not JSON.",
                       "Banners and logs on stdout, from the server, from `npx`, `npm run` or "
                       "`uvx`, or from a native library. Send logs to stderr."},
    [FIND_CUT_JSON] =
        {"cut-json", SEVERITY_ERROR,
         "The object or array does not end on this line: it continues on the next line, or its end "
         "was lost.",
         "Output that was cut at a size limit, or two writers. If `no-newline` is reported, too, "
         "the writer exited before everything was written, which can happen with Node's "
         "`process.exit()`; the size shows where the line was truncated."},
    [FIND_INVALID_UTF8] = {"invalid-utf8", SEVERITY_ERROR, "The line is not well-formed UTF-8.",
                           "A stdout with another encoding, or bytes of a file sent as text. Set "
                           "`PYTHONIOENCODING=utf-8` or the equivalent of the runtime."},
    [FIND_TOO_DEEP] = {"too-deep", SEVERITY_ERROR, "The JSON is nested deeper than 10,000 levels.",
                       "A structure that contains itself, or an attack on a recursive parser."},
    [FIND_SEVERAL_VALUES] = {"several-values", SEVERITY_ERROR,
                             "More than one JSON value on one line.",
                             "Two threads or processes that write to one stdout, or a missing "
                             "newline. Write a message and its newline in one call, under a lock."},
    [FIND_TOO_LONG] = {"too-long", SEVERITY_ERROR,
                       "The line is longer than --max-message; its bytes were discarded.",
                       "A file or a screenshot in one answer, or an endless line. Raise "
                       "`--max-message`, or let the tool return a link."},
    [FIND_NO_NEWLINE] = {"no-newline", SEVERITY_WARNING, "The stream ended inside this line.",
                         "The peer exited in the middle of a write. If `cut-json` is reported, "
                         "too, bytes were lost: flush before `exit()`."},
    [FIND_UNFINISHED_LINE] = {"unfinished-line", SEVERITY_WARNING,
                              "The line began, but nothing more of it arrived for 5 seconds: the "
                              "newline is missing, or the writer did not flush.",
                              "A server that forgets the newline or does not flush: the other side "
                              "waits forever. Write the newline with the message, and flush."},
    [FIND_CONTENT_LENGTH] = {"content-length", SEVERITY_ERROR,
                             "The peer frames messages with Content-Length headers, as LSP does; "
                             "MCP uses one message per line.",
                             "A peer with an LSP transport. Both sides would wait forever. MCP "
                             "uses one message per line."},
    [FIND_HTTP_OVER_STDIO] =
        {"http-over-stdio", SEVERITY_ERROR,
         "The peer speaks HTTP on stdin and stdout; MCP over stdio uses one JSON message per line.",
         "A client or server with the transport Streamable HTTP on its pipes. Start the server "
         "with its stdio transport, or configure the client with the server's URL."},
    [FIND_LARGE_MESSAGE] =
        {"large-message", SEVERITY_WARNING,
         "The message is larger than 10 MiB: some clients close the connection at that size.",
         "Files and screenshots in base64. Some clients close the connection at 10 MiB: if the "
         "session ends after this message, its size is probably the reason."},
    [FIND_DEEP_MESSAGE] =
        {"deep-message", SEVERITY_WARNING,
         "The message is nested deeper than 512 levels: some parsers reject it, Python's from "
         "about 1,000 levels on.",
         "A tree that is sent as nested objects. Python's `json` reads about 1,000 levels, "
         "SQLite's JSON functions 1,000 or 2,000, the SDKs for TypeScript any number. Send a list "
         "of nodes with the ids of their parents."},
    [FIND_CONTROL_CHARACTER] =
        {"control-character", SEVERITY_ERROR, "A control character in a string is not escaped.",
         "JSON assembled by hand from the output of a program. Use a JSON library."},
    [FIND_NOT_A_NUMBER] = {"not-a-number", SEVERITY_ERROR,
                           "NaN, Infinity or -Infinity, which JSON does not have.",
                           "Python's `json.dumps`: use `allow_nan=False`."},
    [FIND_TRAILING_TEXT] = {"trailing-text", SEVERITY_ERROR,
                            "Text follows a message on the same line.",
                            "A program that logs to stdout before it writes the newline of a "
                            "message. Send logs to stderr."},
    [FIND_SEVERAL_LINES] = {"several-lines", SEVERITY_ERROR,
                            "A message over several lines; the lines were joined.",
                            "Indented JSON, or a raw newline inside a string: write it as "
                            "`JSON.stringify(x)` and `json.dumps(x)` do."},
    [FIND_NULL_RESULT] = {"null-result", SEVERITY_ERROR,
                          "The result is null, where MCP requires an object.",
                          "A handler that returns nothing."},
    [FIND_NOT_JSONRPC] =
        {"not-jsonrpc", SEVERITY_ERROR, "JSON, but not a JSON-RPC 2.0 message.",
         "Log libraries that write JSON to stdout. Hand-written messages without `jsonrpc`."},
    [FIND_DUPLICATE_ENVELOPE_KEY] =
        {"duplicate-envelope-key", SEVERITY_ERROR,
         "One of jsonrpc, id, method, params, result, error occurs twice: two parsers may read "
         "different messages.",
         "An attack on programs that check messages: one parser uses the first of two equal keys, "
         "another the last."},
    [FIND_CALL_AND_ANSWER] = {"call-and-answer", SEVERITY_ERROR,
                              "The object has a method and also a result or an error: two readers "
                              "may see different messages.",
                              "An attack: one reader sees a call, another an answer."},
    [FIND_DUPLICATE_KEY] = {"duplicate-key", SEVERITY_WARNING,
                            "An object inside the message has a key twice.",
                            "JSON assembled by hand. Parsers differ in which value they use. The "
                            "check compares at most 128 keys of an object, at most 512 keys of all "
                            "objects that are open at one point, and no keys below 512 levels."},
    [FIND_BATCH] = {"batch", SEVERITY_ERROR,
                    "A batch in a revision without batches, or an empty or invalid batch.",
                    "A library that batches on its own. Send the messages one by one."},
    [FIND_NULL_ID] = {"null-id", SEVERITY_ERROR, "The id is null.",
                      "Libraries that write every member, even if it is null; a server that "
                      "answers a notification, or could not read a request."},
    [FIND_FRACTIONAL_ID] = {"fractional-id", SEVERITY_ERROR,
                            "The id is a number but not an integer.",
                            "Ids made from a clock. Some peers drop the fraction, and then never "
                            "match the answer to its request."},
    [FIND_NULL_PARAMS] = {"null-params", SEVERITY_WARNING,
                          "params is null; it should be an object, or omitted.",
                          "Libraries that write every member, even if it is null. Strict servers "
                          "reject the null: omit `params`."},
    [FIND_ARRAY_PARAMS] = {"array-params", SEVERITY_ERROR,
                           "params is an array; MCP requires an object.",
                           "Generic JSON-RPC libraries. MCP requires an object."},
    [FIND_NULL_BESIDE_ANSWER] =
        {"null-beside-answer", SEVERITY_WARNING,
         "A null error beside a result, a null result beside an error, or a null result or error "
         "beside a method.",
         "Libraries that write every member, even if it is null. Strict clients reject such a "
         "message."},
    [FIND_RESULT_NOT_OBJECT] =
        {"result-not-object", SEVERITY_ERROR, "The result is not an object, which MCP requires.",
         "A handler that returns text or a list, or `null` for a method that is not one of MCP. "
         "MCP requires an object; `{}` if there is nothing to return."},
    [FIND_MALFORMED_ANSWER] = {"malformed-answer", SEVERITY_ERROR,
                               "An answer that cannot be read, has both a result and an error or "
                               "neither, or has members of a wrong type.",
                               "A server with its own JSON-RPC code. `error` requires an integer "
                               "`code` and a string `message`."},
    [FIND_REUSED_ID] = {"reused-id", SEVERITY_ERROR,
                        "The request has the id of another pending request.",
                        "Clients that count from the start after a reconnect. Two answers with one "
                        "id cannot be told apart: the oldest request gets the first answer."},
    [FIND_ID_TYPE_CHANGED] =
        {"id-type-changed", SEVERITY_ERROR,
         "The answer has the request's id with another JSON type, for example \"7\" instead of 7.",
         "Servers that keep ids as text. Strict clients wait forever: answer with the id as it was "
         "received."},
    [FIND_UNKNOWN_ANSWER] = {"unknown-answer", SEVERITY_ERROR,
                             "An answer that matches no pending request.",
                             "A second answer to one request, or an answer to a notification. Some "
                             "clients then close the connection."},
    [FIND_LATE_ANSWER] =
        {"late-answer", SEVERITY_NOTE,
         "An answer to a request that had been cancelled, or whose deadline had passed.",
         "Normal after a cancellation: the answer and the cancellation crossed on the way. After a "
         "`timeout`: a slow "
         "tool."},
    [FIND_LATE_PROGRESS] = {"late-progress", SEVERITY_NOTE,
                            "Progress for a request whose deadline had passed, or a second "
                            "acknowledgement of a stream; the message was dropped.",
                            "The server continues with work that nobody waits for: it should "
                            "handle `notifications/cancelled`."},
    [FIND_OWN_REQUEST] = {"own-request", SEVERITY_NOTE,
                          "A request of the interposer to the server, or the answer to it; neither "
                          "is forwarded to the client.",
                          "Nothing to fix."},
    [FIND_CANCELLED_INITIALIZE] =
        {"cancelled-initialize", SEVERITY_ERROR,
         "The client cancelled initialize, which MCP forbids.",
         "A client with one timeout for all requests. Give the server more time to start."},
    [FIND_TOO_MANY_OPEN] = {"too-many-open", SEVERITY_WARNING,
                            "More requests were pending than the interposer can track.",
                            "One side never answers, and the other side keeps sending requests."},
    [FIND_TOOL_ERROR] =
        {"tool-error", SEVERITY_NOTE, "The tool reports that it failed (isError).",
         "A failure of the tool. This is not a violation of the protocol; the name makes such "
         "calls easy to find."},
    [FIND_TOOL_HIDDEN] =
        {"tool-hidden", SEVERITY_WARNING, "The client called a tool that a rule hides from it.",
         "A client that keeps an old list of tools, or a rule that hides too much."},
    [FIND_TOOL_UNLISTED] =
        {"tool-unlisted", SEVERITY_WARNING,
         "With --read-only, the client called a tool that is not in the server's list of tools, or "
         "the list is not known.",
         "A client or a model that invents names, or a server that does not list its tools: "
         "without a list nobody knows which tools only read."},
    [FIND_AMBIGUOUS_CALL] =
        {"ambiguous-call", SEVERITY_ERROR,
         "While a rule hides tools, the message could be read as a call of another tool.",
         "The client: a `tools/call` must have `method`, `params` and `params.name` exactly once "
         "and spelled exactly like this, and the name must be a string without NUL and lone "
         "surrogates."},
    [FIND_REPEAT_OF_UNCERTAIN] =
        {"repeat-of-uncertain", SEVERITY_WARNING,
         "The call is equal to one that failed and may have run: its effect may happen twice.",
         "A model or a client that tries again after a timeout or a crash. Mark the tool "
         "`readOnlyHint` or `idempotentHint` if a second call is harmless; `--on-repeat answer` or "
         "`refuse` keeps such a call from the server."},
    [FIND_BODY_LOST] =
        {"body-lost", SEVERITY_NOTE,
         "The body is over 64 KiB and could not be written to Bodies/: the message is stored "
         "without its body.",
         "`Bodies` in the vault is a link, or not writable: make it a directory that belongs to "
         "the user who runs the interposer. `/dev/shm` is too small for the message: enlarge it, "
         "or lower `--max-message`."},
    [FIND_TIMEOUT] =
        {"timeout", SEVERITY_ERROR,
         "The server had not answered when the request's deadline passed.",
         "A slow tool: give it time with `--timeout tool:NAME=5m`, or let it report progress."},
    [FIND_SERVER_GONE] = {"server-gone", SEVERITY_ERROR,
                          "The server exited, or closed its stdin, before it answered.",
                          "A crash: see the server's last lines with `mcp-interposer show`, and "
                          "the exit status of the session."},
    [FIND_INTERRUPTED] = {"interrupted", SEVERITY_NOTE,
                          "The session ended before the server answered, and not because of the "
                          "server.",
                          "Nothing to fix at the server: the call may have run."},
};

const char *finding_name(enum finding f)
{
    return findings_table[f].name;
}

const char *finding_meaning(enum finding f)
{
    return findings_table[f].meaning;
}

const char *finding_remedy(enum finding f)
{
    return findings_table[f].remedy;
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
