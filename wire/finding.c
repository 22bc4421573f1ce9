#include "wire/finding.h"

static const struct {
    const char *name;
    enum severity severity;
    const char *meaning, *remedy;
} findings_table[FIND_COUNT] = {
    [FIND_CRLF] = {"crlf", SEVERITY_WARNING, "The line ends with CR LF; the CR was removed.",
                   "The sender runs on Windows and writes in text mode. Set stdout to binary, or "
                   "the newline to `\\n`."},
    [FIND_BOM] = {"bom", SEVERITY_WARNING,
                  "A byte order mark precedes the message; the mark was removed.",
                  "Writers of .NET and PowerShell write the mark if the encoding is \"UTF-8\". Use "
                  "the variant of the encoding without the byte order mark."},
    [FIND_BLANK_LINE] =
        {"blank-line", SEVERITY_WARNING, "The line was empty and was dropped.",
         "The sender calls `print()` without a text, or writes two newlines after a message."},
    [FIND_GLUED_TEXT] =
        {"glued-text", SEVERITY_ERROR,
         "Log text precedes a message on the same line; the text and the message were separated.",
         "The server logs to stdout without a newline, or prints a progress line there. Send logs "
         "to stderr."},
    [FIND_NOT_JSON] = {"not-json", SEVERITY_ERROR, "The line is not JSON.",
                       "The server, a native library, `npx`, `npm run` or `uvx` prints a banner or "
                       "logs to stdout. Send logs to stderr."},
    [FIND_CUT_JSON] =
        {"cut-json", SEVERITY_ERROR,
         "The object or array does not end on this line: it continues on the next line, or its end "
         "was lost.",
         "The output was cut at a size limit, or two programs wrote to it at once. If `no-newline` "
         "is reported, too, the sender exited before everything was written, which can happen with "
         "Node's `process.exit()`; the size of the line shows where it was cut."},
    [FIND_INVALID_UTF8] =
        {"invalid-utf8", SEVERITY_ERROR, "The line is not well-formed UTF-8.",
         "The sender writes in another encoding, or sends the bytes of a file as text. Set "
         "`PYTHONIOENCODING=utf-8` or the equivalent of the sender's runtime."},
    [FIND_TOO_DEEP] = {"too-deep", SEVERITY_ERROR, "The JSON is nested deeper than 10,000 levels.",
                       "The sender writes a structure that contains itself, or attacks programs "
                       "with a recursive parser."},
    [FIND_SEVERAL_VALUES] = {"several-values", SEVERITY_ERROR,
                             "The line contains more than one JSON value.",
                             "Two threads or processes write to one stdout, or a newline is "
                             "missing. Write a message and its newline in one call, under a lock."},
    [FIND_TOO_LONG] = {"too-long", SEVERITY_ERROR,
                       "The line is longer than --max-message; its bytes were discarded.",
                       "An answer contains a file or a screenshot, or the sender writes a line "
                       "without an end. Raise `--max-message`, or let the tool return a link."},
    [FIND_NO_NEWLINE] = {"no-newline", SEVERITY_WARNING, "The stream ended inside this line.",
                         "The sender exited while it wrote. If `cut-json` is reported, too, bytes "
                         "were lost: flush before `exit()`."},
    [FIND_UNFINISHED_LINE] = {"unfinished-line", SEVERITY_WARNING,
                              "The beginning of a line arrived, and nothing more for 5 seconds: "
                              "the newline is missing, or the sender did not flush.",
                              "The sender forgets the newline or does not flush, and the other "
                              "side waits forever. Write the newline with the message, and flush."},
    [FIND_CONTENT_LENGTH] =
        {"content-length", SEVERITY_ERROR,
         "The peer frames messages with Content-Length headers, as LSP does; "
         "MCP uses one message per line.",
         "The sender uses the transport of LSP. Client and server would wait for each other "
         "forever: configure the sender for the transport stdio of MCP."},
    [FIND_HTTP_OVER_STDIO] =
        {"http-over-stdio", SEVERITY_ERROR,
         "The peer speaks HTTP on stdin and stdout; MCP over stdio uses one JSON message per line.",
         "The client or the server uses the transport Streamable HTTP on its pipes. Start the "
         "server with its stdio transport, or configure the client with the server's URL."},
    [FIND_LARGE_MESSAGE] =
        {"large-message", SEVERITY_WARNING,
         "The message is larger than 10 MiB: some clients close the connection at that size.",
         "The message contains a file or a screenshot in base64. Some clients close the connection "
         "at 10 MiB: if the session ends after this message, its size is probably the reason."},
    [FIND_DEEP_MESSAGE] =
        {"deep-message", SEVERITY_WARNING,
         "The message is nested deeper than 512 levels: some parsers reject it, Python's from "
         "about 1,000 levels on.",
         "The sender writes a tree as nested objects. Python's `json` reads about 1,000 levels, "
         "SQLite's JSON functions read 1,000 or 2,000, the SDKs for TypeScript any number. Send a "
         "list of nodes with the ids of their parents."},
    [FIND_CONTROL_CHARACTER] =
        {"control-character", SEVERITY_ERROR, "A control character in a string is not escaped.",
         "The server assembles JSON by hand from the output of a program. Use a JSON library."},
    [FIND_NOT_A_NUMBER] =
        {"not-a-number", SEVERITY_ERROR,
         "A value is NaN, Infinity or -Infinity, which JSON does not have.",
         "Python's `json.dumps` writes these values by default: use `allow_nan=False`."},
    [FIND_TRAILING_TEXT] = {"trailing-text", SEVERITY_ERROR,
                            "Text follows a message on the same line.",
                            "The server logs to stdout before it writes the newline of a message. "
                            "Send logs to stderr."},
    [FIND_SEVERAL_LINES] = {"several-lines", SEVERITY_ERROR,
                            "The message has several lines, which were joined.",
                            "The server indents its JSON, or writes a raw newline inside a string. "
                            "Write messages as `JSON.stringify(x)` and `json.dumps(x)` do."},
    [FIND_NULL_RESULT] = {"null-result", SEVERITY_ERROR,
                          "The result is null, where MCP requires an object.",
                          "The server's handler returns nothing: let it return an object."},
    [FIND_NOT_JSONRPC] = {"not-jsonrpc", SEVERITY_ERROR,
                          "The text is JSON, but not a JSON-RPC 2.0 message.",
                          "A log library writes JSON to stdout, or the sender assembles messages "
                          "by hand and omits `jsonrpc`."},
    [FIND_DUPLICATE_ENVELOPE_KEY] =
        {"duplicate-envelope-key", SEVERITY_ERROR,
         "The member jsonrpc, id, method, params, result or error occurs twice: two parsers may "
         "read different messages.",
         "This may be an attack on programs that check messages: one parser uses the first of two "
         "equal keys, another parser the last."},
    [FIND_CALL_AND_ANSWER] = {"call-and-answer", SEVERITY_ERROR,
                              "The object has a method and also a result or an error: one parser "
                              "may read a call, another an answer.",
                              "This may be an attack on programs that check messages: one program "
                              "sees a call, another an answer."},
    [FIND_DUPLICATE_KEY] =
        {"duplicate-key", SEVERITY_WARNING, "An object inside the message has the same key twice.",
         "The sender assembles JSON by hand. Parsers differ in which of the two values they use. "
         "The check compares at most 128 keys of an object, at most 512 keys of all objects that "
         "are open at one point, and no keys below 512 levels."},
    [FIND_BATCH] =
        {"batch", SEVERITY_ERROR,
         "A batch was sent in a revision without batches, or the batch is empty or invalid.",
         "The sender's JSON-RPC library combines messages into batches. Send the messages one by "
         "one."},
    [FIND_NULL_ID] = {"null-id", SEVERITY_ERROR, "The id is null.",
                      "The sender's library writes every member, even if it is null; or the server "
                      "answers a notification, or a request that it could not read."},
    [FIND_FRACTIONAL_ID] = {"fractional-id", SEVERITY_ERROR,
                            "The id is a number but not an integer.",
                            "The sender makes its ids from a clock. Some peers drop the fraction "
                            "of an id, and then never match the answer to its request."},
    [FIND_NULL_PARAMS] = {"null-params", SEVERITY_WARNING,
                          "params is null; it should be an object, or omitted.",
                          "The sender's library writes every member, even if it is null. Strict "
                          "servers reject the null: omit `params`."},
    [FIND_ARRAY_PARAMS] =
        {"array-params", SEVERITY_ERROR, "params is an array; MCP requires an object.",
         "A generic JSON-RPC library sends parameters by position. MCP requires an object."},
    [FIND_NULL_BESIDE_ANSWER] = {"null-beside-answer", SEVERITY_WARNING,
                                 "The message has a null error beside a result, a null result "
                                 "beside an error, or a null result or error beside a method.",
                                 "The sender's library writes every member, even if it is null. "
                                 "Strict clients reject such a message."},
    [FIND_RESULT_NOT_OBJECT] =
        {"result-not-object", SEVERITY_ERROR, "The result is not an object, which MCP requires.",
         "A handler returns text or a list, or returns `null` for a method that is not one of MCP. "
         "MCP requires an object: return `{}` if there is nothing to return."},
    [FIND_MALFORMED_ANSWER] = {"malformed-answer", SEVERITY_ERROR,
                               "The answer cannot be read, has both a result and an error, has "
                               "neither of them, or has a member of a wrong type.",
                               "The sender uses JSON-RPC code of its own. The member `error` "
                               "requires an integer `code` and a string `message`."},
    [FIND_REUSED_ID] =
        {"reused-id", SEVERITY_ERROR, "The request has the id of another pending request.",
         "The client counts its ids from the start again after a reconnect. Two answers with one "
         "id cannot be told apart: the oldest request gets the first answer."},
    [FIND_ID_TYPE_CHANGED] =
        {"id-type-changed", SEVERITY_ERROR,
         "The answer has the request's id with another JSON type, for example \"7\" instead of 7.",
         "The server stores ids as text. Strict clients then wait forever for the answer: send the "
         "id back as it was received."},
    [FIND_UNKNOWN_ANSWER] = {"unknown-answer", SEVERITY_ERROR,
                             "The answer matches no pending request.",
                             "The sender answered a request twice, or answered a notification. "
                             "Some clients then close the connection."},
    [FIND_LATE_ANSWER] =
        {"late-answer", SEVERITY_NOTE,
         "The answer belongs to a request that had been cancelled, whose deadline had passed, or "
         "that was answered because the server hung.",
         "After a cancellation this is normal: the answer and the cancellation crossed on the way. "
         "After a `timeout`, the tool is slow."},
    [FIND_LATE_PROGRESS] =
        {"late-progress", SEVERITY_NOTE,
         "The message reports progress of a request whose deadline had passed or that was answered "
         "because the server hung, or acknowledges a stream for the second time; the message was "
         "dropped.",
         "The server continues with work whose result nobody waits for: it should handle "
         "`notifications/cancelled`."},
    [FIND_OWN_REQUEST] = {"own-request", SEVERITY_NOTE,
                          "The interposer sent this request to the server, or the message is the "
                          "answer to such a request; neither is forwarded to the client.",
                          "Nothing to fix."},
    [FIND_CANCELLED_INITIALIZE] =
        {"cancelled-initialize", SEVERITY_ERROR,
         "The client cancelled initialize, which MCP forbids.",
         "The client has one timeout for all requests. Give the server more time to start."},
    [FIND_TOO_MANY_OPEN] = {"too-many-open", SEVERITY_WARNING,
                            "More requests were pending than the interposer can track.",
                            "One side never answers, and the other side keeps sending requests."},
    [FIND_TOOL_ERROR] = {"tool-error", SEVERITY_NOTE, "The tool reports that it failed (isError).",
                         "The tool failed. This is not a violation of the protocol; the finding "
                         "makes such calls easy to find."},
    [FIND_TOOL_HIDDEN] = {"tool-hidden", SEVERITY_WARNING,
                          "The client called a tool that a rule hides from it.",
                          "The client uses an old list of tools, or the rule hides too much."},
    [FIND_TOOL_UNLISTED] = {"tool-unlisted", SEVERITY_WARNING,
                            "With --read-only, the client called a tool that is not in the "
                            "server's list of tools, or that list is not known.",
                            "The client or a model invents names, or the server does not list its "
                            "tools: without a list nobody knows which tools only read."},
    [FIND_AMBIGUOUS_CALL] =
        {"ambiguous-call", SEVERITY_ERROR,
         "While a rule hides tools, the message could be read as a call of another tool.",
         "Correct the client: a `tools/call` must have `method`, `params` and `params.name` "
         "exactly once and spelled exactly like this, and the name must be a string without NUL "
         "and lone surrogates."},
    [FIND_REPEAT_OF_UNCERTAIN] =
        {"repeat-of-uncertain", SEVERITY_WARNING,
         "The call equals an earlier call that failed and may have run: its effect may happen "
         "twice.",
         "A model or a client calls the tool again after a timeout or a crash. Mark the tool "
         "`readOnlyHint` or `idempotentHint` if a second call is harmless; `--on-repeat answer` or "
         "`refuse` keeps such a call from the server."},
    [FIND_BODY_LOST] =
        {"body-lost", SEVERITY_NOTE,
         "The body is over 64 KiB and could not be written to Bodies/: the message is stored "
         "without its body.",
         "If `Bodies` in the vault is a link or not writable, make it a directory that belongs to "
         "the user who runs the interposer. If `/dev/shm` is too small for the message, enlarge "
         "it, or lower `--max-message`."},
    [FIND_TIMEOUT] = {"timeout", SEVERITY_ERROR,
                      "The server had not answered when the request's deadline passed.",
                      "If the tool is slow, give it more time with `--timeout tool:NAME=5m`, or "
                      "let it report progress."},
    [FIND_SERVER_GONE] = {"server-gone", SEVERITY_ERROR,
                          "The server exited, closed its stdin or stdout, or was killed, before it "
                          "answered.",
                          "The server probably crashed: `mcp-interposer show` prints the last "
                          "lines of its stderr, and the exit status of the session."},
    [FIND_INTERRUPTED] =
        {"interrupted", SEVERITY_NOTE,
         "The session ended before the server answered. The server was not the reason.",
         "There is nothing to fix at the server. The call may have run."},
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
