#include "cli/send/exchange.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/frame/ask.h"
#include "cli/frame/out.h"
#include "cli/send/argument_json.h"
#include "cli/send/difference.h"
#include "cli/send/edit_object.h"
#include "cli/send/input_required.h"
#include "cli/send/interrupt.h"
#include "cli/send/print.h"
#include "cli/send/send_list.h"
#include "cli/send/sent_sessions.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/mcp/own.h"

#define SHOWN_MAX 300 /* maximum bytes of the arguments that a question shows */

static int exchange_fail_no_memory(void)
{
    log_error("out of memory");
    return EXIT_TROUBLE;
}

/* Reports the error of the peer. */
static int exchange_report_peer_error(const struct exchange *x)
{
    log_error("%s", buf_str(&x->peer->error));
    return EXIT_TROUBLE;
}

/* ---- the tool ---- */

static struct tool *find_tool(const struct exchange *x, struct slice name)
{
    struct buf raw = {0};
    text_append_json(&raw, name);
    struct tool *t =
        raw.n > 2 ? tools_find(&x->peer->tools, (struct slice){raw.p + 1, raw.n - 2}) : NULL;
    buf_close(&raw);
    return t;
}

static int fail_unknown_tool(const struct exchange *x)
{
    const char *name = buf_str(&x->request->target);
    struct buf shown = {0}, near = {0};
    struct nearest n = nearest_begin_search(name);
    for (size_t i = 0; i < x->peer->tools.n; i++)
        nearest_add_candidate(&n, x->peer->tools.tool[i].name.p);
    text_append_visible(&shown, slice_of(name));
    if (n.best != NULL)
        text_append_visible(&near, slice_of(n.best));
    if (n.best != NULL)
        log_error("the server has no tool '%s'; did you mean '%s'?", buf_str(&shown),
                  buf_str(&near));
    else
        log_error("the server has no tool '%s'; --list prints its tools", buf_str(&shown));
    buf_close(&shown);
    buf_close(&near);
    return EXIT_USAGE;
}

/* Called if MCP does not define the method: finds out whether the word names a tool of the server,
 * or may be a method of an extension. */
static int resolve_method(const struct exchange *x)
{
    struct outgoing *r = x->request;
    struct buf why = {0};
    int status = EXIT_FINE;
    if (find_tool(x, buf_slice(&r->method)) != NULL) {
        status = outgoing_make_tool_call(r) < 0 ? exchange_fail_no_memory() : EXIT_FINE;
    } else if (!method_is_plausible(buf_str(&r->method), &why)) {
        log_error("%s", buf_str(&why));
        status = EXIT_USAGE;
    }
    buf_close(&why);
    return status;
}

static int fail_unknown_argument(struct json_value schema, struct slice name)
{
    struct buf shown = {0}, near = {0}, word = {0}, key = {0};
    struct slice raw;
    struct json_value v;
    text_append_visible(&shown, name);
    buf_slice_add(&word, name);
    struct nearest n = nearest_begin_search(buf_str(&word));
    for (struct json_walk w = json_walk_begin(json_get(schema, "properties"));
         json_walk_next(&w, &raw, &v);) {
        const char *before = n.best;
        buf_clear(&key);
        json_unescape(&key, raw);
        nearest_add_candidate(&n, buf_str(&key));
        if (n.best != before) {
            buf_clear(&near);
            text_append_visible(&near, buf_slice(&key));
            /* n.best points into `key`, which the next name overwrites. So n.best is replaced: even
             * if `key` keeps its address, n.best changes when a later name is closer. Only
             * n.distance decides which name is closer. */
            n.best = "";
        }
    }
    log_error("the tool has no argument '%s'; %s%s%s--unchecked sends it anyway", buf_str(&shown),
              near.n > 0 ? "did you mean '" : "", buf_str(&near), near.n > 0 ? "'? " : "");
    buf_close(&shown);
    buf_close(&near);
    buf_close(&word);
    buf_close(&key);
    return EXIT_USAGE;
}

/* ---- making the request ---- */

static int make_typed_request(const struct exchange *x, const struct tool *t)
{
    struct json_value schema = t != NULL ? t->input.text : (struct json_value){0};
    const struct cli_value_list *words = &x->request->words;
    for (size_t i = 0; t != NULL && !settings_is_on(x->s, "unchecked") && i < words->n; i++)
        if (argument_json_name_is_undeclared(schema, words->list[i].name))
            return fail_unknown_argument(schema, words->list[i].name);
    if (slice_is(buf_slice(&x->request->method), "initialize"))
        own_write_initialize_params(&x->request->params,
                                    x->revision != REV_COUNT ? x->revision : REV_2025_11_25);
    return outgoing_make_params(x->request, schema, buf_slice(&x->peer->meta)) < 0
               ? exchange_fail_no_memory()
               : EXIT_FINE;
}

static int exchange_apply_set_options(const struct exchange *x, const struct tool *t)
{
    struct buf error = {0};
    int st = outgoing_set_params(&x->request->params, x->sets,
                                 t != NULL ? t->input.text : (struct json_value){0}, &error);
    int status = EXIT_FINE;
    if (st < 0)
        status = st == MI_ENOMEM ? exchange_fail_no_memory()
                                 : settings_fail_usage(x->s, "--set: %s", buf_str(&error));
    buf_close(&error);
    return status;
}

static int exchange_edit_params(const struct exchange *x)
{
    if (x->request->params.n == 0)
        buf_adds(&x->request->params, "{}");
    switch (edit_object(&x->request->params)) {
    case EDIT_DONE:
        return EXIT_FINE;
    case EDIT_CANCELLED:
        log_note("nothing was sent: the file is empty");
        return EXIT_FOUND;
    case EDIT_UNCHANGED:
        log_note("nothing was sent: the file was not changed; without --edit the request is sent "
                 "unchanged");
        return EXIT_FOUND;
    case EDIT_FAILED:
        break;
    }
    return EXIT_TROUBLE;
}

/* Checks the arguments of a typed request. A recorded request is not checked, because the
 * user may send it to get an error. */
static int check_arguments(const struct exchange *x, struct tool *t)
{
    struct schema_fault fault = {0};
    struct json_value params = {JSON_OBJECT, buf_slice(&x->request->params)};
    int status = EXIT_FINE;
    if (tools_check_arguments(&x->peer->tools, t, json_get(params, "arguments"), &fault) ==
        SCHEMA_FAILS) {
        log_error("the arguments do not fit the tool's inputSchema: %s %s; --unchecked sends them "
                  "anyway",
                  fault.pointer.n > 0 ? buf_str(&fault.pointer) : "arguments",
                  buf_str(&fault.reason));
        status = EXIT_USAGE;
    }
    schema_fault_close(&fault);
    return status;
}

static int make_request(const struct exchange *x)
{
    bool typed = x->item == LIVE_SESSION_NONE, unchecked = settings_is_on(x->s, "unchecked");
    int status = typed && x->request->may_be_tool ? resolve_method(x) : EXIT_FINE;
    struct tool *t =
        outgoing_is_tool_call(x->request) ? find_tool(x, buf_slice(&x->request->target)) : NULL;
    bool unknown = typed && t == NULL && outgoing_is_tool_call(x->request);
    if (status == EXIT_FINE && unknown && !unchecked && tools_are_complete(&x->peer->tools))
        return fail_unknown_tool(x);
    if (status == EXIT_FINE && unknown && !tools_are_complete(&x->peer->tools))
        log_warn("the server did not list this tool: its arguments are sent as text, unchecked");
    if (status == EXIT_FINE && typed)
        status = make_typed_request(x, t);
    if (status == EXIT_FINE)
        status = exchange_apply_set_options(x, t);
    if (status == EXIT_FINE && settings_is_on(x->s, "edit"))
        status = exchange_edit_params(x);
    if (status == EXIT_FINE && !typed)
        status = outgoing_refuse_secrets(buf_slice(&x->request->params), x->sets);
    /* find the tool by its current name: --set and --edit may have changed the name in params */
    struct json_value params = {JSON_OBJECT, buf_slice(&x->request->params)}, name = {0};
    if (outgoing_is_tool_call(x->request) && params.text.n > 0)
        name = json_get(params, "name");
    t = name.type == JSON_STRING ? tools_find(&x->peer->tools, json_string_raw(name)) : NULL;
    if (status == EXIT_FINE && typed && !unchecked && t != NULL)
        status = check_arguments(x, t);
    return status;
}

/* ---- asking ---- */

/* Appends a name such as "tools/call NAME". */
static void exchange_append_request_name(struct buf *b, const struct rpc *m)
{
    struct buf plain = {0};
    struct rpc_name name = rpc_name(m, &plain);
    text_append_visible(b, name.method);
    if (name.target.n > 0) {
        buf_addc(b, ' ');
        text_append_visible(b, name.target);
    }
    buf_close(&plain);
}

/* Asks the user before a request that may change something. Returns EXIT_FINE if the request may be
 * sent. */
static int exchange_confirm_call(const struct exchange *x, const struct rpc *m)
{
    const struct live_session_tool *tool =
        live_session_find_tool(&x->peer->session, json_string_raw(m->name));
    bool is_call = rpc_method_is(m, "tools/call");
    bool reads = is_call ? tool != NULL && tool->live && tool->reads_only
                         : live_session_request_is_harmless(m);
    struct buf what = {0};
    int status = EXIT_FINE;
    if (reads || settings_is_on(x->s, "yes"))
        return EXIT_FINE;
    exchange_append_request_name(&what, m);
    if (!ask_user_has_terminal()) {
        status = settings_fail_usage(x->s, "%s: %s; --yes sends it", buf_str(&what),
                                     is_call ? "the tool is not marked read-only"
                                             : "the method is not known to be read-only");
    } else {
        /* the terminal did not show the secret, so the question must not show it */
        bool has_typed_secret = false;
        for (size_t i = 0; i < x->sets->n; i++)
            has_typed_secret |= x->sets->list[i].place.n > 0;
        struct slice args = has_typed_secret ? slice_of("(with the secrets that you have typed)")
                            : is_call        ? m->arguments.text
                                             : m->params.text;
        struct slice head = text_prefix(args.p != NULL ? args : slice_of(""), SHOWN_MAX);
        buf_addc(&what, ' ');
        text_append_visible(&what, head);
        buf_adds(&what, head.n < args.n ? "..." : "");
        buf_adds(&what, "\nThe request may change something. Send it?");
        if (!ask_user_for_yes(buf_str(&what))) {
            log_note("nothing was sent");
            status = EXIT_FOUND;
        }
    }
    buf_close(&what);
    return status;
}

/* ---- sending ---- */

/* Returns the exit status after a request that the server did not answer: EXIT_TROUBLE for a
 * request of the handshake, otherwise EXIT_FOUND. */
static int get_exit_status_without_answer(const char *method)
{
    return strcmp(method, "initialize") == 0 ? EXIT_TROUBLE : EXIT_FOUND;
}

/* Reports that a request got no answer, not even an error of the proxy. method: the method of a
 * request that `send` itself made; NULL: the request of the user. */
static int report_no_answer(const struct exchange *x, const char *method)
{
    struct peer *p = x->peer;
    int status = method != NULL ? get_exit_status_without_answer(method) : EXIT_FOUND;
    if (p->session.interrupted || interrupt_was_received()) {
        peer_cancel_request(p);
        (void)peer_end_server(p);
        interrupt_exit_by_signal();
        return EXIT_FOUND;
    }
    if (p->session.ended) {
        log_error("%s was not answered: the server exited with status %d",
                  method != NULL ? method : "the request", peer_end_server(p));
        return status;
    }
    peer_cancel_request(p);
    log_error("%s was not answered within %s; allow more time with --timeout",
              method != NULL ? method : "the request", settings_get_text(x->s, "timeout"));
    return status;
}

/* Reports the error that answered a request of `send` itself. */
static int report_answered_error(const char *method, const struct rpc *answer)
{
    struct buf message = {0};
    bool ours = rpc_is_interposer_error(answer);
    json_unescape(&message, json_string_raw(answer->error_message));
    if (ours)
        log_error("%s was not answered: %s", method, buf_str(&message));
    else
        log_error("the server rejected %s: %s", method, buf_str(&message));
    buf_close(&message);
    return ours ? get_exit_status_without_answer(method) : EXIT_FOUND;
}

/* Prints the answer, and how it differs from the recorded answer to the request `item`.
 * LIVE_SESSION_NONE: no comparison. Returns the exit status. */
static int print_answer(const struct exchange *x, uint32_t item, const struct rpc *answer)
{
    struct out o;
    struct print_files files = {.dir = settings_get_text(x->s, "output")};
    out_open(&o);
    if (settings_is_on(x->s, "json")) {
        text_append_visible_json(&o.b, answer->text);
        out_end_line(&o);
    } else {
        print_result(&o, &files, answer);
        if (item != LIVE_SESSION_NONE &&
            difference_print_for_answer(&o, &x->peer->session, item, answer) < 0) {
            (void)out_close(&o);
            return exchange_report_peer_error(x);
        }
    }
    bool failed = files.failed;
    print_files_close(&files);
    int status = out_close(&o);
    return status != EXIT_FINE         ? status
           : failed                    ? EXIT_TROUBLE
           : answer_is_failure(answer) ? EXIT_FOUND
                                       : EXIT_FINE;
}

/* Sends the message. While the server asks for input that was recorded, sends the next message with
 * that input. Sets `message` to the message that was sent last. */
static int exchange_send_and_await_answer(const struct exchange *x, struct buf *message,
                                          uint32_t *item, struct rpc *ret, bool *ret_answered)
{
    struct live_session *t = &x->peer->session;
    bool found = true;
    int st = 0;
    for (int round = 0; st == 0 && found && round < INPUT_ROUNDS; round++) {
        struct rpc m;
        struct buf next = {0};
        if (rpc_read(buf_slice(message), &m) < 0)
            return live_session_set_no_memory_error(t);
        st = live_session_send_and_await(t, &m, ret, ret_answered);
        found = st == 0 && *ret_answered && input_is_required(ret);
        if (found)
            st = input_write_next_request(t, &m, ret, item, &next, &found);
        if (st == 0 && found) {
            struct buf questions = {0};
            input_append_question_list(&questions, ret);
            log_note("the server requires input (%s): the recorded input is sent",
                     buf_str(&questions));
            buf_close(&questions);
            buf_close(message);
            *message = next;
        } else {
            buf_close(&next);
        }
    }
    return st;
}

static int exchange_finish(const struct exchange *x, uint32_t item, const struct rpc *answer)
{
    int status = print_answer(x, item, answer);
    struct buf questions = {0};
    if (status != EXIT_FINE || !input_is_required(answer))
        return status;
    input_append_question_list(&questions, answer);
    log_error("the server requires input that was not recorded: %s; give it with --set "
              "/inputResponses/KEY:=JSON and --set /requestState=STATE",
              questions.n > 0 ? buf_str(&questions) : "its request state");
    buf_close(&questions);
    return EXIT_FOUND;
}

static int send_request(struct exchange *x)
{
    struct buf message = {0};
    struct rpc m, answer;
    bool answered = false;
    uint32_t item = x->item;
    outgoing_write_message(x->request, &message);
    if (message.failed || rpc_read(buf_slice(&message), &m) < 0) {
        buf_close(&message);
        return exchange_fail_no_memory();
    }
    int status = exchange_confirm_call(x, &m);
    x->refused = status != EXIT_FINE;
    if (status == EXIT_FINE) {
        peer_report_messages(x->peer);
        interrupt_block_signals(true);
        int st = exchange_send_and_await_answer(x, &message, &item, &answer, &answered);
        interrupt_block_signals(false);
        if (x->item == LIVE_SESSION_NONE)
            item = LIVE_SESSION_NONE; /* the answer to a typed request was not recorded */
        status = st < 0     ? exchange_report_peer_error(x)
                 : answered ? exchange_finish(x, item, &answer)
                            : report_no_answer(x, NULL);
    }
    buf_close(&message);
    return status;
}

/* ---- the whole exchange ---- */

static int exchange_perform_handshake(const struct exchange *x)
{
    struct rpc answer;
    enum peer_greeting greeting;
    bool handshake = x->request == NULL || !slice_is(buf_slice(&x->request->method), "initialize");
    if (!handshake)
        return EXIT_FINE;
    if (peer_perform_handshake(x->peer, x->item, x->revision, &greeting, &answer) < 0)
        return exchange_report_peer_error(x);
    if (greeting == PEER_SILENT)
        return report_no_answer(x, "initialize");
    return greeting == PEER_READY ? EXIT_FINE : report_answered_error("initialize", &answer);
}

/* Asks the server for its tools. A server may reject tools/list or answer it late, so only the end
 * of the server is an error. */
static int request_tool_list(const struct exchange *x)
{
    struct rpc last = {0};
    bool answered;
    if (peer_request_tools(x->peer, &last, &answered) < 0)
        return exchange_report_peer_error(x);
    if (!answered && (x->peer->session.ended || x->request == NULL))
        return report_no_answer(x, "tools/list");
    bool failed = answered &&
                  (peer_says_server_ended(&last) || (x->request == NULL && last.kind == RPC_ERROR));
    return failed ? report_answered_error("tools/list", &last) : EXIT_FINE;
}

static int exchange_run_conversation(struct exchange *x)
{
    bool needs_tools =
        x->request == NULL || x->request->may_be_tool || outgoing_is_tool_call(x->request);
    interrupt_block_signals(true);
    int status = exchange_perform_handshake(x);
    if (status == EXIT_FINE && needs_tools)
        status = request_tool_list(x);
    interrupt_block_signals(false);
    if (status == EXIT_FINE && interrupt_was_received())
        status = report_no_answer(x, NULL);
    if (status != EXIT_FINE)
        return status;
    if (x->request == NULL)
        return list_tools(&x->peer->tools, settings_is_on(x->s, "json"));
    status = make_request(x);
    x->refused = status != EXIT_FINE;
    return status == EXIT_FINE ? send_request(x) : status;
}

int exchange_run(struct exchange *x)
{
    int64_t began = clock_wall_us();
    interrupt_catch_signals();
    int st = peer_start_server(x->peer, x->s, x->argv, x->dir, x->name, x->from);
    if (st < 0)
        return st == MI_EINVAL ? EXIT_TROUBLE : exchange_report_peer_error(x);
    pid_t proxy = live_get_pid(x->peer->live);
    int status = exchange_run_conversation(x);
    (void)peer_end_server(x->peer);
    if (x->refused)
        sent_session_remove(x->s, proxy, began);
    else
        sent_sessions_report_number(x->s, proxy, began);
    if (status != EXIT_FINE)
        interrupt_exit_by_signal();
    return status;
}
