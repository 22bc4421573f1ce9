/* command.c - `mcp-interposer send`: sends one request, recorded or typed, to a server. */
#include "cli/send/commands.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/frame/ask.h"
#include "cli/send/exchange.h"
#include "cli/send/origin.h"
#include "wire/json/text.h"

#include <limits.h>
#include <signal.h>

static const struct opt table_of_options[] = {
    {'s', "seq", "N", NULL, "send this request of a recording again; `show` prints its number"},
    {0, "session", "SESSION", NULL,
     "the recording: a session or a cassette; default: the newest session"},
    {0, "set", "POINTER=VALUE...", NULL,
     "set a value in the params: /arguments/path=/tmp, or POINTER:=JSON"},
    {'e', "edit", NULL, NULL, "edit the params in $VISUAL or $EDITOR first"},
    {'l', "list", NULL, NULL, "print the server's tools with their arguments"},
    {'y', "yes", NULL, NULL, "do not ask before a request that may change something"},
    {0, "unchecked", NULL, NULL, "send arguments that the tool's inputSchema does not allow"},
    {0, "revision", "DATE", NULL, "revision of MCP, such as 2025-06-18; not with --seq"},
    {'t', "timeout", "DURATION", NULL, "deadline of the answer; default: those of `proxy`"},
    {'o', "output", "DIR", NULL, "write images, audio and blobs to DIR instead of $TMPDIR"},
    {0, "json", NULL, NULL, "print the answer unchanged, as JSON on one line"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "  send --list -- SERVER                       the tools of a server\n"
    "  send echo text=hello count=3 -- SERVER      call a tool\n"
    "  send resources/read file:///a -- SERVER     any other method\n"
    "  send --seq 12 --set /arguments/count=4      a recorded request, changed\n"
    "\n"
    "VALUE gets the type that the tool's inputSchema wants, and is checked against\n"
    "it. It is text, @FILE, @- (stdin) or env:NAME; ARG:=JSON gives JSON. SERVER, a\n"
    "command with its arguments, runs behind `proxy`: what is sent is recorded.\n"
    "Without SERVER, the command of the recorded session runs. Secrets are not in a\n"
    "recording: give them with --set.\n"
    COMMAND_SESSION_HELP
    "Exit status: 0 a result; 1 an error, a tool's error or no answer; 2 usage error;\n"
    "3 failure.\n";
/* clang-format on */

#define RECORDED_SHOWN 300 /* maximum bytes of a recorded value that a question shows */

struct sending {
    const struct settings *s;
    int words_n;                /* number of operands before `--` */
    bool has_server;            /* the operand SERVER is given */
    struct cli_value_list sets; /* owned; values of --set */
    struct outgoing request;    /* owned */
    struct origin origin;       /* owned */
    struct peer peer;           /* owned */
    enum revision revision;     /* the chosen revision; REV_COUNT: none was chosen */
    uint32_t item;              /* index of the recorded request; LIVE_SESSION_NONE: none */
};

/* ---- the command line ---- */

static int check_options(struct sending *x)
{
    const struct settings *s = x->s;
    const char *date = settings_get_text(s, "revision");
    bool seq = settings_get_text(s, "seq") != NULL, list = settings_is_on(s, "list");
    int at = s->set.operands_before_dashes;
    x->words_n = at < 0 ? s->operands_n : at;
    x->has_server = at >= 0 && at < s->operands_n;
    x->revision = date != NULL ? revision_find_by_date(slice_of(date)) : REV_COUNT;
    if (date != NULL && x->revision == REV_COUNT)
        return settings_fail_usage(s, "--revision: unknown revision '%s': use %s or an older one",
                                   date, revision_name(REV_2026_07_28));
    if (seq && list)
        return settings_fail_usage(s, "--seq and --list exclude each other");
    if (seq && date != NULL)
        return settings_fail_usage(
            s, "--revision cannot be combined with --seq: a recorded request has its own revision");
    if ((seq || list) && x->words_n > 0)
        return settings_fail_usage(s, "unexpected argument '%s': %s", s->operands[0],
                                   seq ? "change the recorded request with --set"
                                       : "--list cannot be combined with a request");
    if (!seq && !list && x->words_n == 0)
        return settings_fail_usage(
            s, "missing request: name a tool or a method, or use --seq or --list");
    if (!seq && !x->has_server && settings_get_text(s, "session") == NULL)
        return settings_fail_usage(
            s, "missing server: put its command after '--', or name a recording "
               "of it with --session");
    if (list && (settings_is_on(s, "edit") || settings_get_text(s, "set") != NULL))
        return settings_fail_usage(s, "--edit and --set cannot be combined with --list");
    if (s->set.overflow)
        return settings_fail_usage(s, "--set: at most %d values", OPT_MANY_MAX);
    return EXIT_FINE;
}

static int read_set_options(struct sending *x)
{
    struct buf error = {0};
    const char *word;
    size_t at = 0;
    int st = 0, status = EXIT_FINE;
    while (st == 0 && (word = settings_next_value(x->s, "set", &at)) != NULL)
        st = cli_value_add_word(&x->sets, word, true, &error);
    if (st == MI_EINVAL)
        status = settings_fail_usage(x->s, "--set: %s", buf_str(&error));
    if (st == 0 && x->words_n > 0) {
        st = outgoing_read_words(&x->request, x->s->operands, x->words_n, &error);
        if (st == MI_EINVAL)
            status = settings_fail_usage(x->s, "%s", buf_str(&error));
    }
    buf_close(&error);
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    return status;
}

/* ---- the recording ---- */

/* Reports the error of the peer. */
static int report_error_of_peer(struct sending *x)
{
    log_error("%s", buf_str(&x->peer.error));
    return EXIT_TROUBLE;
}

/* ---- secrets that were not recorded ---- */

struct asking {
    struct cli_value_list *sets;
    bool refused; /* a typed secret cannot be sent, so no further questions are asked */
    int status;   /* MI_ENOMEM if memory has run out, otherwise 0 */
};

/* Asks for one secret. Skips redaction marks in member names, which --set cannot replace, and
 * truncated texts, which are too long to type. */
static void ask_user_for_secret(void *ctx, struct slice pointer, enum marks marks, struct slice raw)
{
    struct asking *a = ctx;
    struct buf question = {0}, value = {0}, reason = {0};
    if (a->status < 0 || a->refused || marks != MARKS_SECRET ||
        marks_find_in_text(pointer) != MARKS_NONE)
        return;
    buf_adds(&question, "The secret at ");
    text_append_visible(&question, pointer);
    buf_adds(&question, " was not recorded (\"");
    text_append_visible(&question, text_prefix(raw, RECORDED_SHOWN));
    buf_adds(&question, "\"). Its value: ");
    int st = ask_user_to_type_secret(buf_str(&question), &value);
    if (st == 0)
        st = cli_value_add_text(a->sets, pointer, &value, &reason);
    else if (st == MI_EFULL)
        buf_printf(&reason, "the value has more than the %zu bytes that can be typed",
                   ASK_SECRET_MAX);
    a->status = st == MI_ENOMEM ? st : 0;
    a->refused = st == MI_EFULL || st == MI_EINVAL;
    if (a->refused)
        log_error("what was typed cannot be sent: %s", buf_str(&reason));
    buf_close(&question);
    buf_close(&value);
    buf_close(&reason);
}

/* Asks at the terminal for each secret that neither the recording nor --set contains. */
static int ask_user_for_secrets(struct sending *x, struct buf *params, struct buf *error)
{
    struct asking a = {.sets = &x->sets};
    size_t given = x->sets.n;
    if (!ask_user_has_terminal())
        return 0;
    int st = outgoing_for_each_secret(buf_slice(params), &x->sets, ask_user_for_secret, &a);
    st = st == 0 ? a.status : st;
    if (st == 0 && x->sets.n > given)
        st = outgoing_set_params(params, &x->sets, (struct json_value){0}, error);
    return st;
}

/* Copies the recorded request, and reports missing secrets before anything is started. */
static int copy_recorded_request(struct sending *x)
{
    struct buf params = {0}, error = {0};
    struct rpc m;
    int status =
        origin_find_request(x->s, &x->peer.session, settings_get_number(x->s, "seq"), &x->item);
    if (status != EXIT_FINE)
        return status;
    if (live_session_read_recorded_body(&x->peer.session, x->item, &x->peer.session.request) < 0)
        return report_error_of_peer(x);
    if (rpc_read(buf_slice(&x->peer.session.request), &m) < 0 || m.kind != RPC_REQUEST)
        return settings_fail_usage(x->s, "--seq: the recorded message is not a valid request");
    if (rpc_is_modern(&m)) {
        x->revision = REV_2026_07_28;
        if (marks_find_in_text(m.meta.text) == MARKS_NONE)
            buf_slice_add(&x->peer.meta, m.meta.text);
    }
    x->peer.session.from = x->item;
    int st = outgoing_copy_recorded_request(&x->request, &m);
    buf_slice_add(&params, buf_slice(&x->request.params));
    if (st == 0)
        st = outgoing_set_params(&params, &x->sets, (struct json_value){0}, &error);
    if (st == 0 && !settings_is_on(x->s, "edit"))
        st = ask_user_for_secrets(x, &params, &error);
    if (st == MI_EINVAL)
        status = settings_fail_usage(x->s, "--set: %s", buf_str(&error));
    else if (st == 0 && !settings_is_on(x->s, "edit"))
        status = outgoing_refuse_secrets(buf_slice(&params), &x->sets);
    buf_close(&params);
    buf_close(&error);
    if (st != MI_ENOMEM)
        return status;
    log_error("out of memory");
    return EXIT_TROUBLE;
}

static int open_source_recording(struct sending *x)
{
    const char *session = settings_get_text(x->s, "session");
    bool seq = settings_get_text(x->s, "seq") != NULL;
    struct source *source = NULL;
    int status = EXIT_FINE;
    if (seq || session != NULL) {
        status = origin_open_recording(&x->origin, x->s, session);
        source = x->origin.recording.source;
    }
    if (status == EXIT_FINE && peer_load_recording(&x->peer, source) < 0)
        status = report_error_of_peer(x);
    if (status == EXIT_FINE && seq)
        status = copy_recorded_request(x);
    else if (status == EXIT_FINE && source != NULL && x->revision == REV_COUNT &&
             revision_find_by_date(source_info(source)->protocol_version) == REV_2026_07_28)
        x->revision = REV_2026_07_28;
    if (status == EXIT_FINE && !x->has_server)
        status = origin_read_server_command(&x->origin, x->s);
    return status;
}

/* ---- the command ---- */

static int run_exchange(struct sending *x)
{
    struct buf from = {0};
    if (x->item != LIVE_SESSION_NONE) {
        buf_slice_add(&from, x->origin.recording.name);
        buf_printf(&from, ":%s", settings_get_text(x->s, "seq"));
    }
    struct exchange e = {
        .s = x->s,
        .peer = &x->peer,
        .request = settings_is_on(x->s, "list") ? NULL : &x->request,
        .sets = &x->sets,
        .item = x->item,
        .argv = x->has_server ? x->s->operands + x->words_n : x->origin.command,
        .dir = x->origin.dir.n > 0 ? buf_str(&x->origin.dir) : NULL,
        .name = x->origin.name.n > 0 ? buf_str(&x->origin.name) : NULL,
        .from = from.n > 0 ? buf_str(&from) : NULL,
        .revision = x->revision,
    };
    int status = exchange_run(&e);
    buf_close(&from);
    return status;
}

static int send_run(const struct settings *s)
{
    struct sending x = {.s = s, .item = LIVE_SESSION_NONE};
    (void)signal(SIGPIPE, SIG_IGN);
    int status = check_options(&x);
    if (status == EXIT_FINE)
        status = read_set_options(&x);
    if (status == EXIT_FINE)
        status = open_source_recording(&x);
    if (status == EXIT_FINE)
        status = run_exchange(&x);
    peer_close(&x.peer);
    origin_close_recording(&x.origin);
    outgoing_close(&x.request);
    cli_value_close(&x.sets);
    return status;
}

const struct command command_send = {
    .name = "send",
    .summary = "send one request, recorded or typed, to a server",
    .usage = "[OPTIONS] [METHOD] [NAME] [ARG=VALUE...] [-- SERVER]",
    .about = about,
    .table = table_of_options,
    .operands_max = INT_MAX,
    .run = send_run,
};
