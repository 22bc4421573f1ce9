/* Whole files are read up to a limit, behind what the buffer has. */
#include "base/read_all.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SIZE 100000 /* more than one read */

static void test_read_all_takes_a_file_up_to_the_limit(void **state)
{
    (void)state;
    static char text[SIZE];
    char path[] = "/tmp/read-all-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 23);
    assert_int_equal(write(fd, text, SIZE), SIZE);
    struct buf b = {0};
    buf_adds(&b, "x");
    assert_int_equal(read_all_of_file(path, SIZE + 1, &b), 0);
    assert_int_equal(b.n, SIZE + 1);
    assert_memory_equal(b.p + 1, text, SIZE);
    buf_clear(&b);
    assert_int_equal(read_all_of_file(path, SIZE, &b), 0);
    buf_clear(&b);
    assert_int_equal(read_all_of_file(path, SIZE - 1, &b), EFBIG);
    buf_clear(&b);
    assert_int_equal(lseek(fd, SIZE - 5, SEEK_SET), SIZE - 5);
    assert_int_equal(read_all(fd, SIZE, &b), 0);
    assert_int_equal(b.n, 5);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_all_of_file(path, SIZE, &b), ENOENT);
    assert_int_equal(read_all(-1, SIZE, &b), EBADF);
    assert_int_equal(b.n, 5);
    buf_close(&b);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_all_takes_a_file_up_to_the_limit),
    };
    return cmocka_run_group_tests_name("read_all", tests, NULL, NULL);
}
