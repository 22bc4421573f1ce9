/* The allocator that does not fail. */
#include "base/reserve.h"

#include "tests/support/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static bool fail;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fail ? NULL : __real_realloc(p, n);
}

static void check_filled(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(p[i], (unsigned char)(i * 7));
}

/* Grows to this size; the contents stay, and the new bytes can be used. */
static unsigned char *grow(unsigned char *p, size_t was, size_t n)
{
    p = reserve_realloc(p, (long)n);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    check_filled(p, was < n ? was : n);
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i * 7);
    return p;
}

static void test_reserve_keeps_contents_with_and_without_memory(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        bool fail;
    } steps[] = {{40, false}, {100, true}, {90, true}, {3000, false}, {5000, true}, {6, false}};
    unsigned char *p = NULL;
    size_t was = 0;
    for (size_t i = 0; i < MI_COUNT(steps); i++) {
        fail = steps[i].fail;
        p = grow(p, was, steps[i].n);
        was = steps[i].n;
    }
    fail = false;
    assert_null(reserve_realloc(p, 0));
    p = grow(NULL, 0, 10);
    fail = true; /* freeing needs no memory */
    assert_null(reserve_realloc(p, 0));
    assert_null(reserve_realloc(NULL, 0));
    fail = false;
}

/* Short lacks of memory do not use up the reserve. */
static void test_reserve_block_leaves_it_when_there_is_memory(void **state)
{
    (void)state;
    unsigned char *p = NULL;
    for (size_t i = 0; i < 20; i++) {
        fail = true;
        p = grow(p, 0, 1000);
        fail = false;
        for (size_t n = 1000; n < RESERVE_SIZE; n *= 2)
            p = grow(p, n, 2 * n);
        assert_null(reserve_realloc(p, 0));
        p = NULL;
    }
}

static void test_reserve_used_up_ends_the_program_with_a_reason(void **state)
{
    (void)state;
    int fd[2], status = 0;
    char text[200] = "";
    assert_int_equal(pipe(fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        fail = true;
        for (size_t i = 0; i < 100; i++)
            (void)reserve_realloc(NULL, 1000);
        _exit(0);
    }
    close(fd[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(read(fd[0], text, sizeof text - 1) > 0);
    close(fd[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "out of memory for the event loop"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserve_keeps_contents_with_and_without_memory),
        cmocka_unit_test(test_reserve_block_leaves_it_when_there_is_memory),
        cmocka_unit_test(test_reserve_used_up_ends_the_program_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
