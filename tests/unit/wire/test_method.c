/* The table of methods, compared with the JSON Schemas of the five revisions (tests/mcp-schema). */
#include "wire/mcp/method.h"

#include "tests/support/unit.h"
#include "wire/json/text.h"

#include <stdio.h>

static struct buf files[REV_COUNT];

static struct json_value schema(enum revision r)
{
    struct buf *b = &files[r];
    if (b->n == 0) {
        char name[80], part[65536];
        snprintf(name, sizeof name, "tests/mcp-schema/%s.json", revision_name(r));
        FILE *f = fopen(name, "r");
        if (f == NULL)
            fail_msg("cannot open %s; run this test in the top folder", name);
        for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
            buf_add(b, part, n);
        fclose(f);
        struct json_scan scan;
        assert_int_equal(json_scan(buf_slice(b), NULL, NULL, &scan), 0);
    }
    struct slice text = buf_slice(b);
    return (struct json_value){JSON_OBJECT, text};
}

static struct json_value definition(enum revision r, struct slice name)
{
    char text[80];
    struct json_value all = json_get(schema(r), r >= REV_2025_11_25 ? "$defs" : "definitions");
    snprintf(text, sizeof text, "%.*s", (int)name.n, name.p);
    return json_get(all, text);
}

/* The target of a `$ref`, or the value itself. */
static struct json_value follow(enum revision r, struct json_value v)
{
    struct slice ref = json_string_raw(json_get(v, "$ref"));
    if (ref.p == NULL)
        return v;
    const char *slash = memrchr(ref.p, '/', ref.n);
    return definition(r, (struct slice){slash + 1, (size_t)(ref.p + ref.n - slash) - 1});
}

static bool holds(struct json_value array, const char *word)
{
    struct slice key;
    struct json_value v;
    for (struct json_walk w = json_walk_begin(array); json_walk_next(&w, &key, &v);)
        if (json_key_is(json_string_raw(v), word))
            return true;
    return false;
}

static struct json_value property(struct json_value s, const char *name)
{
    return json_get(json_get(s, "properties"), name);
}

typedef void (*each_fn)(enum revision r, struct json_value definition, void *ctx);

/* The messages that one side may send: a list of references, or a single one. */
static void each_message(enum revision r, const char *list, each_fn fn, void *ctx)
{
    struct slice key;
    struct json_value one, root = definition(r, slice_of(list));
    struct json_value any = json_get(root, "anyOf");
    if (root.type == JSON_NONE)
        return;
    if (any.type != JSON_ARRAY) {
        fn(r, follow(r, root), ctx);
        return;
    }
    for (struct json_walk w = json_walk_begin(any); json_walk_next(&w, &key, &one);)
        fn(r, follow(r, one), ctx);
}

static const struct {
    const char *list;
    bool client, request;
} lists[] = {
    {"ClientRequest", true, true},
    {"ClientNotification", true, false},
    {"ServerRequest", false, true},
    {"ServerNotification", false, false},
};

struct found {
    const char *name; /* to search for */
    bool there;
    size_t list;
    int seen;
};

static void one_method(enum revision r, struct json_value d, void *ctx)
{
    struct found *f = ctx;
    struct slice name = json_string_raw(json_get(property(d, "method"), "const"));
    assert_non_null(name.p);
    f->seen++;
    if (f->name != NULL) {
        f->there = f->there || slice_is(name, f->name);
        return;
    }
    const struct method *m = method_find(name);
    if (m == NULL)
        fail_msg("%s: the table lacks %.*s", revision_name(r), (int)name.n, name.p);
    uint8_t from = lists[f->list].client ? m->from_client : m->from_server;
    if (m->is_request != lists[f->list].request || (from & 1u << r) == 0)
        fail_msg("%s: %s is in %s", revision_name(r), m->name, lists[f->list].list);
    struct json_value params = follow(r, property(d, "params"));
    struct json_value required = json_get(params, "required");
    if (json_get(params, "anyOf").type == JSON_ARRAY ||
        slice_is(name, "notifications/tasks/status"))
        return; /* elicitation/create has two modes; a task is combined from parts */
    for (int k = 0; k < FIELD_COUNT; k++) {
        bool must = false;
        for (int i = 0; i < METHOD_NEEDS_MAX && m->params[i].types != 0; i++)
            must = must || (m->params[i].field == k && (m->params[i].must & 1u << r) != 0);
        /* _meta in 2026-07-28 is checked elsewhere, with its members */
        if (k != FIELD_META && must != holds(required, field_name((enum field)k)))
            fail_msg("%s: %s, params.%s: required by the %s alone", revision_name(r), m->name,
                     field_name((enum field)k), must ? "table" : "schema");
    }
}

static void test_method_in_a_schema_is_in_the_table_with_required_members(void **state)
{
    (void)state;
    int seen = 0;
    for (int r = 0; r < REV_COUNT; r++)
        for (size_t i = 0; i < MI_COUNT(lists); i++) {
            struct found f = {.list = i};
            each_message((enum revision)r, lists[i].list, one_method, &f);
            seen += f.seen;
        }
    assert_true(seen > 120);
}

/* The tasks extension belongs to 2026-07-28 and has no schema there. */
static bool is_extension(const struct method *m, int r)
{
    return r == REV_2026_07_28 && strstr(m->name, "tasks") != NULL;
}

static void test_method_in_the_table_is_in_each_of_its_schemas(void **state)
{
    (void)state;
    const struct method *m;
    for (size_t i = 0; (m = method_at_index(i)) != NULL; i++)
        for (int r = 0; r < REV_COUNT; r++)
            for (size_t k = 0; k < MI_COUNT(lists); k++) {
                struct found f = {.name = m->name, .list = k};
                uint8_t from = lists[k].client ? m->from_client : m->from_server;
                if (is_extension(m, r))
                    continue;
                each_message((enum revision)r, lists[k].list, one_method, &f);
                bool want = m->is_request == lists[k].request && (from & 1u << r) != 0;
                if (f.there != want)
                    fail_msg("%s: %s is %s in %s", revision_name((enum revision)r), m->name,
                             f.there ? "there" : "not", lists[k].list);
            }
}

static const struct {
    const char *method, *result;
} results[] = {
    {"initialize", "InitializeResult"},
    {"server/discover", "DiscoverResult"},
    {"tools/list", "ListToolsResult"},
    {"tools/call", "CallToolResult"},
    {"resources/list", "ListResourcesResult"},
    {"resources/templates/list", "ListResourceTemplatesResult"},
    {"resources/read", "ReadResourceResult"},
    {"prompts/list", "ListPromptsResult"},
    {"prompts/get", "GetPromptResult"},
    {"completion/complete", "CompleteResult"},
    {"subscriptions/listen", "SubscriptionsListenResult"},
    {"tasks/list", "ListTasksResult"},
    {"roots/list", "ListRootsResult"},
    {"sampling/createMessage", "CreateMessageResult"},
    {"elicitation/create", "ElicitResult"},
};

static bool table_requires(const struct method *m, int field, int r)
{
    if (field == FIELD_RESULT_TYPE)
        return r == REV_2026_07_28;
    if (field == FIELD_TTL_MS || field == FIELD_CACHE_SCOPE)
        return r == REV_2026_07_28 && (m->flags & METHOD_CACHED) != 0;
    for (int i = 0; i < METHOD_NEEDS_MAX && m->result[i].types != 0; i++)
        if (m->result[i].field == field)
            return (m->result[i].must & 1u << r) != 0;
    return false;
}

static void test_method_result_requires_the_members_of_the_schema(void **state)
{
    (void)state;
    int compared = 0;
    for (size_t i = 0; i < MI_COUNT(results); i++)
        for (int r = 0; r < REV_COUNT; r++) {
            const struct method *m = method_find(slice_of(results[i].method));
            if (((m->from_client | m->from_server) & 1u << r) == 0)
                continue;
            struct json_value d = definition((enum revision)r, slice_of(results[i].result));
            assert_int_equal(d.type, JSON_OBJECT);
            for (int k = 0; k < FIELD_COUNT; k++)
                if (table_requires(m, k, r) !=
                    holds(json_get(d, "required"), field_name((enum field)k)))
                    fail_msg("%s: result of %s, %s", revision_name((enum revision)r), m->name,
                             field_name((enum field)k));
            compared++;
        }
    assert_int_equal(compared, 57);
}

static void test_method_task_fields_match_the_schema(void **state)
{
    (void)state;
    const struct method *m = method_find(slice_of("tasks/get"));
    struct json_value required = json_get(definition(REV_2025_11_25, slice_of("Task")), "required");
    for (int k = 0; k < FIELD_COUNT; k++)
        assert_int_equal(table_requires(m, k, REV_2025_11_25),
                         holds(required, field_name((enum field)k)));
}

static void test_method_name_with_escapes_is_found(void **state)
{
    (void)state;
    assert_string_equal(method_find(slice_of("tools/call"))->name, "tools/call");
    assert_string_equal(method_find(slice_of("tools\\/\\u0063all"))->name, "tools/call");
    assert_null(method_find(slice_of("tools/Call")));
    assert_null(method_find(slice_of("")));
    assert_null(method_find((struct slice){0}));
    assert_int_equal(method_flags(slice_of("tasks/result")), METHOD_PATIENT | METHOD_PASSES_ON);
    assert_int_equal(method_flags(slice_of("subscriptions/listen")),
                     METHOD_PATIENT | METHOD_READS | METHOD_LISTENS);
    assert_int_equal(method_flags(slice_of("no/such")), 0);
    assert_true(method_is_lsp(slice_of("$/cancelRequest")));
    assert_false(method_is_lsp(slice_of("tools/call")));
}

static void test_method_field_is_found_by_name(void **state)
{
    (void)state;
    for (int f = 0; f < FIELD_COUNT; f++) {
        const char *name = field_name((enum field)f);
        assert_true(strlen(name) <= FIELD_NAME_MAX);
        assert_int_equal(field_find_name(slice_of(name)), f);
        char other[32];
        snprintf(other, sizeof other, "%s!", name);
        assert_int_equal(field_find_name(slice_of(other)), FIELD_COUNT);
        other[strlen(name)] = '\0';
        other[0] ^= 1;
        assert_int_equal(field_find_name(slice_of(other)), FIELD_COUNT);
    }
    assert_int_equal(field_find_name(slice_of("")), FIELD_COUNT);
}

static void test_method_capabilities_are_read_from_declarations(void **state)
{
    (void)state;
    static const struct {
        const char *declared;
        uint32_t set;
    } rows[] = {
        {"{}", 0},
        {"{\"tools\":{}}", 1u << CAP_TOOLS},
        {"{\"tools\":{\"listChanged\":true}}", 1u << CAP_TOOLS | 1u << CAP_TOOLS_CHANGED},
        {"{\"tools\":{\"listChanged\":false},\"logging\":{}}", 1u << CAP_TOOLS | 1u << CAP_LOGGING},
        {"{\"tools\":true}", 0},
        {"{\"elicitation\":{\"url\":{}}}", 1u << CAP_ELICITATION | 1u << CAP_ELICITATION_URL},
        {"{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}", 1u << CAP_TASKS_EXTENSION},
        {"{\"extensions\":{\"com.example/tasks\":{}}}", 0},
        {"{\"resources\":{\"subscribe\":true}}", 1u << CAP_RESOURCES | 1u << CAP_SUBSCRIBE},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_value v = {JSON_OBJECT, slice_of(rows[i].declared)};
        assert_int_equal(capabilities_read_from_object(v), rows[i].set);
    }
    assert_int_equal(capabilities_read_from_object((struct json_value){0}), 0);
}

static int close_files(void **state)
{
    (void)state;
    for (int r = 0; r < REV_COUNT; r++)
        buf_close(&files[r]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_method_in_a_schema_is_in_the_table_with_required_members),
        cmocka_unit_test(test_method_in_the_table_is_in_each_of_its_schemas),
        cmocka_unit_test(test_method_result_requires_the_members_of_the_schema),
        cmocka_unit_test(test_method_task_fields_match_the_schema),
        cmocka_unit_test(test_method_name_with_escapes_is_found),
        cmocka_unit_test(test_method_field_is_found_by_name),
        cmocka_unit_test(test_method_capabilities_are_read_from_declarations),
    };
    return cmocka_run_group_tests_name("method", tests, NULL, close_files);
}
