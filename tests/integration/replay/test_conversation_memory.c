/* A replay in which the N-th allocation fails, for every N: it ends with MI_ENOMEM or is not affected,
 * and leaks nothing (with AddressSanitizer). */
#include "tests/support/replay_unit.h"

#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static size_t allocations, fails_at; /* fails_at 0: none */

static bool fails(void)
{
    return ++allocations == fails_at;
}

void *__wrap_malloc(size_t n)
{
    return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

#define ASK(id) REQUEST(id, "elicitation/create", "{\"message\":\"Name?\"}")
#define RECORDING                                                                                  \
    LEGACY SERVER(NOTE("notifications/message", "{}"))                                             \
        CLIENT(CALL_TOKEN("1", "a", "{\"password\":\"[redacted:password]\"}", "1"))                \
            SERVER(PROGRESS("1", "1")) SERVER(ASK("1")) CLIENT(RESULT("1", "{}"))                  \
                SERVER(RESULT("1", "{\"n\":1}")) SERVER(NOTE("notifications/message", "{}"))       \
                    CLIENT(CALL("2", "b", "{\"x\":1}")) SERVER(RESULT("2", "{\"n\":2}"))

static const char *const lines[] = {
    INITIALIZE,
    NOTE("notifications/initialized", "{}"),
    CALL_TOKEN("5", "a", "{\"password\":\"secret\"}", "5"),
    RESULT("1", "{\"other\":true}"),
    "[" CALL("6", "b", "{\"x\":1}") "," CALL("7", "b", "{\"x\":2}") "]",
    CALL("8", "c", "{}"),
    "no message",
    CANCEL("5"),
};

static int discard(void *ctx, struct slice line)
{
    size_t *bytes = ctx;
    *bytes += line.n;
    return 0;
}

static void no_stderr(void *ctx, struct slice line)
{
    (void)ctx, (void)line;
}

/* 0, or the first error. */
static int play(const char *path, size_t *ret_bytes)
{
    struct conversation_rules rules = {0};
    struct faults faults = {0};
    struct misses misses = {0};
    struct source *source = NULL;
    struct conversation *conversation = NULL;
    struct buf error = {0};
    int64_t now = NOW;
    *ret_bytes = 0;
    int st = source_open_cassette(&source, path, &error);
    if (st == 0)
        st = conversation_open(&conversation, &rules, &faults, source, &misses, discard, no_stderr,
                               ret_bytes);
    if (st == 0)
        st = conversation_begin(conversation, now);
    for (size_t i = 0; st == 0 && i < MI_COUNT(lines); i++) {
        st = conversation_handle_line(conversation, slice_of(lines[i]), now);
        now += PACE_GAP_US;
        if (st == 0)
            st = conversation_send_due_messages(conversation, now);
    }
    if (st == 0)
        st = conversation_handle_client_hangup(conversation, now);
    conversation_close(conversation);
    source_close(source);
    misses_close(&misses);
    buf_close(&error);
    return st;
}

static void
test_conversation_memory_failed_allocation_ends_the_replay_or_changes_nothing(void **state)
{
    struct temp temp;
    size_t whole, bytes, n = 0;
    (void)state;
    temp_make(&temp);
    said_begin();
    const char *path = write_recording(
        &temp, ",\"record_level\":\"standard\",\"redact_rules\":{\"version\":1}", RECORDING);
    assert_int_equal(play(path, &whole), 0);
    size_t ends = 0;
    do {
        allocations = 0;
        fails_at = ++n;
        int st = play(path, &bytes);
        bool failed = allocations >= fails_at;
        fails_at = 0;
        assert_true(failed || st == 0);
        if (st < 0)
            assert_int_equal(st, MI_ENOMEM);
        ends += st < 0;
        if (!failed)
            break;
    } while (n < 1000000);
    assert_true(ends > 100); /* enough allocations were tested */
    assert_int_equal(bytes, whole);
    said_end();
    temp_remove(&temp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_conversation_memory_failed_allocation_ends_the_replay_or_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
