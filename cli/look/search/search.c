/* search.c - `mcp-interposer search`: finds messages by their text and fields. */
#include "cli/look/search/commands.h"

#include "cli/frame/session.h"
#include "cli/look/search/search_match.h"
#include "cli/settings/config.h"

#define OPERANDS_MAX 64

static const struct opt table_of_options[] = {
    {'n', "limit", "N", "20", "number of messages, newest first; 0: all"},
    {'x', "exact", NULL, NULL, "search each TEXT byte for byte instead of by words"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    FILTER_SESSION_OPT,
    {0, "json", NULL, NULL, "print one JSON object per line for each message"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Finds the messages whose body contains every TEXT: the words of TEXT in this\n"
    "order, ignoring case. If a TEXT ends with `*`, its last word is a prefix. JSON\n"
    "strings are decoded first, so that \\\" is found as a quote. Fields narrow the\n"
    "search, or are used alone:\n"
    "  server:NAME  client:NAME  tool:NAME  method:NAME\n"
    "      a name or a glob, such as tool:send_*\n"
    "  status:failed|ok|tool-error|error|refused|timeout|server-gone|interrupted\n"
    "      answers with this status; failed: as with --failed\n"
    "  kind:request|notification|result|error|batch|noise|stderr\n"
    "  took:DURATION\n"
    "      answers that took at least this time; 'took:>1s' means the same\n"
    "The index is in Search/ of the vault, and is updated first. Another word before\n"
    "a colon and a letter, as in is:failed, is an error: --exact searches it as text.\n"
    "Exit status: 0 something was found; 1 nothing was found.\n"
    "\n"
    "  mcp-interposer search invoice 'not found' tool:send_email\n"
    "  mcp-interposer search -x '\"path\":\"/home' status:error\n";
/* clang-format on */

struct searching {
    struct question question;
    struct out out;
    bool json;
    int64_t found;
};

static bool search_on_match(void *ctx, const struct search_match *f)
{
    struct searching *s = ctx;
    if (s->json) {
        struct json_out j = json_out_to(&s->out.b);
        json_out_object(&j, NULL);
        search_match_add_json_members(&j, f);
        json_out_end(&j);
        out_end_line(&s->out);
    } else {
        search_match_print_text(&s->out, f);
    }
    s->found++;
    return !out_has_ended(&s->out);
}

/* Ends the search at the first match. */
static bool stop_search_at_first_match(void *ctx, const struct search_match *f)
{
    (void)f;
    *(bool *)ctx = true;
    return false;
}

/* Tells a person that nothing was found, and whether longer words that begin with the searched
 * words would be found. */
static int print_nothing_found(struct searching *s, struct query *q)
{
    bool any = false;
    int st = question_make_last_words_prefixes(&s->question)
                 ? find_messages(q, &s->question, 1, stop_search_at_first_match, &any)
                 : 0;
    out_add_raw(&s->out, "nothing found");
    if (any)
        out_add_raw(&s->out,
                    "; whole words are searched: put a * after a TEXT, as in 'invoi*', to find "
                    "longer words");
    out_end_line(&s->out);
    return st;
}

static int search_and_print(struct searching *s, struct query *q, const struct settings *settings)
{
    out_open(&s->out);
    int st = filter_find_session(&s->question.filter, settings, q);
    if (st == 0)
        st = find_messages(q, &s->question, settings_get_number(settings, "limit"), search_on_match,
                           s);
    bool empty = s->found == 0 && !s->json && session_vault_is_empty(q);
    if (st == 0 && s->found == 0 && s->out.is_terminal && !s->json && !empty)
        st = print_nothing_found(s, q);
    int status = out_close(&s->out);
    if (st < 0)
        return session_report_query_error(q, st);
    if (status != EXIT_FINE || s->found > 0)
        return status;
    if (empty)
        session_warn_empty_list(q, "no matching message");
    return EXIT_FOUND;
}

/* The arguments are checked before the vault is opened. */
static int search_run(const struct settings *settings)
{
    struct searching s = {.json = settings_is_on(settings, "json")};
    struct query *q = NULL;
    int status = question_open(&s.question, settings);
    if (status == EXIT_FINE)
        status = session_vault_open(settings, &q);
    if (status == EXIT_FINE)
        status = search_and_print(&s, q, settings);
    query_close(q);
    question_close(&s.question);
    return status;
}

const struct command command_search = {
    .name = "search",
    .summary = "find messages by text, tool, method or status",
    .usage = "[OPTIONS] TEXT|FIELD:VALUE...",
    .about = about,
    .table = table_of_options,
    .operands_max = OPERANDS_MAX,
    .run = search_run,
};
