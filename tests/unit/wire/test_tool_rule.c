/* Which tools a rule keeps, what is cut out of a list, and which calls name one tool. */
#include "wire/mcp/tool_rule.h"

#include "tests/support/unit.h"
#include "wire/json/text.h"
#include "wire/mcp/tool_call.h"

/* ---- the rule ---- */

static const struct {
    const char *tools, *hide, *text;
    bool read_only;
} valid[] = {
    {"a", NULL, "tools = a", false},
    {" a ,b*,\tc?d ", NULL, "tools = a, b*, c?d", false},
    {NULL, "x", "hide-tools = x", false},
    {"a", "x,y", "tools = a; hide-tools = x, y", false},
    {"a", "x", "tools = a; hide-tools = x; read-only", true},
    {NULL, NULL, "read-only", true},
    {"\xC3\xA4*", NULL, "tools = \xC3\xA4*", false},
};

static void test_tool_rule_text_is_read_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(valid); i++) {
        struct tool_rule a, b;
        struct buf why = {0};
        assert_int_equal(
            tool_rule_open(&a, valid[i].tools, valid[i].hide, valid[i].read_only, &why), 0);
        assert_string_equal(buf_str(&a.text), valid[i].text);
        assert_int_equal(tool_rule_read(&b, buf_slice(&a.text), &why), 0);
        assert_string_equal(buf_str(&b.text), valid[i].text);
        assert_int_equal(b.n, a.n);
        assert_int_equal(b.keeps, valid[i].tools != NULL);
        assert_int_equal(b.read_only, valid[i].read_only);
        assert_int_equal(why.n, 0);
        tool_rule_close(&a);
        tool_rule_close(&b);
    }
}

static const struct {
    const char *list, *why;
} invalid[] = {
    {"",
     "a name is missing: expected names or globs separated by commas, such as list_*, get_issue"},
    {"a,,b",
     "a name is missing: expected names or globs separated by commas, such as list_*, get_issue"},
    {"a,",
     "a name is missing: expected names or globs separated by commas, such as list_*, get_issue"},
    {"a b", "'a b' contains a blank: separate names by commas, or use ? for the blank"},
    {"a;b", "'a;b' contains a semicolon: use ? in its place"},
    {"a[bc]", "'a[bc]' contains a bracket: globs have only * and ?"},
    {"a\x01", "'a\\x01' contains a control character: use ? in its place"},
    {"a\xFF", "'a\\xff' is not UTF-8"},
};

static void test_tool_rule_invalid_list_says_why(void **state)
{
    (void)state;
    struct tool_rule r;
    struct buf why = {0}, many = {0};
    for (size_t i = 0; i < MI_COUNT(invalid); i++) {
        buf_clear(&why);
        assert_int_equal(tool_rule_check_patterns(invalid[i].list, &why), MI_EINVAL);
        assert_string_equal(buf_str(&why), invalid[i].why);
    }
    for (int i = 0; i <= TOOL_RULE_PATTERNS_MAX; i++)
        buf_printf(&many, "%st%d", i > 0 ? "," : "", i);
    buf_clear(&why);
    assert_int_equal(tool_rule_check_patterns(buf_str(&many), &why), MI_EINVAL);
    assert_string_equal(buf_str(&why),
                        "the rule is longer than 1024 names or 32768 bytes: use globs");
    buf_clear(&why);
    buf_clear(&many);
    for (int i = 0; i <= TOOL_RULE_GLOBS_MAX; i++)
        buf_printf(&many, "%st%d*", i > 0 ? "," : "", i);
    assert_int_equal(tool_rule_check_patterns(buf_str(&many), &why), MI_EINVAL);
    assert_string_equal(buf_str(&why),
                        "the rule has more than 100 globs: use names, or fewer globs");
    buf_clear(&why);
    buf_clear(&many);
    for (int i = 0; i < TOOL_RULE_GLOB_MAX; i++)
        buf_addc(&many, 'g');
    buf_addc(&many, '*');
    assert_int_equal(tool_rule_check_patterns(buf_str(&many), &why), MI_EINVAL);
    assert_non_null(strstr(buf_str(&why), "is longer than 256 bytes"));
    buf_clear(&why);
    assert_int_equal(tool_rule_read(&r, slice_of("get_*, !drop"), &why), MI_EINVAL);
    assert_string_equal(buf_str(&why),
                        "'get_*, !drop' is not `tools = …`, `hide-tools = …` or `read-only`");
    tool_rule_close(&r);
    buf_close(&many);
    buf_close(&why);
}

/* A list of n patterns that end with `text`; the last one is extended until the list has so many bytes. */
static int check_many(int n, const char *text, size_t bytes)
{
    struct buf list = {0}, why = {0};
    for (int i = 0; i < n; i++)
        buf_printf(&list, "%st%d%s", i > 0 ? "," : "", i, text);
    while (list.n < bytes)
        buf_addc(&list, 'x');
    assert_false(list.failed);
    int st = tool_rule_check_patterns(buf_str(&list), &why);
    buf_close(&list);
    buf_close(&why);
    return st;
}

static void test_tool_rule_limits_are_reached_and_not_exceeded(void **state)
{
    (void)state;
    size_t text = TOOL_RULE_TEXT_MAX - strlen("tools = ") - 2;
    assert_int_equal(check_many(TOOL_RULE_PATTERNS_MAX, "", 0), 0);
    assert_int_equal(check_many(TOOL_RULE_PATTERNS_MAX + 1, "", 0), MI_EINVAL);
    assert_int_equal(check_many(TOOL_RULE_GLOBS_MAX, "?", 0), 0);
    assert_int_equal(check_many(TOOL_RULE_GLOBS_MAX + 1, "?", 0), MI_EINVAL);
    assert_int_equal(check_many(1, "?", TOOL_RULE_GLOB_MAX), 0);
    assert_int_equal(check_many(1, "?", TOOL_RULE_GLOB_MAX + 1), MI_EINVAL);
    assert_int_equal(check_many(1, "", text), 0);
    assert_int_equal(check_many(1, "", text + 1), MI_EINVAL);
}

static const struct {
    const char *tools, *hide, *name;
    bool kept;
} names[] = {
    {"a", NULL, "a", true},
    {"a", NULL, "A", false},
    {"a", NULL, "ab", false},
    {"a", NULL, "", false},
    {"a*", NULL, "a", true},
    {"a*c", NULL, "abbbc", true},
    {"a*c", NULL, "abbbcd", false},
    {"*", NULL, "", true},
    {"*", NULL, "\n", true},
    {"a?c", NULL,
     "a\xC3\xA4"
     "c",
     true},
    {"a?c", NULL, "ac", false},
    {"*b*b", NULL, "abab", true},
    {"*b*b", NULL, "ab", false},
    {"**a", NULL, "bba", true},
    {"a,b", NULL, "b", true},
    {"a", "a", "a", false},
    {"*", "d*", "drop", false},
    {"*", "d*", "read", true},
    {NULL, "drop", "drop", false},
    {NULL, "drop", "drops", true},
    {NULL, "*_drop,x", "y_drop", false},
    {"\xC3\xA4", NULL, "a\xCC\x88", false}, /* another form */
};

static void test_tool_rule_keeps_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct tool_rule r;
        struct buf why = {0};
        assert_int_equal(tool_rule_open(&r, names[i].tools, names[i].hide, false, &why), 0);
        bool kept = tool_rule_allows_name(&r, slice_of(names[i].name));
        if (kept != names[i].kept)
            fail_msg("row %zu: '%s'", i, names[i].name);
        tool_rule_close(&r);
    }
}

/* ---- lists ---- */

#define T(name) "{\"name\":\"" name "\"}"
#define READS(name) "{\"name\":\"" name "\",\"annotations\":{\"readOnlyHint\":true}}"

static const struct {
    const char *tools, *hide;
    bool read_only;
    const char *result, *cut;
} lists[] = {
    /* each position */
    {NULL, "h*", false, "{\"tools\":[" T("h") "," T("a") "," T("b") "]}",
     "{\"tools\":[" T("a") "," T("b") "]}"},
    {NULL, "h*", false, "{\"tools\":[" T("a") "," T("h") "," T("b") "]}",
     "{\"tools\":[" T("a") "," T("b") "]}"},
    {NULL, "h*", false, "{\"tools\":[" T("a") "," T("b") "," T("h") "]}",
     "{\"tools\":[" T("a") "," T("b") "]}"},
    {NULL, "h*", false, "{\"tools\":[" T("h") "," T("h2") "," T("b") "]}",
     "{\"tools\":[" T("b") "]}"},
    {NULL, "h*", false, "{\"tools\":[" T("h") "," T("b") "," T("h2") "]}",
     "{\"tools\":[" T("b") "]}"},
    {NULL, "h*", false, "{\"tools\":[" T("h") "," T("h") "]}", "{\"tools\":[]}"},
    {NULL, "h*", false, "{\"tools\":[" T("a") "," T("b") "]}", NULL},
    {NULL, "h*", false, "{\"tools\":[]}", NULL},
    /* every other byte stays */
    {NULL, "h", false,
     " { \"tools\" : [ " T("h") " , " T("a") " , " T(
         "h") " ] , \"nextCursor\" : \"n\" , \"_meta\" : { } } ",
     " { \"tools\" : [   " T("a") "   ] , \"nextCursor\" : \"n\" , \"_meta\" : { } } "},
    {NULL, "h", false, "{\"tools\":[\r\n\t" T("a") "\t,\r\n" T("h") "\n]}",
     "{\"tools\":[\r\n\t" T("a") "\t\r\n\n]}"},
    {NULL, "h", false,
     "{\"x\":{\"tools\":[" T("h") "]},\"tools\":[" T("a") "],\"y\":[{\"tools\":[" T("h") "]}]}",
     NULL},
    {NULL, "h", false, "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"tools\":[" T("h") "]}}]}",
     NULL},
    /* names are compared without escapes */
    {NULL, "hide", false, "{\"tools\":[" T("h\\u0069de") "," T("hid\\u0065\\u0000") "]}",
     "{\"tools\":[" T("hid\\u0065\\u0000") "]}"},
    {"a", NULL, false, "{\"t\\u006fols\":[" T("\\u0061") "," T("b") "]}",
     "{\"t\\u006fols\":[" T("\\u0061") "]}"},
    {"a\xC3\xA4", NULL, false, "{\"tools\":[" T("a\\u00e4") "," T("a\\u00E5") "]}",
     "{\"tools\":[" T("a\\u00e4") "]}"},
    /* readers differ: each reading counts */
    {NULL, "h", false,
     "{\"tools\":[{\"name\":\"h\",\"name\":\"a\"},{\"name\":\"a\",\"Name\":\"h\"}," T("b") "]}",
     "{\"tools\":[" T("b") "]}"},
    {NULL, "h", false,
     "{\"Tools\":[" T("h") "],\"tools\":[" T("h") "],\"tool\\u017f\":[" T("h") "]}",
     "{\"Tools\":[],\"tools\":[],\"tool\\u017f\":[]}"},
    {NULL, "h", false, "{\"tools\":[" T("h") "],\"tools\":[" T("a") "," T("h") "]}",
     "{\"tools\":[],\"tools\":[" T("a") "]}"},
    /* definitions without a name */
    {"a", NULL, false, "{\"tools\":[1,null,{},{\"name\":7},\"a\",[" T("a") "]," T("a") "]}",
     "{\"tools\":[" T("a") "]}"},
    {NULL, "a", false, "{\"tools\":[1,null,{},{\"name\":7},\"a\",[" T("a") "]," T("a") "]}",
     "{\"tools\":[1,null,{},{\"name\":7},\"a\",[" T("a") "]]}"},
    /* hints */
    {NULL, NULL, true, "{\"tools\":[" READS("a") "," T("b") "]}", "{\"tools\":[" READS("a") "]}"},
    {"b", NULL, true, "{\"tools\":[" READS("a") "," T("b") "," READS("b") "]}",
     "{\"tools\":[" READS("b") "]}"},
    {NULL, NULL, true,
     "{\"tools\":[{\"name\":\"a\",\"annotations\":{\"readOnlyHint\":true,\"readOnlyHint\":false}},"
     "{\"name\":\"b\",\"annotations\":{\"readOnlyHint\":true},\"annotations\":{}},"
     "{\"name\":\"c\",\"annotations\":{\"readOnlyHint\":\"true\"}},"
     "{\"name\":\"d\",\"annotations\":{\"ReadOnlyHint\":true,\"readonlyhint\":1}},"
     "{\"name\":\"e\",\"annotations\":null},{\"name\":\"f\",\"readOnlyHint\":true}]}",
     "{\"tools\":[]}"},
    /* not lists */
    {"a", NULL, false, "{\"tools\":{\"name\":\"h\"}}", NULL},
    {"a", NULL, false, "[]", NULL},
    {"a", NULL, false, "null", NULL},
};

static void test_tool_rule_cuts_members_and_commas_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(lists); i++) {
        struct tool_rule r;
        struct buf why = {0};
        struct changes c = {0};
        struct tool_cut cut;
        size_t n = strlen(lists[i].result);
        char *copy = unit_copy(lists[i].result, n);
        const char *p = copy;
        while (*p == ' ')
            p++;
        struct json_value v = {*p == '{'   ? JSON_OBJECT
                               : *p == '[' ? JSON_ARRAY
                                           : JSON_NULL,
                               {p, n - (size_t)(p - copy)}};
        struct slice all = {copy, n};
        assert_int_equal(
            tool_rule_open(&r, lists[i].tools, lists[i].hide, lists[i].read_only, &why), 0);
        assert_int_equal(tool_rule_remove_tools(&r, v, &c, &cut, NULL, NULL), 0);
        size_t size = changes_compute_changed_size(&c, all);
        char *out = malloc(size + 1);
        assert_non_null(out);
        changes_apply_to_text(&c, all, out);
        out[size] = '\0';
        assert_string_equal(out, lists[i].cut != NULL ? lists[i].cut : lists[i].result);
        assert_int_equal(c.n > 0, cut.hidden > 0);
        assert_int_equal(c.n > 0, lists[i].cut != NULL);
        free(out);
        free(copy);
        changes_close(&c);
        tool_rule_close(&r);
    }
}

static void test_tool_rule_long_names_and_many_tools(void **state)
{
    (void)state;
    struct tool_rule r;
    struct buf why = {0}, list = {0}, name = {0};
    struct changes c = {0};
    struct tool_cut cut;
    for (int i = 0; i < TOOL_RULE_NAME_MAX; i++)
        buf_addc(&name, 'n');
    buf_printf(&list, "{\"tools\":[{\"name\":\"%s\"}", buf_str(&name));
    for (int i = 0; i < 20000; i++)
        buf_printf(&list, ",{\"name\":\"tool-%d\"}", i);
    buf_adds(&list, "]}");
    assert_int_equal(tool_rule_open(&r, "n*n,tool-7", NULL, false, &why), 0);
    assert_int_equal(tool_rule_remove_tools(&r, (struct json_value){JSON_OBJECT, buf_slice(&list)},
                                            &c, &cut, NULL, NULL),
                     0);
    assert_int_equal(cut.listed, 20001);
    assert_int_equal(cut.hidden, 19999);
    assert_int_equal(changes_compute_changed_size(&c, buf_slice(&list)),
                     strlen("{\"tools\":[{\"name\":\"\"},{\"name\":\"tool-7\"}]}") +
                         TOOL_RULE_NAME_MAX);
    changes_close(&c);
    buf_addc(&name, 'n'); /* one more byte: never kept, by whatever rule */
    assert_false(tool_rule_allows_name(&r, buf_slice(&name)));
    tool_rule_close(&r);
    assert_int_equal(tool_rule_open(&r, NULL, "h", false, &why), 0);
    assert_false(tool_rule_allows_name(&r, buf_slice(&name)));
    tool_rule_close(&r);
    buf_close(&list);
    buf_close(&name);
}

static void test_tool_rule_unmatched_names_are_known_after_a_list(void **state)
{
    (void)state;
    static const char list[] = "{\"tools\":[" T("a") "," T("b1") "]}";
    struct tool_rule r;
    struct buf why = {0};
    struct changes c = {0};
    struct tool_cut cut;
    struct slice s;
    size_t at = 0;
    assert_int_equal(tool_rule_open(&r, "a,c,b?", "d*", false, &why), 0);
    assert_int_equal(tool_rule_remove_tools(&r, (struct json_value){JSON_OBJECT, slice_of(list)},
                                            &c, &cut, NULL, NULL),
                     0);
    assert_true(tool_rule_next_unmatched_pattern(&r, &at, &s) && slice_is(s, "c"));
    assert_true(tool_rule_next_unmatched_pattern(&r, &at, &s) && slice_is(s, "d*"));
    assert_false(tool_rule_next_unmatched_pattern(&r, &at, &s));
    changes_close(&c);
    tool_rule_close(&r);
}

/* ---- calls ---- */

#define LONG                                                                                       \
    "01234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901" \
    "23456789"

static const struct {
    const char *params, *name, *fault;
} calls[] = {
    {"{\"name\":\"a\"}", "a", NULL},
    {"{\"arguments\":{\"name\":\"h\",\"Name\":1},\"name\":\"\\u0061\\n\"}", "a\n", NULL},
    {"{\"n\\u0061me\":\"a\"}", "a", NULL},
    {"{\"named\":\"h\",\"nam\":\"h\",\"name\":\"a\"}", "a", NULL},
    {"{\"name\":\"\"}", "", NULL},
    {"{}", NULL, "the params have no `name`"},
    {"[\"a\"]", NULL, "the params are not an object"},
    {"{\"name\":\"a\",\"name\":\"a\"}", NULL, "the params have several members `name`"},
    {"{\"name\":\"a\",\"n\\u0061me\":\"h\"}", NULL, "the params have several members `name`"},
    {"{\"name\":\"a\",\"Name\":\"h\"}", NULL,
     "a member of the params differs from `name` only in case or by a NUL"},
    {"{\"NAM\\u0045\":\"h\"}", NULL,
     "a member of the params differs from `name` only in case or by a NUL"},
    {"{\"name\\u0000\":\"h\",\"name\":\"a\"}", NULL,
     "a member of the params differs from `name` only in case or by a NUL"},
    {"{\"name\":\"a\",\"n\\u0061me\\u0000" LONG "\":\"h\"}", NULL,
     "a member of the params differs from `name` only in case or by a NUL"},
    {"{\"name\":\"a\",\"name\\\\u0000\":\"h\"}", "a", NULL},
    {"{\"name\":7}", NULL, "`name` is not a string"},
    {"{\"name\":\"h\\u0000\"}", NULL, "`name` contains a NUL character"},
    {"{\"name\":\"\\ud800\"}", NULL, "`name` contains a lone surrogate or U+FFFD"},
    {"{\"name\":\"h\\ud800\"}", NULL, "`name` contains a lone surrogate or U+FFFD"},
};

/* What the rule says of a message, as a fault; NULL: it is not ambiguous. */
static const char *fault_of(const char *message, struct buf *name)
{
    struct tool_rule r;
    struct buf why = {0};
    struct rpc m;
    const char *fault;
    size_t n = strlen(message);
    char *copy = unit_copy(message, n);
    assert_int_equal(tool_rule_open(&r, NULL, "h", false, &why), 0);
    assert_int_equal(rpc_read((struct slice){copy, n}, &m), 0);
    buf_clear(name);
    enum tool_verdict v = tool_call_get_verdict(&r, NULL, &m, name, &fault);
    assert_int_equal(v == TOOL_CALL_AMBIGUOUS, fault != NULL);
    if (v == TOOL_CALL_AMBIGUOUS)
        assert_int_equal(tool_call_finding_of_verdict(v), FIND_AMBIGUOUS_CALL);
    else
        assert_int_equal(v == TOOL_CALL_HIDDEN, slice_is(buf_slice(name), "h"));
    tool_rule_close(&r);
    free(copy);
    return fault;
}

static void test_tool_rule_call_names_one_tool(void **state)
{
    (void)state;
    struct buf name = {0}, message = {0};
    for (size_t i = 0; i < MI_COUNT(calls); i++) {
        buf_clear(&message);
        buf_printf(&message,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}",
                   calls[i].params);
        const char *fault = fault_of(buf_str(&message), &name);
        if (calls[i].fault != NULL)
            assert_string_equal(fault, calls[i].fault);
        else
            assert_null(fault);
        if (calls[i].fault == NULL)
            assert_true(slice_is(buf_slice(&name), calls[i].name));
    }
    assert_non_null(fault_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", &name));
    buf_close(&name);
    buf_close(&message);
}

static const struct {
    const char *message, *fault;
} messages[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
     "call\",\"params\":{\"name\":\"a\",\"Method\":1}}",
     NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"Method\":\"tools/call\"}",
     "a member differs from `method` only in case or by a NUL"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"param\\u017f\":{}}",
     "a member differs from `params` only in case or by a NUL"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"PARAMS\":{}}",
     "a member differs from `params` only in case or by a NUL"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\\u0000\":\"tools/call\"}",
     "a member differs from `method` only in case or by a NUL"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"METHOD\":\"tools/call\"}",
     "a member differs from `method` only in case or by a NUL"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\\u0000x\"}",
     "the method contains a NUL character"},
};

static void test_tool_rule_message_has_one_reading(void **state)
{
    (void)state;
    struct buf name = {0};
    for (size_t i = 0; i < MI_COUNT(messages); i++) {
        const char *fault = fault_of(messages[i].message, &name);
        if (messages[i].fault != NULL)
            assert_string_equal(fault, messages[i].fault);
        else
            assert_null(fault);
    }
    buf_close(&name);
}

static void test_tool_rule_hints_decide_with_read_only(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum tool_verdict whole, part;
    } of[] = {{"r", TOOL_CALL_KEPT, TOOL_CALL_KEPT},
              {"w", TOOL_CALL_WRITES, TOOL_CALL_WRITES},
              {"x", TOOL_CALL_UNLISTED, TOOL_CALL_UNKNOWN}};
    struct buf why = {0}, name = {0}, message = {0};
    for (int part = 0; part < 2; part++) {
        struct tool_rule r;
        struct tool_hints h = {0};
        const char *fault;
        assert_int_equal(tool_rule_open(&r, NULL, NULL, true, &why), 0);
        assert_true(tool_hints_begin_page(&h, 0, part ? 7 : 0));
        tool_hints_add(&h, slice_of("r"), true);
        tool_hints_add(&h, slice_of("w"), false);
        for (size_t i = 0; i < MI_COUNT(of); i++) {
            struct rpc m;
            buf_clear(&message);
            buf_printf(&message,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                       "call\",\"params\":{\"name\":\"%s\"}}",
                       of[i].name);
            assert_int_equal(rpc_read(buf_slice(&message), &m), 0);
            assert_int_equal(tool_call_get_verdict(&r, &h, &m, &name, &fault),
                             part ? of[i].part : of[i].whole);
        }
        tool_hints_clear(&h);
        tool_rule_close(&r);
    }
    buf_close(&why);
    buf_close(&name);
    buf_close(&message);
}

#define MARKED                                                                                     \
    "mcp-interposer forwards only calls of tools that the server marks readOnlyHint, and the "     \
    "server's list of tools is not known: "

static const struct {
    enum tool_verdict verdict;
    const char *name, *failure, *why;
    enum finding finding;
} refusals[] = {
    {TOOL_CALL_AMBIGUOUS, "", "",
     "ambiguous message: programs may read different tool names from this message: FAULT",
     FIND_AMBIGUOUS_CALL},
    {TOOL_CALL_HIDDEN, "x\n", "",
     "unknown tool 'x\\n': the tool is hidden by the rule of mcp-interposer: tools = a; read-only",
     FIND_TOOL_HIDDEN},
    {TOOL_CALL_WRITES, "x", "",
     "unknown tool 'x': the tool is hidden by the rule of mcp-interposer, because the server does "
     "not "
     "mark it readOnlyHint: tools = a; read-only",
     FIND_TOOL_HIDDEN},
    {TOOL_CALL_UNLISTED, "x", "",
     "unknown tool 'x': the tool is not in the server's list of tools, and the rule of "
     "mcp-interposer "
     "allows only those marked readOnlyHint: tools = a; read-only",
     FIND_TOOL_UNLISTED},
    {TOOL_CALL_UNKNOWN, "x", "",
     "tool 'x' was not called: " MARKED "the server cannot be asked for the list",
     FIND_TOOL_UNLISTED},
    {TOOL_CALL_UNKNOWN, "x", "because", "tool 'x' was not called: " MARKED "because",
     FIND_TOOL_UNLISTED},
};

static void test_tool_rule_refusal_says_why(void **state)
{
    (void)state;
    struct tool_rule r;
    struct buf why = {0}, name = {0};
    assert_int_equal(tool_rule_open(&r, "a", NULL, true, &why), 0);
    for (size_t i = 0; i < MI_COUNT(refusals); i++) {
        buf_clear(&why);
        tool_call_explain_refusal(&r, refusals[i].verdict, "FAULT", slice_of(refusals[i].name),
                          refusals[i].failure, &why);
        assert_string_equal(buf_str(&why), refusals[i].why);
        assert_int_equal(tool_call_finding_of_verdict(refusals[i].verdict), refusals[i].finding);
    }
    tool_rule_close(&r);
    for (int i = 0; i < 2000; i++) /* a long name and a long rule are truncated */
        buf_addc(&name, 'n');
    assert_int_equal(tool_rule_open(&r, buf_str(&name), NULL, false, &why), 0);
    buf_clear(&why);
    tool_call_explain_refusal(&r, TOOL_CALL_HIDDEN, NULL, buf_slice(&name), "", &why);
    assert_non_null(strstr(buf_str(&why), "nnn…': the tool is hidden"));
    assert_true(why.n < 600 && strcmp(buf_str(&why) + why.n - strlen("n…"), "n…") == 0);
    tool_rule_close(&r);
    buf_close(&name);
    buf_close(&why);
}

/* ---- hints ---- */

static void test_tool_hints_need_the_whole_list(void **state)
{
    (void)state;
    struct tool_hints h = {0};
    assert_int_equal(tool_hints_get(&h, slice_of("a")), TOOL_HINT_UNKNOWN);
    assert_true(tool_hints_begin_page(&h, 0, 7));
    tool_hints_add(&h, slice_of("a"), true);
    tool_hints_add(&h, slice_of("b"), false);
    assert_int_equal(tool_hints_get(&h, slice_of("a")), TOOL_HINT_READS);
    assert_int_equal(tool_hints_get(&h, slice_of("b")), TOOL_HINT_WRITES);
    assert_int_equal(tool_hints_get(&h, slice_of("c")), TOOL_HINT_UNKNOWN);
    assert_false(tool_hints_begin_page(&h, 8, 0)); /* of another list */
    assert_true(tool_hints_begin_page(&h, 7, 0));
    tool_hints_add(&h, slice_of("a"), false); /* there twice */
    tool_hints_add(&h, slice_of("b"), true);
    assert_int_equal(tool_hints_get(&h, slice_of("a")), TOOL_HINT_WRITES);
    assert_int_equal(tool_hints_get(&h, slice_of("b")), TOOL_HINT_WRITES);
    assert_int_equal(tool_hints_get(&h, slice_of("c")), TOOL_HINT_ABSENT);
    assert_true(tool_hints_begin_page(&h, 0, 0)); /* a new list */
    assert_int_equal(tool_hints_get(&h, slice_of("a")), TOOL_HINT_ABSENT);
    tool_hints_clear(&h);
    assert_int_equal(tool_hints_get(&h, slice_of("a")), TOOL_HINT_UNKNOWN);
}

static void test_tool_hints_too_many_names_are_never_whole(void **state)
{
    (void)state;
    struct tool_hints h = {0};
    char name[32];
    assert_true(tool_hints_begin_page(&h, 0, 0));
    for (int i = 0; i <= TOOL_HINTS_MAX; i++) {
        int n = snprintf(name, sizeof name, "t%d", i);
        tool_hints_add(&h, (struct slice){name, (size_t)n}, true);
    }
    assert_true(h.overflow);
    assert_int_equal(tool_hints_get(&h, slice_of("t5")), TOOL_HINT_READS);
    assert_int_equal(tool_hints_get(&h, slice_of("x")), TOOL_HINT_UNKNOWN);
    tool_hints_clear(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tool_rule_text_is_read_again),
        cmocka_unit_test(test_tool_rule_invalid_list_says_why),
        cmocka_unit_test(test_tool_rule_limits_are_reached_and_not_exceeded),
        cmocka_unit_test(test_tool_rule_keeps_name),
        cmocka_unit_test(test_tool_rule_cuts_members_and_commas_only),
        cmocka_unit_test(test_tool_rule_long_names_and_many_tools),
        cmocka_unit_test(test_tool_rule_unmatched_names_are_known_after_a_list),
        cmocka_unit_test(test_tool_rule_call_names_one_tool),
        cmocka_unit_test(test_tool_rule_message_has_one_reading),
        cmocka_unit_test(test_tool_rule_hints_decide_with_read_only),
        cmocka_unit_test(test_tool_rule_refusal_says_why),
        cmocka_unit_test(test_tool_hints_need_the_whole_list),
        cmocka_unit_test(test_tool_hints_too_many_names_are_never_whole),
    };
    return cmocka_run_group_tests_name("tool_rule", tests, NULL, NULL);
}
