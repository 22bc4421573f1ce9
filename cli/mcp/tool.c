#include "cli/mcp/tool.h"

#include "base/clock.h"
#include "base/time_point.h"
#include "base/units.h"
#include "cli/settings/option_value.h"

struct json_value tool_get_argument(const struct tool_call *c, const char *name)
{
    return c->arguments.type == JSON_OBJECT ? json_get(c->arguments, name) : (struct json_value){0};
}

/* tool_open() has reserved room in c->values for all arguments. So the texts in c->values never
 * move. */
const char *tool_get_text_argument(struct tool_call *c, const char *name)
{
    struct json_value v = tool_get_argument(c, name);
    if (v.type != JSON_STRING)
        return NULL;
    size_t from = c->values.n;
    json_unescape(&c->values, json_string_raw(v));
    buf_addc(&c->values, '\0');
    return c->values.failed ? NULL : c->values.p + from;
}

int64_t tool_get_number_argument(const struct tool_call *c, const char *name, int64_t otherwise)
{
    int64_t n;
    return json_int(tool_get_argument(c, name), &n) ? n : otherwise;
}

bool tool_get_flag_argument(const struct tool_call *c, const char *name)
{
    return tool_get_argument(c, name).type == JSON_TRUE;
}

/* Reads the argument `slow`, the shortest duration, such as "1s". */
static int read_min_duration_argument(struct tool_call *c, int64_t *ret_us)
{
    static const struct opt as_option = {.arg = "DURATION"};
    const char *text = tool_get_text_argument(c, "slow");
    if (text == NULL)
        return 0;
    buf_adds(&c->error, "slow: ");
    if (!value_check_against_option(&as_option, text, &c->error) ||
        units_parse_duration(text, ret_us) < 0)
        return MI_EINVAL;
    buf_clear(&c->error);
    return 0;
}

static int read_time_argument(struct tool_call *c, const char *name, int64_t *ret_us)
{
    static const struct opt as_option = {.arg = "WHEN"};
    const char *text = tool_get_text_argument(c, name);
    if (text == NULL)
        return 0;
    buf_printf(&c->error, "%s: ", name);
    if (!value_check_against_option(&as_option, text, &c->error) ||
        time_point_parse_text(text, c->now_us, ret_us) < 0)
        return MI_EINVAL;
    buf_clear(&c->error);
    return 0;
}

static int read_filter(struct tool_call *c)
{
    struct filter *f = &c->filter;
    *f = (struct filter){
        .server = tool_get_text_argument(c, "server"),
        .client = tool_get_text_argument(c, "client"),
        .project = tool_get_text_argument(c, "project"),
        .method = tool_get_text_argument(c, "method"),
        .tool = tool_get_text_argument(c, "tool"),
        .failed = tool_get_flag_argument(c, "failed"),
        .session_id = tool_get_number_argument(c, "session", 0),
        .since_us = INT64_MIN,
        .until_us = INT64_MAX,
    };
    int st = read_time_argument(c, "since", &f->since_us);
    if (st == 0)
        st = read_time_argument(c, "until", &f->until_us);
    return st < 0 ? st : read_min_duration_argument(c, &f->slow_us);
}

int tool_open(struct tool_call *c)
{
    struct query_session s;
    size_t n = c->arguments.type == JSON_OBJECT ? c->arguments.text.n : 0;
    if (n > TOOL_ARGUMENTS_MAX) {
        buf_adds(&c->error, "the arguments have more than 16 KiB");
        return MI_EINVAL;
    }
    /* enough room if the text of each argument is unescaped at most twice */
    if (!buf_reserve(&c->values, 2 * n + 1))
        return MI_ENOMEM;
    c->late_us = clock_mono_us() + TOOL_PATIENCE_US;
    c->j = json_out_to(&c->json);
    c->j.max_text = SHOWN_MAX;
    json_out_object(&c->j, NULL);
    json_out_str(&c->j, "notice", TOOL_NOTICE);
    buf_adds(&c->text, TOOL_NOTICE "\n");
    int st = read_filter(c);
    if (st == 0 && c->filter.session_id != 0)
        st = tool_find_session(c, c->filter.session_id, &s);
    return st;
}

int tool_end_result(struct tool_call *c)
{
    json_out_end(&c->j);
    return c->json.failed || c->text.failed || c->values.failed ? MI_ENOMEM : 0;
}

void tool_close(struct tool_call *c)
{
    buf_close(&c->values);
    buf_close(&c->json);
    buf_close(&c->text);
    buf_close(&c->error);
}

bool tool_should_continue(void *call)
{
    const struct tool_call *c = call;
    return c->goes_on == NULL || c->goes_on(c->ctx);
}

bool tool_page_took_too_long(const struct tool_call *c)
{
    return clock_mono_us() > c->late_us;
}

int tool_find_session(struct tool_call *c, int64_t id, struct query_session *ret)
{
    int st = query_session_by_id(c->q, id, ret);
    if (st != MI_ENOENT)
        return st;
    buf_printf(&c->error, "no session %lld is recorded; list_sessions lists the recorded sessions",
               (long long)id);
    return MI_EINVAL;
}
