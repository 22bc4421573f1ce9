/* alloc.so - allocations of mcp-interposer fail at random; for LD_PRELOAD.
 *
 * ALLOC_SEED     of the random numbers; without it nothing fails
 * ALLOC_ONE_IN   one allocation in so many fails
 * ALLOC_SKIP     so many allocations come first, none of which fails
 * ALLOC_WHO      first: in the process that was started; others: in its child processes, each of which counts for itself, such
 *                as the recorder; all: in all of them. Default: first
 * ALLOC_COUNT    a file of 16 bytes: two numbers, the allocations of these processes, and those that failed
 *
 * glibc's own functions (opendir, fopen) call these as well. Built without the library: see the Makefile. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static struct {
    bool ready, first, others;
    unsigned long one_in, skip;
    uint64_t random;
    pid_t pid;
    uint64_t *count; /* shared; NULL: not counted */
} plan;

static unsigned long number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static void open_count(const char *path)
{
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *p = mmap(NULL, 2 * sizeof *plan.count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    plan.count = p != MAP_FAILED ? p : NULL;
    close(fd);
}

static void make_plan(void)
{
    plan.ready = true;
    if (getenv("ALLOC_SEED") == NULL ||
        strcmp(program_invocation_short_name, "mcp-interposer") != 0)
        return;
    plan.one_in = number("ALLOC_ONE_IN");
    plan.skip = number("ALLOC_SKIP");
    const char *who = getenv("ALLOC_WHO");
    plan.first = who == NULL || strcmp(who, "others") != 0;
    plan.others = who != NULL && strcmp(who, "first") != 0;
    plan.random = (number("ALLOC_SEED") + 1) * UINT64_C(0x9E3779B97F4A7C15);
    plan.pid = getpid();
    open_count(getenv("ALLOC_COUNT"));
}

static bool fails(void)
{
    if (!plan.ready)
        make_plan();
    if (plan.one_in == 0 || !(getpid() == plan.pid ? plan.first : plan.others))
        return false;
    if (plan.count != NULL)
        plan.count[0]++;
    if (plan.skip > 0) {
        plan.skip--;
        return false;
    }
    plan.random ^= plan.random << 13;
    plan.random ^= plan.random >> 7;
    plan.random ^= plan.random << 17;
    if ((plan.random >> 20) % plan.one_in != 0)
        return false;
    if (plan.count != NULL)
        plan.count[1]++;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t n)
{
    return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}
