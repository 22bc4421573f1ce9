/* user_question_list.c - the list of the requests of servers for user input. */
#include "cli/lists/list.h"

#include "cli/frame/filter.h"
#include "cli/frame/session.h"
#include "vault/query/user_question.h"

static const struct opt table_of_options[] = {
    {'n', "limit", "N", "40", "number of requests for input; 0: all"},
    {0, "tool", "NAME", NULL, "only requests for input during calls of this tool; may be a glob"},
    FILTER_OPTS,
    FILTER_SESSION_OPT,
    {0, "sent", NULL, NULL, "also requests for input in sessions made by `send`"},
    LIST_OPTS("row"),
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* Appends what the server asks for: a form, a URL, sampling, or roots. */
static void append_kind_of_question(struct buf *b, const void *row, struct cell what)
{
    const struct user_question *a = row;
    const char *slash = memchr(what.text.p, '/', what.text.n);
    size_t n = slash != NULL ? (size_t)(slash - what.text.p) : what.text.n;
    buf_slice_add(b, a->mode.p != NULL ? a->mode : (struct slice){what.text.p, n});
}

/* Appends the called tool. If there is none, appends the method. */
static void append_called_tool_or_method(struct buf *b, const void *row, struct cell target)
{
    const struct user_question *a = row;
    buf_slice_add(b, target.text.n > 0 ? target.text : a->method.n > 0 ? a->method : slice_of("-"));
}

/* clang-format off */
#define RECORD struct user_question
static const struct show_column columns[] = {
    {SHOW(message, TEXT, NO_TEXT), .ui = {"message", 1, 0}, .style = OUT_BOLD},
    {SHOW(session_id, NUMBER, NOT_NULL), .json = true, .table = {"ID", 20, 0}, .style = OUT_BOLD},
    {SHOW(seq, NUMBER, NOT_NULL), .json = true, .table = {"SEQ", 12, 0}},
    {SHOW(at_us, TIME, NOT_NULL), .json = true, .table = {"ASKED", 19, 2}, .ui = {"asked", 21, 72}},
    {SHOW(server, TEXT, NO_TEXT), .json = true, .table = {"SERVER", 24, -8}, .style = OUT_CYAN},
    {SHOW(method, TEXT, NO_TEXT), .json = true},
    {SHOW(target, TEXT, NO_TEXT), .json = true, .table = {"CALL", 24, 3}, .text = append_called_tool_or_method},
    {SHOW(what, TEXT, NOT_NULL), .json = true, .table = {"WHAT", 8, 0}, .ui = {"what", 9, 48}, .text = append_kind_of_question},
    {SHOW(mode, TEXT, NO_TEXT), .json = true},
    {SHOW(host, TEXT, NO_TEXT), .json = true, .table = {"HOST", 32, 4}, .ui = {"host", 16, 114}},
    {SHOW(message, TEXT, NO_TEXT), .json = true, .table = {"MESSAGE", 48, -12}},
    {SHOW(server, TEXT, NO_TEXT), .ui = {"server", 14, 92}, .style = OUT_CYAN},
    {SHOW(answer, TEXT, NOT_NULL), .json = true, .table = {"ANSWER", 10, 0}, .ui = {"answer", 10, 0}},
    {SHOW(after_us, TOOK, MINUS_ONE), .json = true, .table = {"AFTER", 10, 0}, .ui = {"after", 8, 40}},
};
/* clang-format on */

struct passing {
    struct list_reading *r;
    int64_t n; /* number of rows that were passed to the caller */
};

static bool user_question_list_on_question(void *ctx, const struct user_question *a)
{
    struct passing *p = ctx;
    p->r->older = p->r->limit > 0 && p->n == p->r->limit;
    p->n++;
    return !p->r->older && p->r->row(p->r->ctx, a);
}

static int user_question_list_read(struct list_reading *r)
{
    int64_t unread;
    struct filter any = FILTER_ANY;
    struct passing p = {.r = r};
    struct user_question_filter x = {.filter = r->filter != NULL ? r->filter : &any,
                                     .sent = r->sent};
    int st = user_question_read_all(r->q, &x, user_question_list_on_question, &p, &unread);
    if (st == 0 && unread > 0)
        buf_printf(
            &r->note,
            "requests for input that are not listed: %lld; their text was not recorded, or was "
            "redacted",
            (long long)unread);
    return st;
}

static int user_question_list_print(struct query *q, const struct settings *s)
{
    struct filter f;
    struct list_reading r = {.q = q,
                             .vault = query_vault(q),
                             .filter = &f,
                             .sent = settings_is_on(s, "sent"),
                             .limit = settings_get_number(s, "limit"),
                             .none = "no matching request for input"};
    filter_read_from_options(&f, s);
    int st = filter_find_session(&f, s, q);
    return st < 0 ? session_report_query_error(q, st) : list_print(&list_user_questions, s, &r);
}

static int user_question_list_run(const struct settings *s)
{
    return session_run_command(s, user_question_list_print);
}

const struct list list_user_questions = {
    .command =
        {.name = "asked",
         .summary = "list the requests of servers for user input",
         .usage = "[OPTIONS]",
         .about =
             "Elicitations, requests for sampling and for roots, newest call first. ANSWER is\n"
             "accepted, declined, cancelled, failed (an error) or never; what was entered is\n"
             "not shown. HOST is that of the URL in mode url. `show ID --seq SEQ` prints the\n"
             "message. --since and --until are compared with ASKED. Sessions that `send` made\n"
             "are left out, unless --sent is given.\n",
         .table = table_of_options,
         .run = user_question_list_run},
    .shown = {SHOW_LIST("asked", columns)},
    .name = "asked",
    .one = "request for input",
    .all = "requests for input",
    .none = "no server has asked for input",
    .read = user_question_list_read,
};
