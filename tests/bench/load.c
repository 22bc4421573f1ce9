/* load.c - the load generator of the benchmark.
 *
 *     load [OPTIONS] -- COMMAND [ARG...]
 *
 * Starts COMMAND, communicates with it over two pipes like an MCP client, checks each answer (order, id,
 * length, text) and prints the results as one line of JSON. COMMAND is echo, or a program in front of
 * echo. Three workloads:
 *
 *   requests   --count messages of --size bytes, at most --window of them unanswered (1: round
 *              trips one after the other). --seconds bounds the time as well. Answers are as long, or of
 *              --answer bytes.
 *   --flood    waits for COUNT notifications of --size bytes (the server is echo --flood).
 *   --starts   starts COMMAND N times and measures from before the fork to the answer of
 *              initialize, then from the end of its stdin to its exit.
 *
 * A round trip starts when its request is ready to be written, so it includes waiting for a full
 * pipe. "mb_per_s" counts the bytes of the direction with the longer messages. "cpu_us" is the CPU
 * time of our processes (ours.h) for one message, until the last process has exited; "pss_kb" is
 * their highest memory (--pss).
 *
 * Owns    the child: on a failure it is killed, and its output is shown.
 * Blocks  in poll(), at most STALL_MS without progress, then it fails. */
#include "tests/bench/lines.h"
#include "tests/bench/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 20000
#define SAMPLE_NS 5000000u /* --pss: how often memory is measured */
#define MAX_SIZE ((size_t)128 << 20)
#define MAX_WINDOW 65536
#define BATCH_BYTES ((size_t)64 << 10) /* requests written at once: as many as a pipe holds */
#define ID_DIGITS 8
#define FIRST_ID 10000000 /* all ids have ID_DIGITS digits, so all requests one length */
#define COMPARE_ALL                                                                                \
    ((size_t)64 << 10) /* bytes; of longer answers, this much of both ends is compared */

struct options {
    size_t count;    /* requests measured */
    size_t warm;     /* requests before the measured ones */
    size_t size;     /* bytes of a message, its newline included */
    size_t answer;   /* bytes, likewise; COMMAND ends in echo --answer BYTES. 0: as the request */
    size_t window;   /* most requests unanswered */
    size_t flood;    /* notifications awaited; 0: another workload */
    size_t starts;   /* times to start; 0: another workload */
    double seconds;  /* stop sending after this long; 0: no limit */
    size_t pause_ms; /* before each request, with --window 1 */
    bool pin;        /* pin this process to the first core, the child to the second */
    bool two;        /* pin this process and the child to the first two cores */
    bool socket;     /* use socket pairs instead of pipes, as Node does */
    bool source;     /* texts look like source code: escapes and UTF-8 */
    bool distinct;   /* each text begins with the request's id, so no two are equal */
    char **command;  /* borrowed from argv, NULL-ended */
};

/* Times in 1024 steps to the doubling: 0.1 % at worst, in constant memory. */
#define STEPS 1024
#define DOUBLINGS 36 /* up to 2^45 ns, ten hours */
struct histogram {
    uint64_t bucket[STEPS * DOUBLINGS];
    uint64_t n;
    uint64_t max_ns;
};

struct child {
    pid_t pid; /* > 0 until reaped */
    int in;    /* its stdin, non-blocking; -1 once closed */
    int out;   /* its stdout, non-blocking */
};

/* Bytes read but not consumed: head <= tail <= cap. */
struct input {
    char *buf; /* owned */
    size_t head, tail, cap;
};

static bool spin; /* --spin: poll instead of sleeping */
static bool pss;  /* --pss: measure memory while waiting */
static long pss_kb;
static struct child child;
static struct input input;
static struct histogram times;

__attribute__((format(printf, 1, 2), noreturn)) static void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("load: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    if (child.pid > 0)
        kill(-child.pid, SIGKILL);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void times_clear(void)
{
    memset(&times, 0, sizeof times);
}

static void times_add(uint64_t ns)
{
    size_t at = (size_t)ns;
    if (ns >= STEPS) {
        unsigned shift = 63u - (unsigned)__builtin_clzll(ns) - 10u;
        at = (size_t)(shift * STEPS + (ns >> shift));
    }
    if (at >= STEPS * DOUBLINGS)
        at = STEPS * DOUBLINGS - 1;
    times.bucket[at]++;
    times.n++;
    if (ns > times.max_ns)
        times.max_ns = ns;
}

/* The time in microseconds that this part of all times does not exceed. */
static double times_us(double part)
{
    uint64_t rank = (uint64_t)(part * (double)times.n);
    uint64_t seen = 0;
    for (size_t at = 0; at < STEPS * DOUBLINGS; at++) {
        seen += times.bucket[at];
        if (seen > rank) {
            unsigned shift = at < STEPS ? 0 : (unsigned)(at / STEPS) - 1;
            return (double)((uint64_t)(at - (size_t)shift * STEPS) << shift) / 1e3;
        }
    }
    return (double)times.max_ns / 1e3;
}

/* Pins to n of the cores that this process may use, from the first (0) or the second (1) on. */
static void pin_to(int which, int n)
{
    static cpu_set_t allowed; /* read once: after pinning it has one core only */
    cpu_set_t some;
    CPU_ZERO(&some);
    if (CPU_COUNT(&allowed) == 0 && sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        die("sched_getaffinity: %s", strerror(errno));
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && which-- <= 0 && n-- > 0)
            CPU_SET(cpu, &some);
    if (n > 0)
        die("--pin and --two-cores need two cores");
    if (sched_setaffinity(0, sizeof some, &some) < 0)
        die("sched_setaffinity: %s", strerror(errno));
}

static void child_start(const struct options *o)
{
    int in[2];
    int out[2];
    int st =
        o->socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) : pipe2(in, O_CLOEXEC);
    if (st == 0)
        st = o->socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out)
                       : pipe2(out, O_CLOEXEC);
    if (st != 0)
        die("pipe: %s", strerror(errno));

    pid_t pid = fork();
    if (pid < 0)
        die("fork: %s", strerror(errno));
    if (pid == 0) {
        setpgid(0, 0);
        if (o->pin)
            pin_to(1, 1);
        if (dup2(in[0], STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0)
            _exit(127);
        signal(SIGPIPE, SIG_DFL);
        execvp(o->command[0], o->command);
        fprintf(stderr, "load: cannot run %s: %s\n", o->command[0], strerror(errno));
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    child = (struct child){.pid = pid, .in = in[1], .out = out[0]};
    if (fcntl(child.in, F_SETFL, O_NONBLOCK) < 0 || fcntl(child.out, F_SETFL, O_NONBLOCK) < 0)
        die("fcntl: %s", strerror(errno));
    input.head = input.tail = 0;
}

/* Highest resident memory of the child so far, without its children. */
static long child_peak_kb(void)
{
    char path[64];
    char line[256];
    long kb = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child.pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && kb < 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kb;
}

/* Measures memory if SAMPLE_NS have passed. */
static void pss_sample(void)
{
    static uint64_t next_ns;
    uint64_t now = now_ns();
    if (now < next_ns || child.pid <= 0)
        return;
    long kb = ours_pss_kb(child.pid);
    if (kb > pss_kb)
        pss_kb = kb;
    next_ns = now + SAMPLE_NS;
}

/* Waits until the child's output can be read or, if want_write, its input can be written. */
static void wait_ready(bool want_write, bool *ret_read, bool *ret_write)
{
    struct pollfd p[] = {{.fd = child.out, .events = POLLIN},
                         {.fd = want_write ? child.in : -1, .events = POLLOUT}};
    int n;
    uint64_t until = 0;
    do {
        if (pss)
            pss_sample();
        n = poll(p, 2, spin ? 0 : STALL_MS);
        if (n == 0 && spin && until == 0)
            until = now_ns() + (uint64_t)STALL_MS * 1000000u;
    } while ((n < 0 && errno == EINTR) || (n == 0 && spin && now_ns() < until));
    if (n < 0)
        die("poll: %s", strerror(errno));
    if (n == 0)
        die("nothing came for %d s; unfinished: %.*s", STALL_MS / 1000,
            (int)(input.tail - input.head < 200 ? input.tail - input.head : 200),
            input.buf + input.head);
    *ret_read = p[0].revents != 0;
    *ret_write = p[1].revents != 0;
}

/* Reads once. Returns false at the end of the child's output. */
static bool input_fill(void)
{
    size_t left = input.tail - input.head;
    if (input.head > 0 && (left < 4096 || input.tail == input.cap)) {
        memmove(input.buf, input.buf + input.head, left);
        input.head = 0;
        input.tail = left;
    }
    if (input.tail == input.cap)
        die("too long a line: %.200s", input.buf);
    ssize_t n = read(child.out, input.buf + input.tail, input.cap - input.tail);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        die("read: %s", strerror(errno));
    if (n > 0)
        input.tail += (size_t)n;
    return n != 0;
}

/* Writes as much of p as the child accepts now; returns how much. */
static size_t output_write(const char *p, size_t n)
{
    ssize_t done = write(child.in, p, n);
    if (done < 0 && errno != EAGAIN && errno != EINTR)
        die("write: %s", strerror(errno));
    return done < 0 ? 0 : (size_t)done;
}

static void output_write_all(const char *p, size_t n)
{
    while (n > 0) {
        bool readable;
        bool writable;
        size_t done = output_write(p, n);
        p += done;
        n -= done;
        if (n > 0)
            wait_ready(true, &readable, &writable);
    }
}

/* Waits for a line; it is borrowed until the next read. */
static char *input_line(size_t *ret_len)
{
    for (;;) {
        bool readable;
        bool writable;
        char *line = input.buf + input.head;
        char *nl = memchr(line, '\n', input.tail - input.head);
        if (nl != NULL) {
            *ret_len = (size_t)(nl + 1 - line);
            input.head += *ret_len;
            return line;
        }
        wait_ready(false, &readable, &writable);
        if (!input_fill())
            die("the output ended too early");
    }
}

static void initialize(void)
{
    size_t len;
    output_write_all(INITIALIZE, LEN(INITIALIZE));
    char *line = input_line(&len);
    if (len != LEN(INITIALIZE_ANSWER) || memcmp(line, INITIALIZE_ANSWER, len) != 0)
        die("not the answer of initialize: %.*s", (int)(len < 200 ? len : 200), line);
}

/* Ends the child by closing its stdin. Returns the microseconds until it exited. */
static double child_end(void)
{
    uint64_t start = now_ns();
    int status = 0;
    close(child.in);
    child.in = -1;
    for (;;) {
        bool readable;
        bool writable;
        wait_ready(false, &readable, &writable);
        if (!input_fill())
            break;
        if (input.head != input.tail)
            die("more than was asked for: %.*s",
                (int)(input.tail - input.head < 200 ? input.tail - input.head : 200),
                input.buf + input.head);
    }
    struct pollfd gone = {.fd = (int)syscall(SYS_pidfd_open, child.pid, 0), .events = POLLIN};
    if (gone.fd < 0)
        die("pidfd_open: %s", strerror(errno));
    if (poll(&gone, 1, STALL_MS) != 1 || waitpid(child.pid, &status, 0) != child.pid)
        die("the command does not end");
    close(gone.fd);
    close(child.out);
    child.pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        die("the command ended with %s %d", WIFEXITED(status) ? "status" : "signal",
            WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return (double)(now_ns() - start) / 1e3;
}

static void digits_set(char *at, size_t digits, uint64_t value)
{
    for (size_t d = digits; d-- > 0; value /= 10)
        at[d] = (char)('0' + value % 10);
}

static void answer_check(const char *got, const char *want, size_t size)
{
    size_t end = size < COMPARE_ALL ? size : COMPARE_ALL;
    if (memcmp(got, want, end) != 0 || memcmp(got + size - end, want + size - end, end) != 0)
        die("wrong answer: %.*s", (int)(size < 300 ? size : 300), got);
}

struct traffic {
    size_t measured;
    double elapsed_s;
};

static struct traffic requests_run(const struct options *o)
{
    size_t batch_max = BATCH_BYTES / o->size > 0 ? BATCH_BYTES / o->size : 1;
    if (batch_max > o->window)
        batch_max = o->window;
    char *out = malloc(batch_max * o->size);
    char *want = malloc(o->answer);
    uint64_t *sent_ns = calloc(o->window, sizeof *sent_ns);
    if (out == NULL || want == NULL || sent_ns == NULL)
        die("no memory");

    /* The lines are prepared in the buffer; only the ids are replaced. */
    size_t text_len = o->size - ID_DIGITS - LEN(REQUEST_HEAD REQUEST_TEXT REQUEST_END);
    char *p = out;
    memcpy(p, REQUEST_HEAD, LEN(REQUEST_HEAD));
    memcpy(p + LEN(REQUEST_HEAD) + ID_DIGITS, REQUEST_TEXT, LEN(REQUEST_TEXT));
    lines_fill(p + LEN(REQUEST_HEAD REQUEST_TEXT) + ID_DIGITS, text_len, o->source);
    memcpy(p + o->size - LEN(REQUEST_END), REQUEST_END, LEN(REQUEST_END));
    memcpy(want, ANSWER_HEAD, LEN(ANSWER_HEAD));
    memcpy(want + LEN(ANSWER_HEAD) + ID_DIGITS, ANSWER_TEXT, LEN(ANSWER_TEXT));
    text_len = o->answer - ID_DIGITS - LEN(ANSWER_HEAD ANSWER_TEXT ANSWER_END);
    lines_fill(want + LEN(ANSWER_HEAD ANSWER_TEXT) + ID_DIGITS, text_len, o->source);
    memcpy(want + o->answer - LEN(ANSWER_END), ANSWER_END, LEN(ANSWER_END));
    for (size_t i = 1; i < batch_max; i++)
        memcpy(out + i * o->size, out, o->size);

    size_t total = o->warm + o->count;
    size_t sent = 0; /* answered <= sent <= total, sent - answered <= window */
    size_t answered = 0;
    size_t out_head = 0; /* out_head <= out_tail: written, ready */
    size_t out_tail = 0;
    uint64_t start = now_ns();
    uint64_t last = start;
    while (answered < total) {
        if (out_head == out_tail) {
            size_t n = o->window - (sent - answered);
            uint64_t now = now_ns();
            if (n > batch_max)
                n = batch_max;
            if (o->seconds > 0 && sent > o->warm && (double)(now - start) / 1e9 > o->seconds)
                total = sent;
            if (n > total - sent)
                n = total - sent;
            if (o->pause_ms > 0 && n > 0) {
                usleep((useconds_t)o->pause_ms * 1000);
                now = now_ns();
            }
            for (size_t i = 0; i < n; i++, sent++) {
                char *line = out + i * o->size;
                digits_set(line + LEN(REQUEST_HEAD), ID_DIGITS, FIRST_ID + sent);
                if (o->distinct)
                    digits_set(line + LEN(REQUEST_HEAD REQUEST_TEXT) + ID_DIGITS, ID_DIGITS,
                               FIRST_ID + sent);
                sent_ns[sent % o->window] = now;
            }
            out_head = 0;
            out_tail = n * o->size;
            if (answered == total)
                break;
        }
        bool readable;
        bool writable = true;
        if (out_head < out_tail)
            out_head += output_write(out + out_head, out_tail - out_head);
        wait_ready(out_head < out_tail, &readable, &writable);
        if (!readable)
            continue;
        if (!input_fill())
            die("the output ended after %zu answers", answered);
        last = now_ns();
        while (input.tail - input.head >= o->answer) {
            digits_set(want + LEN(ANSWER_HEAD), ID_DIGITS, FIRST_ID + answered);
            if (o->distinct)
                digits_set(want + LEN(ANSWER_HEAD ANSWER_TEXT) + ID_DIGITS, ID_DIGITS,
                           FIRST_ID + answered);
            answer_check(input.buf + input.head, want, o->answer);
            input.head += o->answer;
            times_add(last - sent_ns[answered % o->window]);
            if (++answered == o->warm) {
                times_clear();
                start = last;
            }
        }
        size_t part = input.tail - input.head;
        if (part > LEN(ANSWER_HEAD) + ID_DIGITS + LEN(ANSWER_TEXT)) {
            digits_set(want + LEN(ANSWER_HEAD), ID_DIGITS, FIRST_ID + answered);
            answer_check(input.buf + input.head, want,
                         LEN(ANSWER_HEAD) + ID_DIGITS + LEN(ANSWER_TEXT));
        }
    }
    free(out);
    free(want);
    free(sent_ns);
    return (struct traffic){answered - o->warm, (double)(last - start) / 1e9};
}

static struct traffic flood_run(const struct options *o)
{
    uint64_t start = now_ns();
    char head[LEN(FLOOD_HEAD) + FLOOD_DIGITS];
    size_t got = 0;
    memcpy(head, FLOOD_HEAD, LEN(FLOOD_HEAD));
    while (got < o->flood) {
        bool readable;
        bool writable;
        wait_ready(false, &readable, &writable);
        if (!input_fill())
            die("the output ended after %zu notifications", got);
        while (input.tail - input.head >= o->size) {
            const char *line = input.buf + input.head;
            digits_set(head + LEN(FLOOD_HEAD), FLOOD_DIGITS, got);
            if (memcmp(line, head, sizeof head) != 0 || line[o->size - 1] != '\n')
                die("wrong notification: %.*s", (int)(o->size < 200 ? o->size : 200), line);
            input.head += o->size;
            got++;
        }
    }
    return (struct traffic){got, (double)(now_ns() - start) / 1e9};
}

static void starts_run(const struct options *o)
{
    double first_us = 0;
    double end_us = 0;
    double cpu_s = 0;
    long peak_kb = 0;
    for (size_t i = 0; i < o->starts; i++) {
        uint64_t start = now_ns();
        child_start(o);
        initialize();
        uint64_t took = now_ns() - start;
        times_add(took);
        if (i == 0)
            first_us = (double)took / 1e3;
        output_write_all(INITIALIZED, LEN(INITIALIZED));
        peak_kb = child_peak_kb();
        end_us += child_end();
        cpu_s = ours_wait_all_cpu_s();
    }
    printf("{\"workload\":\"starts\",\"count\":%zu,\"first_us\":%.1f,\"median_us\":%.1f,"
           "\"p99_us\":%.1f,\"max_us\":%.1f,\"end_us\":%.1f,\"cpu_us\":%.1f,\"peak_kb\":%ld}\n",
           o->starts, first_us, times_us(0.5), times_us(0.99), (double)times.max_ns / 1e3,
           end_us / (double)o->starts, cpu_s * 1e6 / (double)o->starts, peak_kb);
}

static void traffic_run(const struct options *o)
{
    child_start(o);
    initialize();
    output_write_all(INITIALIZED, LEN(INITIALIZED));
    struct traffic t = o->flood > 0 ? flood_run(o) : requests_run(o);
    long peak_kb = child_peak_kb();
    double others_s = ours_others_cpu_s(child.pid);
    double end_us = child_end();
    double cpu_s = ours_wait_all_cpu_s();
    double n = (double)t.measured;
    double cpu_us = (cpu_s - others_s) * 1e6 / (n + (double)(o->flood > 0 ? 0 : o->warm));
    printf("{\"workload\":\"%s\",\"size\":%zu,\"window\":%zu,\"messages\":%zu,"
           "\"elapsed_s\":%.6f,\"per_s\":%.1f,\"mb_per_s\":%.2f,",
           o->flood > 0 ? "flood" : "requests", o->size, o->window, t.measured, t.elapsed_s,
           n / t.elapsed_s,
           n * (double)(o->answer > o->size ? o->answer : o->size) / t.elapsed_s / 1e6);
    if (o->flood == 0)
        printf("\"median_us\":%.2f,\"p99_us\":%.2f,\"p999_us\":%.2f,\"max_us\":%.2f,",
               times_us(0.5), times_us(0.99), times_us(0.999), (double)times.max_ns / 1e3);
    printf("\"end_us\":%.1f,\"cpu_s\":%.3f,\"cpu_us\":%.2f,\"peak_kb\":%ld,\"pss_kb\":%ld}\n",
           end_us, cpu_s, cpu_us, peak_kb, pss_kb);
}

static const char help[] =
    "usage: load [OPTIONS] -- COMMAND [ARG...]\n"
    "  --count N      requests to measure (10000)\n"
    "  --warm N       requests before those (0)\n"
    "  --size BYTES   length of a message with its newline (300)\n"
    "  --answer BYTES length of an answer (that of the request; COMMAND ends in echo --answer "
    "BYTES)\n"
    "  --window N     most requests unanswered (1)\n"
    "  --seconds S    stop sending after S seconds\n"
    "  --flood N      wait for N notifications instead (COMMAND ends in echo --flood N SIZE)\n"
    "  --starts N     start N times instead, up to the answer of initialize\n"
    "  --distinct     no two requests are equal: a text begins with the id\n"
    "  --source       texts with escapes and UTF-8, as source code has, instead of plain words\n"
    "  --pause MS     wait before each request\n"
    "  --socket       socket pairs instead of pipes, as Node gives a child\n"
    "  --pin          this process on one core, COMMAND on another\n"
    "  --two-cores    this process and COMMAND on two cores\n"
    "  --spin         ask again and again for an answer instead of sleeping\n"
    "  --pss          measure the memory of our processes meanwhile; implies --spin\n";

static size_t number(const char *name, const char *text, size_t min, size_t max)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || n < min || n > max)
        die("--%s takes a number from %zu to %zu", name, min, max);
    return (size_t)n;
}

int main(int argc, char **argv)
{
    enum {
        COUNT,
        WARM,
        SIZE,
        ANSWER,
        WINDOW,
        SECONDS,
        FLOOD,
        STARTS,
        SOURCE,
        DISTINCT,
        SOCKET,
        PAUSE,
        PIN,
        TWO,
        PSS,
        SPIN,
        HELP
    };
    static const struct option longs[] = {
        {"count", required_argument, NULL, COUNT},
        {"warm", required_argument, NULL, WARM},
        {"size", required_argument, NULL, SIZE},
        {"answer", required_argument, NULL, ANSWER},
        {"window", required_argument, NULL, WINDOW},
        {"seconds", required_argument, NULL, SECONDS},
        {"flood", required_argument, NULL, FLOOD},
        {"starts", required_argument, NULL, STARTS},
        {"source", no_argument, NULL, SOURCE},
        {"distinct", no_argument, NULL, DISTINCT},
        {"socket", no_argument, NULL, SOCKET},
        {"pause", required_argument, NULL, PAUSE},
        {"pin", no_argument, NULL, PIN},
        {"two-cores", no_argument, NULL, TWO},
        {"pss", no_argument, NULL, PSS},
        {"spin", no_argument, NULL, SPIN},
        {"help", no_argument, NULL, HELP},
        {0},
    };
    const size_t min_size = 2 * ID_DIGITS + LEN(REQUEST_HEAD REQUEST_TEXT REQUEST_END);
    const size_t max_count = 40000000; /* keeps the ids at ID_DIGITS digits */
    struct options o = {.count = 10000, .size = 300, .window = 1};
    int c;
    while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
        switch (c) {
        case COUNT:
            o.count = number("count", optarg, 1, max_count);
            break;
        case WARM:
            o.warm = number("warm", optarg, 0, max_count);
            break;
        case SIZE:
            o.size = number("size", optarg, min_size, MAX_SIZE);
            break;
        case ANSWER:
            o.answer = number("answer", optarg, ANSWER_MIN_SIZE, ANSWER_MAX_SIZE);
            break;
        case WINDOW:
            o.window = number("window", optarg, 1, MAX_WINDOW);
            break;
        case SECONDS:
            o.seconds = (double)number("seconds", optarg, 1, 3600);
            o.count = max_count;
            break;
        case FLOOD:
            o.flood = number("flood", optarg, 1, FLOOD_MAX);
            break;
        case STARTS:
            o.starts = number("starts", optarg, 1, 100000);
            break;
        case SOURCE:
            o.source = true;
            break;
        case DISTINCT:
            o.distinct = true;
            break;
        case SOCKET:
            o.socket = true;
            break;
        case PAUSE:
            o.pause_ms = number("pause", optarg, 1, 10000);
            break;
        case PSS:
            pss = spin = true;
            break;
        case PIN:
            o.pin = true;
            break;
        case TWO:
            o.two = true;
            break;
        case SPIN:
            spin = true;
            break;
        case HELP:
            fputs(help, stdout);
            return 0;
        default:
            fputs(help, stderr);
            return 2;
        }
    }
    o.command = argv + optind;
    if (o.command[0] == NULL) {
        fputs(help, stderr);
        return 2;
    }

    signal(SIGPIPE, SIG_IGN);
    if (!ours_watch())
        die("prctl: %s", strerror(errno));
    if (o.answer > 0 && (o.source || o.distinct))
        die("with --answer all texts are plain words");
    if (o.answer == 0)
        o.answer = o.size;
    if (o.pin)
        pin_to(0, 1);
    else if (o.two)
        pin_to(0, 2);
    input.cap = o.answer + ((size_t)1 << 20);
    input.buf = malloc(input.cap);
    if (input.buf == NULL)
        die("no memory");
    if (o.starts > 0)
        starts_run(&o);
    else
        traffic_run(&o);
    free(input.buf);
    return 0;
}
