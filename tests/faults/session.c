/* session.c - a scripted session in which the N-th call fails, for N = 1, 2, ... until none is left.
 *
 *   session CALLS HOW POLICY [STRIDE [FIRST]]
 *
 * CALLS     what fails: memory (ours and SQLite's), write, io (write, with EIO), short (a write
 *           takes half), sync, open, other (truncation, mapping, reading)
 * HOW       once; on (from then until shortly before the end of the session); ever
 * POLICY    pass or stop, as --on-record-error
 * STRIDE    try every STRIDE-th N only, from FIRST on; 0: a sample of the calls from each place in the code (places.h)
 *
 * No session may crash, leak memory or leave a descriptor open, and each must pass the checks of look.h.
 * Ends with one line, `ok - ...` or `not ok - ...`; exit status 0 or 1. */
#include "tests/faults/fault.h"
#include "tests/faults/look.h"
#include "tests/faults/meant.h"
#include "tests/faults/places.h"
#include "tests/faults/play.h"
#include "tests/faults/recording.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct plan {
    bool stop;
    long stride, first;
    char root[100], vault[120], journals[64];
};

/* Shared by the process that runs the sessions and the one that waits for it. */
static struct report {
    long n;    /* the N being tried */
    long runs; /* sessions so far */
    bool good;
    char why[sizeof look_verdict + 3000];
} * report;

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d == NULL)
        abort();
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* What a session must not change. */
struct rest {
    size_t blocks, sqlite_blocks, descriptors;
};

static struct rest rest_now(void)
{
    return (struct rest){memory_blocks(), memory_sqlite_blocks(), open_descriptors()};
}

static bool rest_is(const struct rest *was)
{
    struct rest now = rest_now();
    if (now.blocks != was->blocks)
        return look_bad("%zu blocks of memory before, %zu after", was->blocks, now.blocks);
    if (now.sqlite_blocks != was->sqlite_blocks)
        return look_bad("%zu blocks of SQLite's before, %zu after", was->sqlite_blocks,
                        now.sqlite_blocks);
    if (now.descriptors != was->descriptors)
        return look_bad("%zu descriptors before, %zu after", was->descriptors, now.descriptors);
    return true;
}

static bool session_is_right(const struct plan *plan, bool began)
{
    if (!began)
        return (play_got(ROW_C2S).n == 0 && play_got(ROW_S2C).n == 0) ||
               look_bad("bytes were sent although the session did not start");
    if (recording_is_damaged())
        return look_bad("the recorder found the journal damaged");
    if (!recording_next_command(plan->vault))
        return look_bad("a journal is left after the next command");
    return look_at_peers(play.closed) && look_at_vault(plan->vault);
}

static bool try_one(const struct plan *plan, long n, const struct rest *rest)
{
    fault.at = n;
    bool began = play_session(plan->vault, plan->stop);
    if (session_is_right(plan, began) && rest_is(rest))
        return true;
    snprintf(report->why, sizeof report->why, "N = %ld: %s\n# the log:\n# %.2500s", n, look_verdict,
             meant_log());
    return false;
}

/* A session without a fault. Returns the number of calls that can fail. */
static long count_calls(const struct plan *plan)
{
    fault.at = LONG_MAX;
    for (int i = 0; i < 2;
         i++) { /* twice: in the first one SQLite allocates memory that it keeps */
        places_watch(plan->stride == 0 && i == 1);
        if (!play_session(plan->vault, plan->stop))
            abort();
    }
    places_watch(false);
    long calls = fault.count;
    look_is_reference(plan->vault);
    if (!session_is_right(plan, true) || !meant_said("not a message")) {
        snprintf(report->why, sizeof report->why, "without a fault: %s\n# %.2500s", look_verdict,
                 meant_log());
        return -1;
    }
    if (calls == 0)
        snprintf(report->why, sizeof report->why, "the session makes no such call");
    return calls;
}

static void try_all(const struct plan *plan)
{
    memory_watch_sqlite();
    meant_watch_log();
    recording_use(plan->journals);
    play_open();
    long calls = count_calls(plan);
    if (calls <= 0)
        return;
    struct rest rest = rest_now();
    places_choose(2 * (long)fault.how + plan->stop);
    for (long n = plan->first; n <= calls; n += plan->stride > 0 ? plan->stride : 1) {
        if (plan->stride == 0 && !places_has(n))
            continue;
        report->n = n;
        if (!try_one(plan, n, &rest))
            return;
        report->runs++;
    }
    report->n = calls;
    report->good = true;
}

static int index_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "session: unknown value '%s'\n", name);
    exit(2);
}

static void read_plan(struct plan *plan, int argc, char **argv)
{
    static const char *const policies[] = {"pass", "stop"};
    if (argc < 4 || argc > 6) {
        fprintf(stderr, "usage: session CALLS HOW pass|stop [STRIDE [FIRST]]\n");
        exit(2);
    }
    fault.calls = (enum calls)index_of(calls_names, CALLS_COUNT, argv[1]);
    fault.how = (enum how)index_of(how_names, HOW_COUNT, argv[2]);
    plan->stop = index_of(policies, 2, argv[3]) == 1;
    plan->stride = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    plan->first = argc > 5 ? strtol(argv[5], NULL, 10) : 1;
    if (plan->stride < 0 || plan->first < 1) {
        fprintf(stderr, "session: STRIDE must be at least 0, FIRST at least 1\n");
        exit(2);
    }
    const char *tmp = getenv("TMPDIR");
    snprintf(plan->root, sizeof plan->root, "%s/mi-faults-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(plan->root) == NULL) {
        perror("session: mkdtemp");
        exit(2);
    }
    snprintf(plan->journals, sizeof plan->journals, "/dev/shm/mi-faults-XXXXXX");
    if (mkdtemp(plan->journals) == NULL) {
        perror("session: mkdtemp");
        exit(2);
    }
    snprintf(plan->vault, sizeof plan->vault, "%s/vault", plan->root);
}

int main(int argc, char **argv)
{
    static struct plan plan;
    read_plan(&plan, argc, argv);
    report = mmap(NULL, sizeof *report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    pid_t pid = fork(); /* a crash is a test result */
    if (pid == 0) {
        try_all(&plan);
        exit(0);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        perror("session: fork");
    play_remove(plan.root);
    play_remove(plan.journals);
    bool good = status == 0 && report->good;
    printf("%s - %s fails %s, %s: %ld sessions, the last with N = %ld\n", good ? "ok" : "not ok",
           argv[1], argv[2], argv[3], report->runs, report->n);
    if (status != 0 && WIFSIGNALED(status))
        printf("# killed by signal %d at N = %ld\n", WTERMSIG(status), report->n);
    else if (status != 0)
        printf("# exit status %d at N = %ld\n", WEXITSTATUS(status), report->n);
    if (report->why[0] != '\0')
        printf("# %s\n", report->why);
    return good ? 0 : 1;
}
