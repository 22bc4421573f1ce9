#include "wire/mcp/rule.h"

static const struct {
    const char *name;
    enum severity severity;
    const char *meaning, *remedy;
} table[RULE_COUNT] = {
    [RULE_REQUEST_BEFORE_INITIALIZE] = {"request-before-initialize", SEVERITY_WARNING,
                                        "The request came before initialize was answered.",
                                        "The client does not wait for the answer to initialize. "
                                        "Some servers then exit, others never answer."},
    [RULE_REQUEST_BEFORE_INITIALIZED] =
        {"request-before-initialized", SEVERITY_WARNING,
         "The client sends requests although it has not sent notifications/initialized.",
         "The client does not send this notification. A strict server then never answers: check "
         "this first when a session hangs. The deadline error also mentions the missing "
         "notification."},
    [RULE_BARE_INITIALIZED] =
        {"bare-initialized", SEVERITY_ERROR,
         "The name of the notification must be notifications/initialized.",
         "Correct the name in the client: it is `notifications/initialized`."},
    [RULE_SECOND_INITIALIZE] =
        {"second-initialize", SEVERITY_ERROR, "The connection is already initialized.",
         "The client reconnects without starting a new process of the server."},
    [RULE_EARLY_SERVER_REQUEST] =
        {"early-server-request", SEVERITY_WARNING,
         "The server sent this request before the client sent notifications/initialized.",
         "The server asks for the client's roots at once. It should wait for "
         "notifications/initialized."},
    [RULE_EARLY_SERVER_MESSAGE] = {"early-server-message", SEVERITY_WARNING,
                                   "The server sent this message before it answered initialize.",
                                   "The server sends log messages to the client while it starts. "
                                   "Some clients then end the session."},
    [RULE_UNKNOWN_REVISION] =
        {"unknown-revision", SEVERITY_NOTE,
         "The message names a revision of the protocol that the interposer does not know.",
         "The revision is newer than the interposer. Rules that depend on the revision are not "
         "checked."},
    [RULE_UNKNOWN_METHOD] = {"unknown-method", SEVERITY_NOTE, "No revision of MCP has this method.",
                             "The method belongs to an extension or is misspelled, or the sender "
                             "invented a notification to send a list."},
    [RULE_LSP_METHOD] =
        {"lsp-method", SEVERITY_NOTE,
         "The method belongs to the Language Server Protocol (LSP), and MCP does not have it.",
         "The sender was written like a program for LSP. MCP ends a session by closing stdin and "
         "cancels with `notifications/cancelled`. The interposer respects these methods of LSP: a "
         "server that exits after `shutdown` or `exit` is not restarted, and silence after "
         "`$/cancelRequest` is not a hang."},
    [RULE_OTHER_REVISION] = {"other-revision", SEVERITY_WARNING,
                             "The negotiated revision does not have this method.",
                             "The sender ignores the negotiated revision: for example, it sends "
                             "`ping` in 2026-07-28, or uses tasks in 2025-06-18."},
    [RULE_WRONG_DIRECTION] =
        {"wrong-direction", SEVERITY_ERROR, "Only the other side may send this method.",
         "The sender confuses the roles of client and server, or uses a library for both roles."},
    [RULE_UNDECLARED_CAPABILITY] =
        {"undeclared-capability", SEVERITY_ERROR,
         "The method needs a capability that was not declared.",
         "The server sends notifications without having declared `listChanged` or `logging`, or "
         "the client does not check what the server has declared. `--validate protocol` rejects "
         "such messages from revision 2025-06-18 on, where MCP says MUST."},
    [RULE_INVALID_PARAMS] = {"invalid-params", SEVERITY_ERROR,
                             "A member of params is missing or has a wrong type.",
                             "The sender assembles the message by hand. The error of `--validate "
                             "protocol`, the line on stderr and `check` name the member."},
    [RULE_INVALID_RESULT] = {"invalid-result", SEVERITY_ERROR,
                             "A member of the result is missing or has a wrong type.",
                             "A handler returns a result without the members that MCP requires, or "
                             "with other types, such as `nextCursor: null`."},
    [RULE_REPEATED_ID] = {"repeated-id", SEVERITY_ERROR,
                          "A request of this session that is finished had the same id.",
                          "The client restarts the counter of its ids. A late answer can be "
                          "mistaken for the answer to another request."},
    [RULE_REUSED_TOKEN] = {"reused-token", SEVERITY_ERROR,
                           "Another pending request has this progress token.",
                           "The sender uses the same token for every request. The progress of the "
                           "two requests cannot be told apart."},
    [RULE_PROGRESS_NOT_INCREASING] =
        {"progress-not-increasing", SEVERITY_ERROR,
         "The progress is not greater than the value that was reported last for this request.",
         "The sender reports a state instead of a growing count."},
    [RULE_STRAY_PROGRESS] =
        {"stray-progress", SEVERITY_ERROR, "No pending request has this progress token.",
         "The sender reports progress after its answer, or invents a token. Some clients then "
         "close the connection. If exactly one request is pending and has no token, the "
         "notification extends the deadline of that request."},
    [RULE_REPEATED_CURSOR] = {"repeated-cursor", SEVERITY_ERROR,
                              "nextCursor is the cursor with which this page was requested.",
                              "The server does not advance to the next page. A client that reads "
                              "all pages never reaches the end."},
    [RULE_ANSWER_AS_NOTIFICATION] = {"answer-as-notification", SEVERITY_WARNING,
                                     "An unknown notification directly follows an error: the "
                                     "notification seems to be the answer to the request.",
                                     "The server answers `tools/list` with an error and sends the "
                                     "list as `notifications/tools/list`. No client reads the list "
                                     "from that notification: answer the request."},
    [RULE_RESERVED_ERROR_CODE] =
        {"reserved-error-code", SEVERITY_ERROR,
         "The negotiated revision does not have this error code.",
         "The sender uses an error code of another revision, or of a draft."},
    [RULE_MISSING_ERROR_DATA] =
        {"missing-error-data", SEVERITY_ERROR,
         "The member data of the error lacks what the error's code requires.",
         "The sender assembles errors by hand. In `data`, -32021 requires `requiredCapabilities`, "
         "-32022 `supported` and `requested`, -32042 `elicitations`: the client cannot act without "
         "these members."},
    [RULE_DUPLICATE_NAME] = {"duplicate-name", SEVERITY_WARNING,
                             "Two entries of the list have the same name or URI.",
                             "The server joins the lists of several sources. A client can reach "
                             "only one of the two entries."},
    [RULE_STRAY_CANCELLATION] =
        {"stray-cancellation", SEVERITY_ERROR,
         "The cancellation names no request that its sender may cancel.",
         "The sender never used this id, or used it with another JSON type. Or a server cancelled "
         "a request of the client: in 2026-07-28 a server may cancel only `subscriptions/listen`."},
    [RULE_CANCELLED_TASK] =
        {"cancelled-task", SEVERITY_ERROR,
         "The cancelled request is finished; the task that it started continues.",
         "The client cancels a task as if it were a request. A task is cancelled with "
         "`tasks/cancel`."},
    [RULE_SECRET_IN_FORM] = {"secret-in-form", SEVERITY_WARNING, "A form asks for a secret.",
                             "The server must not ask for a password, key or token in a form: it "
                             "sends the user to a page of its own, with the mode `url`. The answer "
                             "is recorded without the secret."},
    [RULE_SERVER_REQUEST] = {"server-request", SEVERITY_ERROR,
                             "In revision 2026-07-28 the server sends no requests.",
                             "In this revision a server asks for input in a result with the "
                             "resultType `input_required`."},
    [RULE_CLIENT_ANSWER] = {"client-answer", SEVERITY_ERROR,
                            "In revision 2026-07-28 the client sends no answers.",
                            "The client answers a message that was not a request."},
    [RULE_MISSING_META] = {"missing-meta", SEVERITY_ERROR,
                           "params._meta lacks the protocol version or the client's capabilities.",
                           "In 2026-07-28 every request must have both members. A server must "
                           "reject a request without them with the error -32602."},
    [RULE_MISSING_RESULT_TYPE] = {"missing-result-type", SEVERITY_ERROR,
                                  "The result has no resultType.",
                                  "The server implements an older revision, but claims to support "
                                  "a newer one. Clients treat a result without resultType as "
                                  "`complete`."},
    [RULE_UNKNOWN_RESULT_TYPE] = {"unknown-result-type", SEVERITY_ERROR,
                                  "The resultType is not complete, input_required or task.",
                                  "The server uses an extension that was not negotiated."},
    [RULE_MISSING_CACHE_FIELDS] =
        {"missing-cache-fields", SEVERITY_ERROR, "The result lacks ttlMs or cacheScope.",
         "The server implements an older revision, but claims to support a newer one."},
    [RULE_INVALID_CACHE_FIELDS] =
        {"invalid-cache-fields", SEVERITY_ERROR,
         "ttlMs is not an integer of at least 0, cacheScope is neither public nor private, or "
         "cacheScope differs from that of the previous page.",
         "The server computes `ttlMs` without rounding it, or chooses `cacheScope` anew for each "
         "page."},
    [RULE_INVALID_META] =
        {"invalid-meta", SEVERITY_ERROR,
         "A key or a value in _meta is not what MCP or W3C Trace Context requires.",
         "The sender assembles `traceparent` or `baggage` by hand, uses a log level that MCP does "
         "not have, sends `clientInfo` or `serverInfo` without `name` and `version`, or uses a key "
         "that is not a valid prefix and name."},
    [RULE_INVALID_TASK] =
        {"invalid-task", SEVERITY_ERROR,
         "A member of the task is missing, has a wrong value, or contradicts an earlier answer.",
         "The server implements tasks as in 2025-11-25, where a task was nested in `task`. Or the "
         "task has a status that does not exist, is `completed` without `result`, `failed` without "
         "`error` or `input_required` without `inputRequests`, or changes after its end."},
    [RULE_MISPLACED_INPUT_REQUIRED] =
        {"misplaced-input-required", SEVERITY_ERROR,
         "The result is input_required for a method that does not "
         "allow it, or has neither inputRequests nor requestState.",
         "A client cannot answer such a result. Only the results of `tools/call`, `prompts/get` "
         "and `resources/read` may require input."},
    [RULE_INVALID_INPUT_REQUEST] =
        {"invalid-input-request", SEVERITY_ERROR,
         "An entry of inputRequests is not a valid request for elicitation, sampling or roots.",
         "The server assembles its requests for input by hand. Only `elicitation/create`, "
         "`sampling/createMessage` and `roots/list` are allowed; a form needs the "
         "`requestedSchema` of a flat object, and the mode `url` needs a `url`."},
    [RULE_REUSED_INPUT_KEY] =
        {"reused-input-key", SEVERITY_ERROR,
         "The task has used this key of inputRequests before, for another request.",
         "The server restarts the counter of its keys. The client believes that it has already "
         "answered the new request for input."},
    [RULE_UNKNOWN_INPUT_KEY] =
        {"unknown-input-key", SEVERITY_ERROR, "The task has asked for no input with this key.",
         "The client renames keys, or answers the question of another task."},
    [RULE_BAD_RETRY] =
        {"bad-retry", SEVERITY_ERROR,
         "The retry reuses the id of the first attempt, has a requestState that is unknown or "
         "belongs to another request, or lacks the requested input.",
         "The client treats the retry as the same request, changes the `requestState`, or retries "
         "with another method, another tool or other arguments."},
    [RULE_NOT_ACKNOWLEDGED] = {"not-acknowledged", SEVERITY_ERROR,
                               "The server ended the subscription without having acknowledged it.",
                               "If the server does not implement subscriptions, it must answer "
                               "`subscriptions/listen` with an error."},
    [RULE_NO_SUBSCRIPTION] =
        {"no-subscription", SEVERITY_ERROR,
         "The notification or result does not have the id of an open subscription.",
         "In this revision the server may send notifications about lists and resources only after "
         "a `subscriptions/listen`, and with its id."},
    [RULE_UNASKED_NOTIFICATION] =
        {"unasked-notification", SEVERITY_ERROR,
         "The notification came before its stream was acknowledged, or the client did not request "
         "notifications of this kind, or the server did not agree to send them.",
         "The server sends every notification to every client, or agrees to more than was "
         "requested."},
    [RULE_UNASKED_LOG] =
        {"unasked-log", SEVERITY_ERROR,
         "No pending request asked for log messages of this level, or the log "
         "message came on a subscription.",
         "The server implements an older revision, but claims to support a newer one."},
    [RULE_UNKNOWN_TOOL] = {"unknown-tool", SEVERITY_ERROR,
                           "The server's list of tools has no tool with this name.",
                           "A model invents names, or the client uses an old list of tools."},
    [RULE_INVALID_ARGUMENTS] =
        {"invalid-arguments", SEVERITY_ERROR, "The arguments do not match the tool's inputSchema.",
         "A model guesses the arguments, or the schema does not describe what the tool accepts."},
    [RULE_INVALID_STRUCTURED_CONTENT] =
        {"invalid-structured-content", SEVERITY_ERROR,
         "The result does not match the tool's outputSchema.",
         "The tool is defective. Strict clients reject the result."},
    [RULE_TOOL_CHANGED] =
        {"tool-changed", SEVERITY_NOTE,
         "The list of tools differs from the list of the previous session.",
         "The server was updated, or its tools were changed without an update. A model acts on the "
         "descriptions of tools: `mcp-interposer tools NAME --diff` shows what has changed."},
    [RULE_SCHEMA_NOT_CHECKED] =
        {"schema-not-checked", SEVERITY_NOTE,
         "The arguments or the result were not fully compared with the "
         "tool's schema, because the comparison exceeds a limit or is not possible.",
         "The schema or the value is very large, the schema has a dialect that is not supported or "
         "refers to another document, or the server is hostile. Write the schema in 2020-12, with "
         "everything that it refers to in its `$defs`."},
    [RULE_LARGE_RESULT] = {"large-result", SEVERITY_NOTE,
                           "The text of the answer takes much of the model's context.",
                           "The tool has no pages or limits. Clients begin to cut such results: "
                           "ask for less, or limit the results in the server."},
    [RULE_NO_PROGRESS] = {"no-progress", SEVERITY_NOTE,
                          "The same call keeps getting the same result, or keeps failing.",
                          "A model repeats itself, or a client polls. Look at the results that the "
                          "model has seen before: an error should say what to do instead."},
};

const char *rule_name(enum rule r)
{
    return table[r].name;
}

const char *rule_meaning(enum rule r)
{
    return table[r].meaning;
}

const char *rule_remedy(enum rule r)
{
    return table[r].remedy;
}

enum severity rule_severity(enum rule r)
{
    return table[r].severity;
}

breaches rules_select_errors(breaches set)
{
    breaches grave = 0;
    for (int r = 0; set >> r != 0; r++)
        if ((set & RULE(r)) != 0 && table[r].severity == SEVERITY_ERROR)
            grave |= RULE(r);
    return grave;
}

static void rule_add_name(struct buf *b, bool *first, const char *name)
{
    if (!*first)
        buf_addc(b, ',');
    buf_adds(b, name);
    *first = false;
}

void finding_append_names(struct buf *b, findings set, breaches broken)
{
    bool first = true;
    for (int f = 0; f < FIND_COUNT; f++)
        if ((set & FINDING(f)) != 0)
            rule_add_name(b, &first, finding_name((enum finding)f));
    for (int r = 0; r < RULE_COUNT; r++)
        if ((broken & RULE(r)) != 0)
            rule_add_name(b, &first, table[r].name);
}

bool finding_by_name(struct slice name, struct finding_info *ret)
{
    for (int f = 0; f < FIND_COUNT; f++) {
        enum finding e = (enum finding)f;
        if (!slice_is(name, finding_name(e)))
            continue;
        *ret = (struct finding_info){finding_name(e),     finding_meaning(e), finding_remedy(e),
                                     finding_severity(e), FINDING(f),         0};
        return true;
    }
    for (int r = 0; r < RULE_COUNT; r++) {
        if (!slice_is(name, table[r].name))
            continue;
        *ret = (struct finding_info){
            table[r].name, table[r].meaning, table[r].remedy, table[r].severity, 0, RULE(r)};
        return true;
    }
    return false;
}
