/* The title of a process, in an area of known size: the program starts itself with chosen arguments and environment. */
#include "base/os/title.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/wait.h>

#define SHOW "show-the-title"

static size_t read_file(const char *path, char *to, size_t max)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, max - 1);
    if (fd >= 0)
        close(fd);
    to[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* The child: argv = {name, SHOW, argument…}, TITLE in its environment. Prints what /proc says, and whether the copies
 * are intact. */
static int show(int argc, char **argv)
{
    char line[1024], name[32], title[1024];
    const char *given = getenv("TITLE"), *variable = getenv("VARIABLE");
    snprintf(title, sizeof title, "%s", given != NULL ? given : "more than the area");
    char **copy = title_open(argc, argv);
    title_set("mcp-test-title", "%s", title);
    size_t n = read_file("/proc/self/cmdline", line, sizeof line);
    while (n > 0 && line[n - 1] == '\0')
        n--;
    read_file("/proc/self/comm", name, sizeof name);
    line[n] = '\0';
    printf("%s|%zu|%.14s|", line, n, name);
    for (int i = 0; i < argc; i++)
        printf("%s ", copy[i]);
    setenv("ANOTHER", "2", 1);
    printf("%s|%s|", copy[argc] == NULL ? "end" : "more", getenv("ANOTHER"));
    const char *now = getenv("VARIABLE");
    printf("%s|%s\n", now != NULL ? now : "-", now == variable ? "same" : "copied");
    return 0;
}

/* exec wants pointers to characters that are not constant. */
static void copies(char *to[4], const char *const from[])
{
    for (size_t i = 0; i < 4; i++) {
        to[i] = from[i] == NULL ? NULL : strdup(from[i]);
        if (to[i] == NULL)
            break;
    }
}

/* Starts this program again as the child. */
static void run(const char *const argv[], const char *const envp[], char *ret, size_t max)
{
    if (unit_slow())
        skip(); /* valgrind makes its own /proc/self/cmdline */
    int out[2];
    assert_int_equal(pipe(out), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(out[1], STDOUT_FILENO);
        close(out[0]);
        char *arguments[4], *environment[4];
        copies(arguments, argv);
        copies(environment, envp);
        execve("/proc/self/exe", arguments, environment);
        _exit(127);
    }
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    while (n < max - 1 && (got = read(out[0], ret + n, max - 1 - n)) > 0)
        n += (size_t)got;
    ret[n] = '\0';
    close(out[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_title_shorter_than_the_arguments_replaces_them(void **state)
{
    (void)state;
    char text[2048];
    const char *const argv[] = {"program", SHOW, "a long argument", NULL};
    const char *const envp[] = {"VARIABLE=1", "TITLE=recorder of files", NULL};
    run(argv, envp, text, sizeof text);
    assert_string_equal(text, "recorder of files|17|mcp-test-title|program " SHOW
                              " a long argument end|2|1|copied\n");
}

static void test_title_longer_than_the_arguments_continues_in_the_environment(void **state)
{
    (void)state;
    char text[2048];
    const char *const argv[] = {"p", SHOW, NULL};
    const char *const envp[] = {"TITLE=this is longer than the two arguments", "VARIABLE=1", NULL};
    run(argv, envp, text, sizeof text);
    assert_string_equal(text, "this is longer than the two arguments|37|mcp-test-title|p " SHOW
                              " end|2|1|copied\n");
}

/* The memory is two arguments and their NULs: 17 bytes. */
static void test_title_longer_than_the_memory_is_truncated(void **state)
{
    (void)state;
    char text[2048];
    const char *const argv[] = {"p", SHOW, NULL};
    const char *const envp[] = {NULL};
    run(argv, envp, text, sizeof text);
    assert_string_equal(text, "more than the ar|16|mcp-test-title|p " SHOW " end|2|-|same\n");
}

static void test_title_longer_than_255_bytes_is_truncated(void **state)
{
    (void)state;
    char text[2048], title[512] = "TITLE=";
    memset(title + 6, 'x', 400);
    const char *const argv[] = {"p", SHOW, NULL};
    const char *const envp[] = {title, NULL};
    run(argv, envp, text, sizeof text);
    title[6 + 255] = '\0';
    assert_true(strncmp(text, title + 6, 255) == 0);
    assert_string_equal(text + 255, "|255|mcp-test-title|p " SHOW " end|2|-|same\n");
}

static void test_title_control_characters_are_replaced(void **state)
{
    (void)state;
    char text[2048];
    const char *const argv[] = {"p", SHOW, NULL};
    const char *const envp[] = {"TITLE=of a\x1b[2J\nb\x7f", NULL};
    run(argv, envp, text, sizeof text);
    assert_string_equal(text, "of a?[2J?b?|11|mcp-test-title|p " SHOW " end|2|-|same\n");
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SHOW) == 0)
        return show(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_title_shorter_than_the_arguments_replaces_them),
        cmocka_unit_test(test_title_longer_than_the_arguments_continues_in_the_environment),
        cmocka_unit_test(test_title_longer_than_the_memory_is_truncated),
        cmocka_unit_test(test_title_longer_than_255_bytes_is_truncated),
        cmocka_unit_test(test_title_control_characters_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
