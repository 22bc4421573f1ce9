#include "cli/frame/event_words.h"

#include "base/units.h"
#include "wire/json/scan.h"
#include "wire/json/text.h"

/* The words for an event. Rows are tried in order, and the first row that applies is used. A row
 * applies if `kind` is the kind of the event, if `member` (unless it is NULL) has the value `value`
 * in the detail of the event, and if the detail has all members that `words` inserts. `{seq}`
 * inserts the member seq; a member that ends in _ms is inserted as a duration. */
static const struct {
    const char *kind, *member, *value; /* if `member` is NULL, no value is compared */
    const char *words;
} events[] = {
    {"spawn", NULL, NULL, "the server was started, process {pid}"},
    {"exit", NULL, NULL, "the server exited with status {status}"},
    {"exit", NULL, NULL, "the server was ended by signal {signal}"},
    {"kill", "signal", "15", "the server was sent SIGTERM"},
    {"kill", "signal", "9", "the server was sent SIGKILL"},
    {"kill", NULL, NULL, "the server was sent signal {signal}"},
    {"timeout", "silent", "true",
     "message {seq}, {method} {target}, had no answer within {waited_ms}; the server was silent"},
    {"timeout", "silent", "true",
     "message {seq}, {method}, had no answer within {waited_ms}; the server was silent"},
    {"timeout", NULL, NULL, "message {seq}, {method} {target}, had no answer within {waited_ms}"},
    {"timeout", NULL, NULL, "message {seq}, {method}, had no answer within {waited_ms}"},
    {"asked", NULL, NULL,
     "the server has been silent for {waited_ms} since message {seq}: message {question} asks "
     "whether it is alive"},
    {"alive", "because", "message",
     "the server is not killed: it answered the question whether it is alive"},
    {"alive", "because", "at-work", "the server is not killed: its child processes use the CPU"},
    {"alive", "because", "starting", "the server is not killed: it is starting"},
    {"hang", NULL, NULL,
     "the server hangs and is killed: it was silent for {waited_ms} after message {seq}"},
    {"imported", NULL, NULL, "the recording was imported; its digest is {digest}"},
    {"escalation", NULL, NULL, "a person is needed ({cause}): see {path} in the vault"},
    {"restart", NULL, NULL, "the server is restarted after {delay_ms}, attempt {attempt}"},
    {"resent", NULL, NULL, "message {seq} is sent again, to the new process"},
    {"repaired", NULL, NULL, "message {seq} was repaired: {finding} at byte {offset}"},
    {"restart-changed", NULL, NULL,
     "the new process answered initialize differently: the session ends"},
    {"sent", "request", "new", "`mcp-interposer send` started the server to send a new request"},
    {"sent", NULL, NULL,
     "`mcp-interposer send` started the server to send the recorded request {request}"},
    {"client", NULL, NULL, "another client sends requests on this pipe: {name} {version}"},
    {"tool-changed", NULL, NULL, "the tools differ from those of session {before}: {tools}"},
    {"tool-changed", NULL, NULL, "the tools have changed: {tools}"},
    {"tools-hidden", NULL, NULL,
     "{hidden_n} of {listed_n} tools in message {seq} are hidden from the client: {hidden}"},
    {"tools-rule", NULL, NULL,
     "the rule hides {hidden} of {listed} tools of the server, and these patterns match no tool: "
     "{unmatched}"},
    {"repeat", "decision", "forwarded",
     "message {seq} was forwarded: it repeats the call {tool} of message {first}, which may have "
     "run"},
    {"repeat", "decision", "insisted",
     "message {seq} was forwarded, because an earlier repeat was refused: it repeats the call "
     "{tool} of message {first}, which may have run"},
    {"repeat", "decision", "answered",
     "message {seq} was answered with the late answer to message {first}: it repeats the call "
     "{tool} of that message, which may have run"},
    {"repeat", "decision", "refused",
     "message {seq} was refused: it repeats the call {tool} of message {first}, which may have "
     "run"},
    {"repeats-full", NULL, NULL,
     "too many calls may have run without an answer: repeats of the oldest ones are not noticed"},
    {"unfinished-line", NULL, NULL,
     "{bytes} bytes of a line arrived from the {from}, and nothing more for 5 seconds"},
    {"gap", "reason", "vault removed",
     "rows are missing: earlier rows were in a vault that no longer exists"},
    {"gap", "reason", "database damaged",
     "rows are missing: earlier rows were in a damaged database that was put aside"},
    {"gap", "reason", "damaged",
     "rows are missing: the journal was damaged, and its rows after the damage could not be read"},
    {"gap", NULL, NULL,
     "{lost} rows are missing, between messages {first_seq} and {last_seq}: {reason}"},
    {"gap", NULL, NULL, "{lost} rows are missing: {reason}"},
    {"gap", NULL, NULL, "rows are missing: {reason}"},
    {"unrecordable", NULL, NULL,
     "message {seq} is stored without its body: the recorder died {kills} times while storing the "
     "body"},
    {"unrecordable", NULL, NULL,
     "a row is missing: the recorder died {kills} times while storing the row"},
    {"finding-added", NULL, NULL, "message {seq} has another finding: {finding}"},
};

static struct slice get_member_value_text(struct json_value v)
{
    return v.type == JSON_STRING ? json_string_raw(v) : v.text;
}

/* Appends the elements of a list, such as "search new, fetch gone". Of an element that is an
 * object, only the values of its members are written. */
static void event_words_add_list(struct buf *b, struct json_value list)
{
    struct slice key;
    struct json_value item, value;
    const char *gap = "";
    for (struct json_walk w = json_walk_begin(list); json_walk_next(&w, &key, &item);) {
        buf_adds(b, gap);
        gap = ", ";
        if (item.type != JSON_OBJECT) {
            buf_slice_add(b, get_member_value_text(item));
            continue;
        }
        const char *blank = "";
        for (struct json_walk o = json_walk_begin(item); json_walk_next(&o, &key, &value);) {
            buf_adds(b, blank);
            buf_slice_add(b, get_member_value_text(value));
            blank = " ";
        }
    }
}

/* Appends `words`, and inserts members of the event's detail for names in braces. Returns false if
 * the detail lacks such a member. */
static bool append_words_and_fill_in_members(struct buf *b, const char *words,
                                             struct json_value detail)
{
    for (const char *open; (open = strchr(words, '{')) != NULL;) {
        const char *close = strchr(open, '}');
        struct slice name = {open + 1, (size_t)(close - open) - 1};
        struct json_value v = json_get_by_raw_name(detail, name);
        bool is_time = name.n > 3 && memcmp(close - 3, "_ms", 3) == 0;
        int64_t ms;
        if (v.type == JSON_NONE)
            return false;
        buf_add(b, words, (size_t)(open - words));
        if (is_time && json_int(v, &ms) && ms >= 0 && ms <= INT64_MAX / 1000)
            units_show_duration(b, ms * 1000);
        else if (v.type == JSON_ARRAY)
            event_words_add_list(b, v);
        else
            buf_slice_add(b, get_member_value_text(v));
        words = close + 1;
    }
    buf_adds(b, words);
    return true;
}

/* Returns the detail as an object; type JSON_NONE if the detail is not an object. */
static struct json_value parse_detail_object(struct slice detail)
{
    struct json_scan scan;
    if (detail.p == NULL || json_scan(detail, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return (struct json_value){0};
    return (struct json_value){scan.type, scan.root};
}

static void add_members(struct buf *b, struct slice detail)
{
    struct json_value members = parse_detail_object(detail), v;
    struct slice key;
    const char *gap = "";
    if (members.type == JSON_NONE) {
        if (detail.p != NULL)
            buf_slice_add(b, detail);
        return;
    }
    for (struct json_walk w = json_walk_begin(members); json_walk_next(&w, &key, &v);) {
        buf_adds(b, gap);
        buf_slice_add(b, key);
        buf_addc(b, '=');
        buf_slice_add(b, get_member_value_text(v));
        gap = " ";
    }
}

void event_words_append_event(struct buf *b, struct slice kind, struct slice detail)
{
    struct json_value members = parse_detail_object(detail);
    size_t from = b->n;
    for (size_t i = 0; i < MI_COUNT(events); i++) {
        const char *member = events[i].member;
        if (!slice_is(kind, events[i].kind) ||
            (member != NULL &&
             !slice_is(get_member_value_text(json_get(members, member)), events[i].value)))
            continue;
        if (append_words_and_fill_in_members(b, events[i].words, members))
            return;
        b->n = from;
    }
    add_members(b, detail);
}
