/* Requests that have no answer yet: found by id in any spelling, bounded in number and bytes. */
#include "proxy/session/pending.h"

#include "tests/support/unit.h"

#include "wire/rpc_id.h"

#include <time.h>

/* Allocations fail while this is true. */
static bool no_memory;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_malloc(size_t n)
{
    return no_memory ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory ? NULL : __real_calloc(n, size);
}
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory ? NULL : __real_realloc(p, n);
}

/* The text is freed before this returns: the table must have copies. */
static int add_text(struct pending_table *t, const char *text, struct pending **ret)
{
    struct rpc m;
    size_t n = strlen(text);
    char *copy = unit_copy(text, n);
    assert_int_equal(rpc_read((struct slice){copy, n}, &m), 0);
    assert_int_equal(m.kind, RPC_REQUEST);
    struct rpc_id key = pending_make_id(t, &m);
    int st = pending_add(t, &m, &key, ret);
    memset(copy, '#', n);
    free(copy);
    return st;
}

static struct pending *add_id(struct pending_table *t, const char *id, uint64_t seq)
{
    char text[512];
    struct pending *p = NULL;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", id);
    assert_int_equal(add_text(t, text, &p), 0);
    p->request_seq = seq;
    return p;
}

static struct json_value value(const char *text)
{
    return (struct json_value){json_type_at(text[0]), slice_of(text)};
}

/* The request_seq of the request found; 0: none; negative: with the other JSON type. */
static int find(struct pending_table *t, const char *id)
{
    bool changed;
    struct pending *p = pending_find(t, value(id), &changed);
    if (p == NULL) {
        assert_false(changed);
        return 0;
    }
    return changed ? -(int)p->request_seq : (int)p->request_seq;
}

static void remove_id(struct pending_table *t, const char *id)
{
    bool changed;
    struct pending *p = pending_find(t, value(id), &changed);
    assert_non_null(p);
    pending_remove(t, p);
}

static void test_pending_request_is_found_when_memory_runs_out(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"1", "1"},
        {"2", "2.0"},
        {"3", "3.00000000000000000000000000000000000e0"},
        {"1000", "1e3"},
        {"\"a\"", "\"a\""},
        {"\"bcdefghijklmnopqrstuvwxyz0123456789\"", NULL},
        {"1234567890123", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(pairs); i++) {
        struct pending_table t;
        char escaped[512] = "", *at = escaped;
        const char *id = pairs[i][0];
        pending_open(&t);
        add_id(&t, id, 5);
        if (id[0] == '"') { /* each letter as an escape */
            *at++ = '"';
            for (const char *c = id + 1; *c != '"'; c++)
                at += sprintf(at, "\\u%04x", (unsigned)*c);
            strcpy(at, "\"");
        } else {
            snprintf(escaped, sizeof escaped, "\"%s\"", id); /* the other type */
        }
        no_memory = true;
        int found = find(&t, pairs[i][1] != NULL ? pairs[i][1] : id);
        int found_escaped = find(&t, escaped);
        int stranger = find(&t, "\"nobody\"");
        no_memory = false;
        assert_int_equal(found, 5);
        assert_int_equal(found_escaped, id[0] == '"' ? 5 : -5);
        assert_int_equal(stranger, 0);
        pending_close(&t);
    }
}

static void test_pending_empty_table_finds_nothing(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    assert_int_equal(find(&t, "1"), 0);
    assert_int_equal(find(&t, "\"1\""), 0);
    pending_close(&t);
    pending_close(&t);
}

static void test_pending_request_is_a_copy(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    pending_open(&t);
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061b\",\"method\":\"tools\\/call\",\"params\":"
        "{\"name\":\"d\\u00e9j\\u00e0\",\"arguments\":{\"x\": [1,2]}}}";
    assert_int_equal(add_text(&t, text, &p), 0);
    assert_true(slice_is(p->id, "\"\\u0061b\""));
    assert_true(slice_is(p->method, "tools\\/call"));
    assert_true(slice_is(p->target, "d\\u00e9j\\u00e0"));
    assert_true(slice_is(p->arguments, "{\"x\": [1,2]}"));
    assert_int_equal(p->arguments_n, p->arguments.n);
    assert_int_equal(p->size, sizeof text - 1);
    assert_false(p->modern);
    assert_false(p->cancelled);
    assert_int_equal(t.open.count, 1);
    assert_int_equal(t.bytes, p->cost);
    pending_close(&t);
}

static void test_pending_request_without_target_or_arguments_has_none(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    pending_open(&t);
    assert_int_equal(add_text(&t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", &p), 0);
    assert_non_null(p->method.p);
    assert_int_equal(p->method.n, 0);
    assert_null(p->target.p);
    assert_null(p->arguments.p);
    assert_int_equal(p->arguments_n, 0);
    assert_int_equal(add_text(&t,
                              "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"x\",\"params\":"
                              "{\"arguments\":\"text\",\"uri\":\"file:///a\"}}",
                              &p),
                     0);
    assert_null(p->arguments.p); /* not an object */
    assert_int_equal(p->arguments_n, 0);
    assert_true(slice_is(p->target, "file:///a"));
    pending_close(&t);
}

static void test_pending_request_of_2026_is_modern(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    pending_open(&t);
    assert_int_equal(
        add_text(&t,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"_meta\":"
                 "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
                 &p),
        0);
    assert_true(p->modern);
    pending_close(&t);
}

static void test_pending_long_texts_are_truncated_between_characters(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    struct buf b = {0};
    pending_open(&t);
    buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (int i = 0; i < 1000; i++)
        buf_adds(&b, "\xe2\x82\xac"); /* 3 bytes: 1024 and 4096 lie inside one */
    buf_adds(&b, "\",\"params\":{\"name\":\"");
    for (int i = 0; i < 1000; i++)
        buf_adds(&b, "\xe2\x82\xac");
    buf_adds(&b, "\",\"arguments\":{\"t\":\"");
    for (int i = 0; i < 3000; i++)
        buf_adds(&b, "\xe2\x82\xac");
    buf_adds(&b, "\"}}}");
    assert_int_equal(add_text(&t, buf_str(&b), &p), 0);
    assert_int_equal(p->method.n, 1023);
    assert_int_equal(p->target.n, 1023);
    assert_int_equal(p->arguments.n, 4095); /* {"t":" and 1363 characters */
    assert_int_equal(p->arguments_n, 9008);
    assert_int_equal(p->size, b.n);
    buf_close(&b);
    pending_close(&t);
}

static void test_pending_id_is_found_in_any_spelling(void **state)
{
    (void)state;
    static const char *const same[][4] = {
        {"1", "1.0", "1e0", "10e-1"},       {"\"a\"", "\"\\u0061\"", "\"a\"", "\"a\""},
        {"0", "-0", "0.0", "0e9"},          {"\"\"", "\"\"", "\"\"", "\"\""},
        {"1.5", "15e-1", "1.50", "0.15e1"},
    };
    for (size_t asked = 0; asked < 4; asked++) {
        struct pending_table t;
        pending_open(&t);
        for (size_t i = 0; i < MI_COUNT(same); i++)
            add_id(&t, same[i][asked], i + 1);
        for (size_t i = 0; i < MI_COUNT(same); i++)
            for (size_t k = 0; k < 4; k++)
                assert_int_equal(find(&t, same[i][k]), i + 1);
        pending_close(&t);
    }
}

static void test_pending_id_of_another_type_is_found_and_reported(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    add_id(&t, "7", 1);
    assert_int_equal(find(&t, "\"7\""), -1);
    assert_int_equal(find(&t, "\"\\u0037\""), -1);
    assert_int_equal(find(&t, "\"7.0\""), 0);
    assert_int_equal(find(&t, "\" 7\""), 0);
    add_id(&t, "\"7\"", 2);
    assert_int_equal(find(&t, "\"7\""), 2); /* its own type comes first */
    assert_int_equal(find(&t, "7"), 1);
    remove_id(&t, "7");
    assert_int_equal(find(&t, "7"), -2);
    assert_int_equal(find(&t, "7.0"), -2);
    pending_close(&t);
}

static void test_pending_invalid_id_is_not_found(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    add_id(&t, "0", 1);
    add_id(&t, "\"null\"", 2);
    add_id(&t, "\"\"", 3);
    static const char *const none[] = {"null", "true", "false", "{}", "[0]"};
    for (size_t i = 0; i < MI_COUNT(none); i++)
        assert_int_equal(find(&t, none[i]), 0);
    bool changed = true;
    assert_null(pending_find(&t, (struct json_value){0}, &changed));
    assert_false(changed);
    pending_close(&t);
}

static bool is_open(const struct pending_table *t, const char *id)
{
    struct buf b = {0};
    struct rpc_id key = rpc_id_from_json(value(id), &b);
    bool open = pending_has_open_request(t, &key);
    buf_close(&b);
    return open;
}

static void test_pending_is_open_with_exactly_this_id_until_it_is_cancelled(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    assert_false(is_open(&t, "7"));
    add_id(&t, "9", 3); /* of another request */
    struct pending *p = add_id(&t, "7", 1);
    assert_true(is_open(&t, "7"));
    assert_true(is_open(&t, "7.0"));
    assert_false(is_open(&t, "\"7\""));
    assert_false(is_open(&t, "8"));
    assert_false(is_open(&t, "null"));
    pending_mark_cancelled(&t, p);
    assert_false(is_open(&t, "7"));
    add_id(&t, "7", 2);
    assert_true(is_open(&t, "7"));
    pending_close(&t);
}

static void test_pending_duplicate_ids_are_found_oldest_first(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    for (uint64_t i = 1; i <= 5; i++)
        add_id(&t, i % 2 == 0 ? "4" : "4.0", i);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(find(&t, "4"), i);
        remove_id(&t, "4e0");
    }
    assert_int_equal(find(&t, "4"), 0);
    assert_int_equal(t.bytes, 0);
    pending_close(&t);
}

/* Growth of the table must not reverse their order. */
static void test_pending_duplicate_ids_keep_their_order_when_the_table_grows(void **state)
{
    (void)state;
    struct pending_table t;
    char id[32];
    pending_open(&t);
    add_id(&t, "\"twice\"", 1);
    for (int i = 0; i < 5000; i++) {
        if (i % 500 == 250)
            add_id(&t, "\"twice\"", (uint64_t)(i + 2));
        snprintf(id, sizeof id, "%d", i);
        add_id(&t, id, 9);
    }
    int last = 0;
    for (int i = 0; i < 11; i++) {
        int got = find(&t, "\"twice\"");
        assert_true(got > last);
        last = got;
        remove_id(&t, "\"twice\"");
    }
    assert_int_equal(find(&t, "\"twice\""), 0);
    pending_close(&t);
}

/* Without a link to the last one of a chain this takes minutes of CPU time under valgrind, and seconds without it. */
static void test_pending_many_requests_with_one_id_and_token_take_little_time(void **state)
{
    (void)state;
    struct pending_table t;
    struct rpc m;
    clock_t before = clock();
    pending_open(&t);
    assert_int_equal(rpc_read(slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
                                       "\"params\":{\"_meta\":{\"progressToken\":1}}}"),
                              &m),
                     0);
    for (uint64_t i = 1; i <= 60000; i++) {
        struct pending *p;
        struct rpc_id key = pending_make_id(&t, &m);
        assert_int_equal(pending_add(&t, &m, &key, &p), 0);
        p->request_seq = i;
    }
    for (int i = 1; i < 100; i++) { /* from both ends */
        assert_int_equal(find(&t, "1"), i);
        pending_remove(&t, t.open.oldest);
        pending_remove(&t, t.open.newest);
    }
    while (t.open.newest != NULL)
        pending_remove(&t, t.open.newest);
    pending_close(&t);
    if (!unit_slow())
        assert_in_range(clock() - before, 0, 2 * CLOCKS_PER_SEC);
}

static void test_pending_request_is_found_before_a_cancelled_one(void **state)
{
    (void)state;
    struct pending_table t;
    pending_open(&t);
    struct pending *first = add_id(&t, "1", 1);
    add_id(&t, "1", 2);
    struct pending *third = add_id(&t, "1", 3);
    pending_mark_cancelled(&t, first);
    assert_true(first->cancelled);
    assert_int_equal(t.open.count, 2);
    assert_int_equal(t.cancelled.count, 1);
    pending_mark_cancelled(&t, first); /* the second call does nothing */
    assert_int_equal(t.cancelled.count, 1);
    pending_mark_cancelled(&t, third);
    assert_int_equal(find(&t, "1"), 2);
    remove_id(&t, "1");
    assert_int_equal(find(&t, "1"), 1); /* the oldest cancelled one */
    remove_id(&t, "1");
    assert_int_equal(find(&t, "1"), 3);
    assert_int_equal(find(&t, "\"1\""), -3);
    remove_id(&t, "1");
    assert_int_equal(t.cancelled.count, 0);
    assert_int_equal(t.bytes, 0);
    pending_close(&t);
}

/* A client may use a progress token again after the request with that token was answered. */
static void test_pending_token_finds_an_open_request_before_a_cancelled_one(void **state)
{
    (void)state;
    static const char *const text[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{"
        "\"progressToken\":\"a\"}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"_meta\":{"
        "\"progressToken\":\"a\"}}}",
    };
    struct json_value token = {JSON_STRING, slice_of("\"a\"")};
    struct pending_table t;
    struct pending *first = NULL, *second = NULL;
    pending_open(&t);
    assert_int_equal(add_text(&t, text[0], &first), 0);
    assert_ptr_equal(pending_find_token(&t, token), first);
    pending_mark_cancelled(&t, first);
    assert_ptr_equal(pending_find_token(&t, token), first);
    assert_int_equal(add_text(&t, text[1], &second), 0);
    assert_ptr_equal(pending_find_token(&t, token), second);
    pending_remove(&t, second);
    assert_ptr_equal(pending_find_token(&t, token), first);
    pending_close(&t);
}

static void test_pending_cancelled_requests_are_limited(void **state)
{
    (void)state;
    struct pending_table t;
    char id[32];
    pending_open(&t);
    add_id(&t, "\"open\"", 1);
    for (int i = 0; i < 3 * PENDING_CANCELLED_MAX; i++) {
        snprintf(id, sizeof id, "%d", i);
        pending_mark_cancelled(&t, add_id(&t, id, 5));
    }
    assert_int_equal(t.cancelled.count, PENDING_CANCELLED_MAX);
    assert_int_equal(t.open.count, 1);
    assert_int_equal(find(&t, "0"), 0);
    snprintf(id, sizeof id, "%d", 2 * PENDING_CANCELLED_MAX - 1);
    assert_int_equal(find(&t, id), 0);
    snprintf(id, sizeof id, "%d", 2 * PENDING_CANCELLED_MAX);
    assert_int_equal(find(&t, id), 5); /* the oldest one kept */
    assert_int_equal(find(&t, "\"open\""), 1);
    pending_close(&t);
}

static void test_pending_lists_stay_sorted_by_age_after_any_removal(void **state)
{
    (void)state;
    struct pending_table t;
    struct unit_random rnd = {3};
    struct pending *p[400];
    size_t bytes = 0;
    char id[32];
    pending_open(&t);
    for (size_t i = 0; i < MI_COUNT(p); i++) {
        snprintf(id, sizeof id, "%zu", i % 50);
        p[i] = add_id(&t, id, i + 1);
        bytes += p[i]->cost;
    }
    assert_int_equal(t.bytes, bytes);
    size_t left = MI_COUNT(p);
    while (left > 0) {
        size_t i = unit_random(&rnd, MI_COUNT(p));
        if (p[i] == NULL)
            continue;
        bytes -= p[i]->cost;
        if (i % 7 == 0)
            pending_mark_cancelled(&t, p[i]);
        pending_remove(&t, p[i]);
        p[i] = NULL;
        left--;
        assert_int_equal(t.open.count, left);
        assert_int_equal(t.bytes, bytes);
        struct pending *at = t.open.oldest;
        for (size_t k = 0; k < MI_COUNT(p); k++) {
            if (p[k] == NULL)
                continue;
            assert_ptr_equal(at, p[k]);
            at = at->next;
        }
        assert_null(at);
    }
    assert_null(t.open.newest);
    pending_close(&t);
}

static void test_pending_table_at_its_count_limit_is_full_until_a_request_ends(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    char id[32];
    pending_open(&t);
    for (int i = 0; i < PENDING_MAX; i++) {
        snprintf(id, sizeof id, "%d", i);
        add_id(&t, id, 1);
    }
    assert_int_equal(t.open.count, 65536);
    static const char one_more[] = "{\"jsonrpc\":\"2.0\",\"id\":\"more\",\"method\":\"ping\"}";
    p = NULL;
    assert_int_equal(add_text(&t, one_more, &p), MI_EFULL);
    assert_null(p);
    assert_int_equal(find(&t, "\"more\""), 0);
    assert_int_equal(find(&t, "65535"), 1);
    remove_id(&t, "12345");
    assert_int_equal(add_text(&t, one_more, &p), 0);
    assert_int_equal(add_text(&t, one_more, &p), MI_EFULL);
    pending_mark_cancelled(&t, p); /* a cancelled one is not open */
    assert_int_equal(add_text(&t, one_more, &p), 0);
    pending_close(&t);
}

static void test_pending_table_at_its_byte_limit_is_full(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p;
    struct buf b = {0};
    pending_open(&t);
    size_t n = 0;
    for (;; n++) { /* 60 KiB of id each: as the id and as its key */
        buf_clear(&b);
        buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
        for (int i = 0; i < 60 << 10; i++)
            buf_addc(&b, 'x');
        buf_printf(&b, "%zu\"}", n);
        int st = add_text(&t, buf_str(&b), &p);
        if (st == MI_EFULL)
            break;
        assert_int_equal(st, 0);
        assert_true(t.bytes <= PENDING_BYTES_MAX);
    }
    assert_true(n > 250 && n < 280);
    assert_int_equal(t.open.count, n);
    pending_mark_cancelled(&t, t.open.oldest);
    pending_mark_cancelled(&t, t.open.oldest);
    assert_int_equal(add_text(&t, buf_str(&b), &p), 0); /* takes the memory of a cancelled one */
    assert_int_equal(t.open.count, n - 1);
    assert_int_equal(t.cancelled.count, 1);
    add_id(&t, "1", 7); /* a small one still fits */
    assert_int_equal(find(&t, "1"), 7);
    buf_close(&b);
    pending_close(&t);
}

static void test_pending_too_long_id_is_rejected(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p = NULL;
    struct buf b = {0};
    pending_open(&t);
    for (size_t n = RPC_ID_MAX - 1; n <= RPC_ID_MAX + 1; n++) {
        buf_clear(&b);
        buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
        for (size_t i = 2; i < n; i++)
            buf_addc(&b, 'x');
        buf_adds(&b, "\"}");
        assert_int_equal(add_text(&t, buf_str(&b), &p), n <= RPC_ID_MAX ? 0 : MI_EINVAL);
    }
    assert_int_equal(t.open.count, 2);
    buf_close(&b);
    pending_close(&t);
}

static void test_pending_table_is_unchanged_when_memory_runs_out(void **state)
{
    (void)state;
    struct pending_table t;
    struct pending *p = NULL;
    char id[32];
    pending_open(&t);
    int failures = 0;
    for (uint64_t i = 0; i < 300; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", (int)i);
        struct rpc m;
        assert_int_equal(rpc_read(slice_of(text), &m), 0);
        size_t bytes = t.bytes;
        no_memory = true;
        struct rpc_id key = pending_make_id(&t, &m);
        int st = pending_add(&t, &m, &key, &p);
        no_memory = false;
        assert_int_equal(st, MI_ENOMEM);
        failures++;
        assert_int_equal(t.open.count, i);
        assert_int_equal(t.bytes, bytes);
        assert_int_equal(pending_add(&t, &m, &key, &p), 0);
        p->request_seq = i + 1;
    }
    for (int i = 0; i < 300; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(find(&t, id), i + 1);
    }
    pending_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pending_request_is_found_when_memory_runs_out),
        cmocka_unit_test(test_pending_empty_table_finds_nothing),
        cmocka_unit_test(test_pending_request_is_a_copy),
        cmocka_unit_test(test_pending_request_without_target_or_arguments_has_none),
        cmocka_unit_test(test_pending_request_of_2026_is_modern),
        cmocka_unit_test(test_pending_long_texts_are_truncated_between_characters),
        cmocka_unit_test(test_pending_id_is_found_in_any_spelling),
        cmocka_unit_test(test_pending_id_of_another_type_is_found_and_reported),
        cmocka_unit_test(test_pending_invalid_id_is_not_found),
        cmocka_unit_test(test_pending_is_open_with_exactly_this_id_until_it_is_cancelled),
        cmocka_unit_test(test_pending_duplicate_ids_are_found_oldest_first),
        cmocka_unit_test(test_pending_duplicate_ids_keep_their_order_when_the_table_grows),
        cmocka_unit_test(test_pending_many_requests_with_one_id_and_token_take_little_time),
        cmocka_unit_test(test_pending_request_is_found_before_a_cancelled_one),
        cmocka_unit_test(test_pending_token_finds_an_open_request_before_a_cancelled_one),
        cmocka_unit_test(test_pending_cancelled_requests_are_limited),
        cmocka_unit_test(test_pending_lists_stay_sorted_by_age_after_any_removal),
        cmocka_unit_test(test_pending_table_at_its_count_limit_is_full_until_a_request_ends),
        cmocka_unit_test(test_pending_table_at_its_byte_limit_is_full),
        cmocka_unit_test(test_pending_too_long_id_is_rejected),
        cmocka_unit_test(test_pending_table_is_unchanged_when_memory_runs_out),
    };
    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
