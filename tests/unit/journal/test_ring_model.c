/* The ring of a journal under every interleaving of its two sides.
 *
 * The functions under test are those of ring.c and steps.c, compiled here with their atomic accesses, memory_allocate()
 * and memory_free() replaced: each is one step. The writer and the reader are coroutines that stop before each step, and the explorer runs every
 * order of steps. A state that was seen before is not continued: it consists of shared memory and of what each
 * side has read since the last place in its program where its variables are known.
 *
 * Memory is that of x86 (total store order): a store that is not sequentially consistent waits in the side's buffer,
 * which becomes visible later, in its order. Weaker machines are covered by ThreadSanitizer (test_ring_threads.c), which
 * checks the use of acquire and release, and by the rule in ring.h about the four accesses.
 *
 * The reader can be killed before any of its steps. Another one takes its place. */
#include "journal/ring.h"

#include "base/os/memory.h"
#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <ucontext.h>

static uint64_t model_load(void *from, size_t n);
static void model_store(void *to, size_t n, uint64_t value, memory_order order);
static uint64_t model_exchange(void *to, size_t n, uint64_t value);
static int model_allocate(int fd, uint64_t at, uint64_t n);
static int model_free(int fd, uint64_t at, uint64_t n);
static int (*const real_allocate)(int, uint64_t, uint64_t) = memory_allocate;
static int (*const real_free)(int, uint64_t, uint64_t) = memory_free;

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#define atomic_load_explicit(p, order) model_load((p), sizeof *(p))
#define atomic_store_explicit(p, value, order) model_store((p), sizeof *(p), (value), (order))
#define atomic_exchange_explicit(p, value, order) model_exchange((p), sizeof *(p), (value))
#define memory_allocate model_allocate
#define memory_free model_free
#include "journal/steps.c"

#include "journal/ring.c"

enum {
    SIZE = 32768,
    PAGE = 4096,
    STACK = 65536,
    RECORDS_MAX = 8,
    STORES_MAX = 32,
    STEPS_MAX = 400
};

/* ---- programs ---- */

struct program {
    size_t n; /* records */
    size_t bytes[RECORDS_MAX];
    uint64_t limit;
    uint64_t begin; /* position of the first record */
    size_t publish; /* after so many records */
    size_t release; /* after at most so many records */
    bool sync;      /* the writer waits until a record is stored */
    bool kill;      /* the reader can be killed, once */
};

/* ---- sides ---- */

enum side_state { SIDE_RUNS, SIDE_WAITS, SIDE_IS_DONE };

struct store {
    void *to;
    size_t n;
    uint64_t value;
};

/* Of a side that is not running. */
struct place {
    ucontext_t context; /* where it begins */
    jmp_buf jump;       /* where it has stopped */
    bool begun;
};

struct side {
    struct place place;
    char *stack;
    enum side_state state;
    bool woken;      /* a wake-up that it has not received yet */
    uint64_t values; /* hash of its variables: of all that it has read since at_place() */
    struct store stores[STORES_MAX];
    size_t stores_n;
};

static const struct program *program;
static struct side writer, reader, *current; /* current: NULL in the explorer */
static struct place explorer = {.begun = true};
static const char *problem;
static bool no_seq_cst; /* treat sequentially consistent stores as release stores */

static struct ring created, w, r;
static bool page_is_allocated[SIZE / PAGE];
static size_t stored;     /* records that the reader has stored */
static uint64_t position; /* after the last of them */
static bool killed;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = ((hash + 0x632be59bd9b4e019u) ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* swapcontext() would make a system call each time, for the mask of signals. AddressSanitizer warns of jumps to another stack. */
static void change_place(struct place *from, struct place *to)
{
#ifdef __SANITIZE_ADDRESS__
    swapcontext(&from->context, &to->context);
#else
    if (_setjmp(from->jump) != 0)
        return;
    if (to->begun)
        _longjmp(to->jump, 1);
    to->begun = true;
    setcontext(&to->context);
#endif
}

static void stop(void)
{
    struct side *s = current;
    current = NULL;
    change_place(&s->place, &explorer);
}

/* Ends the side that finds it; the explorer reports it. */
static void require(bool fact, const char *otherwise)
{
    if (fact)
        return;
    problem = otherwise;
    stop();
}

static void see(uint64_t value)
{
    current->values = mix(current->values, value);
}

/* A place in a side's program where its variables have these values, whatever it has read before. */
static void at_place(uint64_t place, const struct ring *g, size_t number)
{
    uint64_t hash = mix(mix(place, number), g->end);
    hash = mix(mix(mix(hash, g->freed), (uint64_t)(g->to - g->data)), g->left);
    current->values = mix(mix(hash, g->at), g->checked);
}

static uint64_t get(const void *from, size_t n)
{
    uint64_t value = 0;
    memcpy(&value, from, n);
    return value;
}

static void show_first(struct side *s)
{
    memcpy(s->stores[0].to, &s->stores[0].value, s->stores[0].n);
    memmove(s->stores, s->stores + 1, --s->stores_n * sizeof *s->stores);
}

static void show_all(struct side *s)
{
    while (s->stores_n > 0)
        show_first(s);
}

/* ---- steps ---- */

/* Only this side changes it: when it is read does not matter. */
static bool is_own(const struct side *s, const void *p)
{
    size_t at = (size_t)((const char *)p - (const char *)created.shared);
    if (s == &writer)
        return at == offsetof(struct ring_shared, head);
    return at == offsetof(struct ring_shared, tail);
}

static uint64_t model_load(void *from, size_t n)
{
    if (current == NULL)
        return get(from, n);
    if (!is_own(current, from))
        stop();
    uint64_t value = get(from, n);
    for (size_t i = 0; i < current->stores_n; i++)
        if (current->stores[i].to == from)
            value = current->stores[i].value;
    see(value);
    return value;
}

static void model_store(void *to, size_t n, uint64_t value, memory_order order)
{
    if (current == NULL) {
        memcpy(to, &value, n);
        return;
    }
    stop();
    see(0);
    require(current->stores_n < STORES_MAX, "the model has too few places for stores");
    current->stores[current->stores_n++] = (struct store){to, n, value};
    if (order == memory_order_seq_cst && !no_seq_cst)
        show_all(current);
}

static uint64_t model_exchange(void *to, size_t n, uint64_t value)
{
    stop();
    show_all(current);
    uint64_t old = get(to, n);
    memcpy(to, &value, n);
    see(old);
    return old;
}

static void change_memory(uint64_t at, uint64_t n, bool allocated)
{
    stop();
    show_all(current); /* a system call */
    see(1);
    uint64_t start = (uint64_t)(w.data - (char *)w.shared);
    require(at >= start && n > 0 && at + n <= start + SIZE, "memory outside the records");
    for (uint64_t page = (at - start) / PAGE; page < (at - start + n) / PAGE; page++)
        page_is_allocated[page] = allocated;
}

static int model_allocate(int fd, uint64_t at, uint64_t n)
{
    if (current == NULL)
        return real_allocate(fd, at, n);
    change_memory(at, n, true);
    return 0;
}

static int model_free(int fd, uint64_t at, uint64_t n)
{
    if (current == NULL)
        return real_free(fd, at, n);
    change_memory(at, n, false);
    return 0;
}

/* A step of its own, so that the reader can be killed before it. */
static void store_in_database(size_t n, uint64_t at)
{
    stop();
    see(2);
    if (at > position) { /* otherwise the last reader has stored them */
        stored += n;
        position = at;
    }
}

static void wake(struct side *s)
{
    stop();
    show_all(current); /* a system call */
    see(3);
    s->woken = true;
}

static void wait_until_woken(void)
{
    current->state = SIDE_WAITS;
    stop();
    current->state = SIDE_RUNS;
    current->woken = false;
    show_all(current); /* a system call */
    see(4);
}

/* ---- the two sides ---- */

static char *place_when_there_is_room(size_t number, size_t n)
{
    char *place = ring_reserve_record(&w, n);
    if (place != NULL)
        return place;
    ring_set_writer_waits(&w, true);
    while ((place = ring_reserve_record(&w, n)) == NULL) {
        require(errno == ENOBUFS, "a place is missing for another reason than room");
        wait_until_woken();
        at_place(1, &w, number);
    }
    ring_set_writer_waits(&w, false);
    return place;
}

static void wait_until_stored(size_t number)
{
    ring_set_writer_waits(&w, true);
    while (!ring_has_stored_everything(&w)) {
        wait_until_woken();
        at_place(2, &w, number);
    }
    ring_set_writer_waits(&w, false);
}

static void fill(char *place, size_t n, size_t number)
{
    for (size_t i = 0; i < n; i += PAGE / 2)
        require(page_is_allocated[(size_t)(place + i - w.data) % SIZE / PAGE],
                "a place without memory: SIGBUS");
    if (n > 0)
        require(page_is_allocated[(size_t)(place + n - 1 - w.data) % SIZE / PAGE],
                "a place whose end has no memory: SIGBUS");
    memset(place, 'a' + (int)number, n);
}

static void run_writer(void)
{
    for (size_t i = 0; i < program->n; i++) {
        size_t n = program->bytes[i];
        at_place(3, &w, i);
        char *place = place_when_there_is_room(i, n);
        at_place(7, &w, i);
        fill(place, n, i);
        ring_add_record_head(&w, (uint32_t)i, n);
        if ((i + 1) % program->publish == 0 && ring_publish_records(&w))
            wake(&reader);
        if (program->sync)
            wait_until_stored(i);
    }
    if (ring_mark_ended(&w))
        wake(&reader);
    writer.state = SIDE_IS_DONE;
    stop();
}

static bool is_filled(struct slice bytes, size_t number)
{
    return bytes.n == 0 ||
           (bytes.p[0] == 'a' + (int)number && memcmp(bytes.p, bytes.p + 1, bytes.n - 1) == 0);
}

/* Stores the next records. */
static bool read_records(void)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    size_t n = 0;
    int st = MI_ENOENT;
    while (n < program->release && (st = ring_read_next_record(&r, &kind, &bytes, &at)) == 0) {
        size_t number = at >= position ? stored + n : kind; /* a record that is stored already */
        require(number < program->n && kind == number, "the order is not kept");
        require(bytes.n == program->bytes[kind], "the length is not kept");
        require(is_filled(bytes, kind), "a record was overwritten");
        n += at >= position;
        if (at < position)
            break;
    }
    require(st == 0 || st == MI_ENOENT, "a record is damaged");
    if (r.at == get(&r.shared->tail, 8))
        return false;
    at_place(6, &r, n);
    store_in_database(n, r.at);
    if (ring_release_records(&r))
        wake(&writer);
    return true;
}

static void run_reader(void)
{
    r = created;
    require(ring_move_reader_to_tail(&r), "the positions are not sound");
    if (ring_release_records(&r))
        wake(&writer);
    for (at_place(4, &r, 0); !ring_is_finished(&r); at_place(4, &r, 0)) {
        if (read_records())
            continue;
        if (ring_put_reader_to_sleep(&r)) {
            wait_until_woken();
            at_place(5, &r, 0);
            ring_mark_reader_awake(&r);
        }
    }
    reader.state = SIDE_IS_DONE;
    stop();
}

/* ---- the explorer ---- */

enum choice { STEP_WRITER, STEP_READER, SHOW_WRITER, SHOW_READER, KILL_READER, CHOICES };

static void start(struct side *s, void (*run)(void))
{
    s->state = SIDE_RUNS;
    s->woken = false;
    s->stores_n = 0;
    s->place.begun = false;
    getcontext(&s->place.context);
    s->place.context.uc_stack.ss_sp = s->stack;
    s->place.context.uc_stack.ss_size = STACK;
    s->place.context.uc_link = NULL;
    makecontext(&s->place.context, run, 0);
}

static void resume(struct side *s)
{
    current = s;
    change_place(&explorer, &s->place);
}

/* Every record before this position is released. */
static void begin_at(uint64_t position_now)
{
    size_t page = position_now % SIZE / PAGE;
    w.end = position_now;
    w.freed = position_now - position_now % PAGE;
    w.to = w.data + position_now % SIZE;
    w.left = round_up_to_multiple(position_now, PAGE) - position_now;
    if (w.left == 0)
        return;
    page_is_allocated[page] = true;
    w.steps.state[page] = STEP_HAS_MEMORY | STEP_IS_USED;
    w.table[page] = (uint32_t)page;
}

static void reset(void)
{
    struct ring_shared *s = created.shared;
    model_store(&s->head, 8, program->begin, memory_order_relaxed);
    model_store(&s->tail, 8, program->begin, memory_order_relaxed);
    model_store(&s->ended, 4, 0, memory_order_relaxed);
    model_store(&s->writer_waits, 4, 0, memory_order_relaxed);
    model_store(&s->reader_sleeps, 4, 0, memory_order_relaxed);
    memset(created.data, 0xee, SIZE);
    w = created;
    w.limit = program->limit;
    memset(page_is_allocated, 0, sizeof page_is_allocated);
    memset(w.steps.state, 0, w.steps.n);
    begin_at(program->begin);
    problem = NULL;
    killed = false;
    stored = 0;
    position = program->begin;
    writer.values = reader.values = 0;
    start(&writer, run_writer);
    start(&reader, run_reader);
    resume(&writer); /* to its first step */
    resume(&reader);
}

static bool can_step(const struct side *s)
{
    return s->state == SIDE_RUNS || (s->state == SIDE_WAITS && s->woken);
}

static size_t choices(enum choice *ret)
{
    size_t n = 0;
    if (can_step(&writer))
        ret[n++] = STEP_WRITER;
    if (can_step(&reader))
        ret[n++] = STEP_READER;
    if (writer.stores_n > 0)
        ret[n++] = SHOW_WRITER;
    if (reader.stores_n > 0)
        ret[n++] = SHOW_READER;
    if (program->kill && !killed && reader.state != SIDE_IS_DONE)
        ret[n++] = KILL_READER;
    return n;
}

static void do_choice(enum choice c)
{
    switch (c) {
    case STEP_WRITER:
        resume(&writer);
        break;
    case STEP_READER:
        resume(&reader);
        break;
    case SHOW_WRITER:
        show_first(&writer);
        break;
    case SHOW_READER:
        show_first(&reader);
        break;
    case KILL_READER:
        show_all(&reader);
        killed = true;
        start(&reader, run_reader);
        reader.values = mix(0, 5); /* the new one knows nothing */
        resume(&reader);
        break;
    case CHOICES:
        break;
    }
}

static uint64_t hash_side(uint64_t hash, const struct side *s)
{
    hash = mix(hash, s->values);
    hash = mix(hash, (uint64_t)s->state << 1 | s->woken);
    for (size_t i = 0; i < s->stores_n; i++)
        hash = mix(mix(hash, (uintptr_t)s->stores[i].to), s->stores[i].value);
    return mix(hash, s->stores_n);
}

static uint64_t hash_state(void)
{
    const struct ring_shared *s = created.shared;
    uint64_t hash = hash_side(hash_side(1, &writer), &reader);
    hash = mix(mix(hash, get(&s->head, 8)), get(&s->tail, 8));
    hash = mix(mix(hash, get(&s->writer_waits, 4)), get(&s->reader_sleeps, 4));
    hash = mix(mix(mix(hash, get(&s->ended, 4)), stored), killed);
    for (size_t i = 0; i < SIZE / PAGE; i++)
        hash = mix(mix(mix(hash, page_is_allocated[i]), w.steps.state[i]), w.table[i]);
    for (size_t i = 0; i < SIZE;
         i += 256) /* records are shorter than this, or filled with one byte */
        hash = mix(hash, (uint64_t)created.data[i]);
    return hash | 1;
}

/* The states seen so far. */
static struct {
    uint64_t *hash; /* open addressing; 0: free */
    size_t n, cap;
} seen;

static bool insert(uint64_t *table, size_t cap, uint64_t hash)
{
    size_t i = hash >> 7 & (cap - 1);
    while (table[i] != 0 && table[i] != hash)
        i = (i + 1) & (cap - 1);
    bool is_new = table[i] == 0;
    table[i] = hash;
    return is_new;
}

static bool is_new_state(uint64_t hash)
{
    if (2 * seen.n >= seen.cap) {
        size_t cap = seen.cap > 0 ? 2 * seen.cap : 4096;
        uint64_t *table = calloc(cap, sizeof *table);
        assert_non_null(table);
        for (size_t i = 0; i < seen.cap; i++)
            if (seen.hash[i] != 0)
                insert(table, cap, seen.hash[i]);
        free(seen.hash);
        seen.hash = table;
        seen.cap = cap;
    }
    bool is_new = insert(seen.hash, seen.cap, hash);
    seen.n += is_new;
    return is_new;
}

static enum choice taken[STEPS_MAX];
static size_t index_of[STEPS_MAX], count_of[STEPS_MAX];

/* Runs from the start along the first `known` choices, then along the first choice of each new state. Returns the
 * number of choices whose alternatives must be tried. */
static size_t run(size_t known)
{
    enum choice possible[CHOICES];
    reset();
    for (size_t depth = 0;; depth++) {
        size_t n = problem == NULL ? choices(possible) : 0;
        if (depth >= known && n > 0) {
            if (!is_new_state(hash_state()))
                return depth;
            index_of[depth] = 0;
            count_of[depth] = n;
        }
        if (n == 0 || (n == 1 && possible[0] == KILL_READER && problem == NULL)) {
            if (problem == NULL && (writer.state != SIDE_IS_DONE || reader.state != SIDE_IS_DONE))
                problem = "both sides sleep, and nobody wakes them";
            if (problem == NULL && stored != program->n)
                problem = "records are lost";
            if (problem != NULL || n == 0)
                return depth;
        }
        if (depth == STEPS_MAX) {
            problem = "the program does not end";
            return depth;
        }
        taken[depth] = possible[index_of[depth]];
        do_choice(taken[depth]);
    }
}

static void print_schedule(size_t n)
{
    static const char names[CHOICES] = {'w', 'r', 'W', 'R', 'K'};
    char text[STEPS_MAX + 1];
    for (size_t i = 0; i < n; i++)
        text[i] = names[taken[i]];
    text[n] = '\0';
    print_message("schedule: %s\n", text);
}

/* Runs every interleaving (in valgrind: some). Returns the problem of the first that has one; NULL: none. */
static const char *explore(const struct program *p)
{
    size_t known = 0, runs = 0;
    program = p;
    memset(&seen, 0, sizeof seen);
    do {
        known = run(known);
        runs++;
        if (problem != NULL)
            break;
        while (known > 0 && index_of[known - 1] + 1 == count_of[known - 1])
            known--;
        if (known > 0)
            index_of[known - 1]++;
    } while (known > 0 && !(unit_slow() && runs == 500));
    print_message("%d states, %d runs\n", (int)seen.n, (int)runs);
    if (problem != NULL && !no_seq_cst)
        print_schedule(known);
    free(seen.hash);
    return problem;
}

/* ---- tests ---- */

static int set_up(void **state)
{
    (void)state;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ring_create(&created, fd, SIZE, SIZE, slice_of("about")), 0);
    assert_int_equal(created.size, SIZE);
    assert_int_equal(created.step, PAGE);
    assert_int_equal(real_allocate(fd, 0, compute_ring_layout(SIZE, 5).end), 0);
    close(fd);
    writer.stack = malloc(STACK);
    reader.stack = malloc(STACK);
    return writer.stack == NULL || reader.stack == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    ring_close(&created);
    free(writer.stack);
    free(reader.stack);
    return 0;
}

static void check(struct program p)
{
    const char *found = explore(&p);
    if (found != NULL)
        fail_msg("%s", found);
    p.kill = true;
    found = explore(&p);
    if (found != NULL)
        fail_msg("with a killed reader: %s", found);
}

static void test_ring_model_single_records(void **state)
{
    (void)state;
    check(
        (struct program){.n = 3, .bytes = {10, 0, 200}, .limit = SIZE, .publish = 1, .release = 1});
}

static void test_ring_model_groups_of_records(void **state)
{
    (void)state;
    check((struct program){
        .n = 5, .bytes = {10, 0, 200, 1, 30}, .limit = SIZE, .publish = 2, .release = 3});
}

static void test_ring_model_full(void **state)
{
    (void)state;
    check(
        (struct program){.n = 3, .bytes = {56, 56, 56}, .limit = 128, .publish = 1, .release = 2});
}

/* Each record needs three pages of eight: the third waits for those of the first, and the rest of a page is skipped. */
static void test_ring_model_reused_memory(void **state)
{
    (void)state;
    check((struct program){.n = 3,
                           .bytes = {12000, 12000, 12000},
                           .limit = SIZE,
                           .begin = 2 * PAGE + 4000,
                           .publish = 1,
                           .release = 2});
}

static void test_ring_model_long_records(void **state)
{
    (void)state;
    check((struct program){
        .n = 2, .bytes = {16376, 12000}, .limit = 100, .begin = 16, .publish = 1, .release = 1});
}

static void test_ring_model_writer_waits_until_stored(void **state)
{
    (void)state;
    check((struct program){
        .n = 2, .bytes = {6000, 200}, .limit = SIZE, .publish = 1, .release = 1, .sync = true});
}

/* The explorer itself: it finds what the order of these accesses prevents. */
static void test_ring_model_without_sequential_consistency_finds_a_lost_wake_up(void **state)
{
    (void)state;
    const struct program sleep = {
        .n = 2, .bytes = {10, 10}, .limit = SIZE, .publish = 1, .release = 1};
    struct program room = {.n = 2, .bytes = {56, 56}, .limit = 64, .publish = 1, .release = 1};
    no_seq_cst = true;
    const char *found[2] = {explore(&sleep), explore(&room)};
    no_seq_cst = false;
    assert_non_null(found[0]);
    assert_non_null(found[1]);
    assert_string_equal(found[0], "both sides sleep, and nobody wakes them");
    assert_string_equal(found[1], "both sides sleep, and nobody wakes them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_model_single_records),
        cmocka_unit_test(test_ring_model_groups_of_records),
        cmocka_unit_test(test_ring_model_full),
        cmocka_unit_test(test_ring_model_reused_memory),
        cmocka_unit_test(test_ring_model_long_records),
        cmocka_unit_test(test_ring_model_writer_waits_until_stored),
        cmocka_unit_test(test_ring_model_without_sequential_consistency_finds_a_lost_wake_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
