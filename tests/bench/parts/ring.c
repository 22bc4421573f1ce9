/* ring.c - CPU time of a record of 300 B in the journal's ring, and the time until the other
 * process has it.
 *
 * The CPU times are measured in one process: of the writer, of the reader, and of both together,
 * which includes allocating and freeing memory. The times between two processes are elapsed time,
 * and need two idle CPUs: a round trip is a record published and read, and its release seen by the
 * writer. */
#include "journal/ring.h"
#include "tests/bench/parts/measure.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD 300
#define AT_ONCE 64 /* records published before they are read */
#define TRIPS 2000
#define SIZE ((uint64_t)128 << 20)
#define LIMIT ((uint64_t)64 << 20)

struct both {
    struct ring w, r;
    double us[2]; /* times of the writer, and of the reader */
};

static void append(struct ring *w, struct slice record)
{
    char *place = ring_reserve_record(w, record.n);
    if (place == NULL)
        die("no room");
    memcpy(place, record.p, record.n);
    ring_add_record_head(w, 1, record.n);
}

static size_t read_all(struct ring *r)
{
    static volatile char last;
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    size_t n = 0;
    for (; ring_read_next_record(r, &kind, &bytes, &at) == 0; n++)
        last = bytes.p[bytes.n - 1];
    (void)last;
    return n;
}

/* Adds the times of AT_ONCE records, each of which is published separately. */
static void pass(struct both *b, struct slice record)
{
    double start = cpu_us();
    for (int i = 0; i < AT_ONCE; i++) {
        append(&b->w, record);
        if (ring_publish_records(&b->w))
            die("nobody sleeps");
    }
    double middle = cpu_us();
    if (read_all(&b->r) != AT_ONCE || ring_release_records(&b->r))
        die("records are missing");
    b->us[0] += middle - start;
    b->us[1] += cpu_us() - middle;
}

static void one_process(struct slice record)
{
    struct both b;
    double ns[2][ROUNDS];
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (fd < 0 || ring_create(&b.w, fd, SIZE, LIMIT, slice_of("")) < 0 || ring_open(&b.r, fd) < 0)
        die("no ring");
    for (int i = -1; i < ROUNDS; i++) { /* the first warms up */
        uint64_t n = 0;
        b.us[0] = b.us[1] = 0;
        for (; b.us[0] + b.us[1] < ROUND_US; n += AT_ONCE)
            pass(&b, record);
        for (int k = 0; i >= 0 && k < 2; k++)
            ns[k][i] = b.us[k] * 1000 / (double)n;
    }
    for (int k = 0; k < 2; k++)
        qsort(ns[k], ROUNDS, sizeof ns[k][0], by_value);
    printf("%-34s %8.0f ns\n", "append and publish", ns[0][ROUNDS / 2]);
    printf("%-34s %8.0f ns\n", "read, and release 64 at once", ns[1][ROUNDS / 2]);
    ring_close(&b.w);
    ring_close(&b.r);
    close(fd);
}

/* ---- two processes ---- */

static void wake(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof one) != (ssize_t)sizeof one)
        die("cannot wake");
}

static void wait_until_woken(int fd)
{
    uint64_t n;
    if (read(fd, &n, sizeof n) != (ssize_t)sizeof n)
        die("cannot wait");
}

static _Noreturn void run_reader(int fd, bool sleeps, const int wakes[2])
{
    struct ring r;
    if (ring_open(&r, fd) < 0)
        die("no ring");
    while (!ring_is_finished(&r)) {
        if (read_all(&r) > 0 && ring_release_records(&r))
            wake(wakes[0]);
        if (sleeps && ring_put_reader_to_sleep(&r)) {
            wait_until_woken(wakes[1]);
            ring_mark_reader_awake(&r);
        }
    }
    _exit(0);
}

static double elapsed_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        die("no clock");
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double trip(struct ring *w, struct slice record, bool sleeps, const int wakes[2])
{
    double start = elapsed_us();
    append(w, record);
    if (ring_publish_records(w))
        wake(wakes[1]);
    while (!ring_has_stored_everything(w))
        if (sleeps)
            wait_until_woken(wakes[0]);
    return elapsed_us() - start;
}

/* The median of TRIPS, in microseconds. */
static double two_processes(struct slice record, bool sleeps)
{
    static double us[TRIPS];
    struct ring w;
    int wakes[2] = {eventfd(0, EFD_CLOEXEC), eventfd(0, EFD_CLOEXEC)};
    int fd = memfd_create("ring", MFD_CLOEXEC);
    if (fd < 0 || wakes[0] < 0 || wakes[1] < 0 ||
        ring_create(&w, fd, SIZE, LIMIT, slice_of("")) < 0)
        die("no ring");
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0)
        die("no process");
    if (pid == 0)
        run_reader(fd, sleeps, wakes);
    ring_set_writer_waits(&w, sleeps);
    for (int i = 0; i < TRIPS; i++)
        us[i] = trip(&w, record, sleeps, wakes);
    if (ring_mark_ended(&w))
        wake(wakes[1]);
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0)
        die("the reader failed");
    ring_close(&w);
    close(fd);
    close(wakes[0]);
    close(wakes[1]);
    qsort(us, TRIPS, sizeof *us, by_value);
    return us[TRIPS / 2];
}

int main(void)
{
    struct buf record = {0};
    fill(&record, words, RECORD);
    struct slice bytes = {record.p, RECORD};
    printf("a record of %d B in the journal\n", RECORD);
    one_process(bytes);
    double spinning = two_processes(bytes, false), sleeping = two_processes(bytes, true);
    printf("%-34s %8.0f ns\n", "round trip, both sides poll", spinning * 1000);
    printf("%-34s %8.0f ns\n", "round trip, both sides sleep", sleeping * 1000);
    buf_close(&record);
    return 0;
}
