#include "journal/ring.h"

#include "base/os/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* This limit is larger than the memory of any machine, and small enough that sums do not
 * overflow. */
#define SIZE_LIMIT ((uint64_t)1 << 40)
#define POSITION_LIMIT ((uint64_t)1 << 62)
#define LONG_STEPS 16 /* a record that takes at least this many steps of memory is a long record */

_Static_assert(sizeof(struct ring_shared) <= 4096, "the shared part is one page");
_Static_assert(sizeof(struct ring_head) == 8, "records are aligned to 8 bytes");

static uint64_t round_up_to_multiple(uint64_t n, uint64_t to)
{
    return (n + to - 1) & ~(to - 1);
}

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t ring_record_size(uint64_t n)
{
    return sizeof(struct ring_head) + round_up_to_multiple(n, 8);
}

/* ---- the file ---- */

/* Returns the size of a step in bytes, for a ring with `size` bytes for records. */
static uint64_t ring_choose_step_size(uint64_t size)
{
    return size >= 16 * RING_STEP ? RING_STEP : page_size();
}

struct layout {
    /* offsets in the file: of the table, of the bytes about the session, and of the records; the
     * shared page is at offset 0 */
    uint64_t table, start, data;
    uint64_t end;
};

static struct layout compute_ring_layout(uint64_t size, size_t start_n)
{
    uint64_t page = page_size();
    struct layout l = {.table = page};
    l.start =
        l.table + round_up_to_multiple(size / ring_choose_step_size(size) * sizeof(uint32_t), page);
    l.data = l.start + round_up_to_multiple(start_n, page);
    l.end = l.data + size;
    return l;
}

static int ring_map_memory(struct ring *g, int fd, uint64_t size, size_t start_n)
{
    struct layout l = compute_ring_layout(size, start_n);
    if (l.end > SIZE_MAX)
        return MI_ENOMEM;
    void *all = mmap(NULL, (size_t)l.end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (all == MAP_FAILED)
        return errno == ENOMEM ? MI_ENOMEM : MI_EIO;
    g->mapped = (size_t)l.end;
    g->shared = all;
    g->table = (void *)((char *)all + l.table);
    g->start = (struct slice){(char *)all + l.start, start_n};
    g->data = (char *)all + l.data;
    g->size = size;
    g->step = ring_choose_step_size(size);
    g->fd = fd;
    /* A child must not inherit the mapping, because the child's mapping would keep the lock that
     * journal/journal_file.h describes. Core files must not contain the mapping, because it has
     * messages. */
    return memory_make_private(all, g->mapped);
}

/* Closes the ring if st is an error; keeps errno. */
static void ring_close_on_error(struct ring *g, int st)
{
    int error = errno;
    if (st < 0)
        ring_close(g);
    errno = error;
}

int ring_create(struct ring *w, int fd, uint64_t size, uint64_t limit, struct slice start)
{
    *w = (struct ring){.fd = -1};
    if (size > SIZE_LIMIT || start.n > RING_START_MAX)
        return MI_EINVAL;
    size = size < 8 * page_size() ? 8 * page_size() : size;
    size = round_up_to_multiple(size, ring_choose_step_size(size));
    struct layout l = compute_ring_layout(size, start.n);
    if (ftruncate(fd, (off_t)l.end) < 0)
        return MI_EIO;
    int st = memory_allocate(fd, 0, l.data);
    if (st == 0)
        st = ring_map_memory(w, fd, size, start.n);
    if (st == 0)
        st = steps_open(&w->steps, (size_t)(size / w->step), (size_t)w->step, w->data, fd, l.data);
    ring_close_on_error(w, st);
    if (st < 0)
        return st;
    w->limit = limit;
    w->to = w->data;
    if (start.n > 0)
        memcpy((char *)w->shared + l.start, start.p, start.n);
    struct ring_shared *s = w->shared;
    s->version = RING_VERSION;
    s->size = size;
    s->start_n = start.n;
    atomic_store_explicit(&s->trying, RING_NONE, memory_order_relaxed);
    atomic_store_explicit(&s->killed_by, RING_NONE, memory_order_relaxed);
    atomic_store_explicit(&s->magic, RING_MAGIC, memory_order_release);
    return 0;
}

/* Reads and checks the sizes in the first page, which never change. Uses pread() instead of the
 * mapping, because the page may be missing in a damaged file. */
static int ring_read_sizes(int fd, uint64_t *ret_size, size_t *ret_start_n)
{
    struct ring_shared s;
    struct stat file;
    uint64_t page = page_size();
    ssize_t n = pread(fd, &s, sizeof s, 0);
    if (n < 0 || fstat(fd, &file) < 0)
        return MI_EIO;
    if (n != (ssize_t)sizeof s || !S_ISREG(file.st_mode) || s.magic != RING_MAGIC ||
        s.version != RING_VERSION || s.start_n > RING_START_MAX || s.size > SIZE_LIMIT ||
        s.size < 8 * page || s.size % ring_choose_step_size(s.size) != 0 ||
        (uint64_t)file.st_size != compute_ring_layout(s.size, (size_t)s.start_n).end)
        return MI_EINVAL;
    *ret_size = s.size;
    *ret_start_n = (size_t)s.start_n;
    return 0;
}

/* Moves the reader to `tail`. Returns false if the positions in the journal are impossible. */
static bool ring_move_reader_to_tail(struct ring *r)
{
    ring_rewind(r);
    uint64_t head = atomic_load_explicit(&r->shared->head, memory_order_acquire);
    return head < POSITION_LIMIT && head % 8 == 0 && r->at % 8 == 0 && r->at <= head &&
           head - r->at <= r->size;
}

int ring_open(struct ring *r, int fd)
{
    uint64_t size;
    size_t start_n;
    *r = (struct ring){.fd = -1};
    int st = ring_read_sizes(fd, &size, &start_n);
    /* Reading a hole in the file could raise SIGBUS. A journal has no hole here, but another kind
     * of file may have one, so the memory is allocated. */
    if (st == 0)
        st = memory_allocate(fd, 0, compute_ring_layout(size, start_n).data);
    if (st == 0)
        st = ring_map_memory(r, fd, size, start_n);
    if (st == 0 && !ring_move_reader_to_tail(r))
        st = MI_EINVAL;
    ring_close_on_error(r, st);
    return st;
}

void ring_close(struct ring *r)
{
    if (r->shared != NULL)
        munmap(r->shared, r->mapped);
    steps_close(&r->steps);
    *r = (struct ring){.fd = -1};
}

/* ---- either side ---- */

struct slice ring_get_session_start(const struct ring *r)
{
    return r->start;
}

/* While the ring is empty, only the step that contains `end` is in use. So the longer run of free
 * steps, before or after that step, has at least half as many steps as the ring (rounded down). */
size_t ring_max_record_size(const struct ring *r)
{
    uint64_t steps = r->size / r->step;
    return (size_t)(steps / 2 * r->step - sizeof(struct ring_head));
}

uint64_t ring_count_unread_bytes(const struct ring *r)
{
    /* `tail` is read before `head`, so that the `head` read here is never below this `tail`. */
    uint64_t tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
    return atomic_load_explicit(&r->shared->head, memory_order_acquire) - tail;
}

bool ring_is_finished(const struct ring *r)
{
    /* `ended` is read before `head`, so that `head` has its final value */
    return atomic_load_explicit(&r->shared->ended, memory_order_acquire) != 0 &&
           ring_count_unread_bytes(r) == 0;
}

/* ---- the writer ---- */

/* Returns the element of g->table for the step of memory that contains this position. The element
 * may be damaged. */
static volatile uint32_t *ring_get_table_entry_of_step(const struct ring *g, uint64_t position)
{
    return &g->table[position / g->step % (g->size / g->step)];
}

/* Frees the steps of memory that contain only released records. */
static void ring_free_released_steps(struct ring *w, uint64_t tail)
{
    uint64_t to = tail < w->end ? tail : w->end;
    for (; to >= w->freed + w->step; w->freed += w->step)
        steps_mark_free(&w->steps, *ring_get_table_entry_of_step(w, w->freed));
}

/* Returns the index of the step of memory after the step that the writer is filling. */
static size_t find_next_memory_step(const struct ring *w)
{
    return (size_t)((uint64_t)(w->to - w->data) + w->left) / w->step;
}

static size_t ring_count_steps(const struct ring *w, uint64_t n)
{
    return (size_t)((n + w->step - 1) / w->step);
}

char *ring_reserve_record(struct ring *w, size_t n)
{
    uint64_t tail = atomic_load_explicit(&w->shared->tail, memory_order_seq_cst);
    if (n > ring_max_record_size(w) || n > UINT32_MAX) {
        errno = EMSGSIZE;
        return NULL;
    }
    uint64_t size = ring_record_size(n);
    if (tail != w->end && w->end + size - tail > w->limit) {
        errno = ENOBUFS;
        return NULL;
    }
    w->found.n = 0;
    if (size <= w->left)
        return w->to + sizeof(struct ring_head);
    ring_free_released_steps(w, tail);
    size_t next = find_next_memory_step(w);
    if (steps_find_free_steps(&w->steps, next, ring_count_steps(w, size - w->left),
                              ring_count_steps(w, size), &w->found) < 0)
        return NULL;
    char *to = w->found.first == next ? w->to : w->data + w->found.first * w->step;
    return to + sizeof(struct ring_head);
}

static void ring_write_record_head(struct ring *w, uint32_t kind, size_t n)
{
    struct ring_head head = {(uint32_t)n, kind};
    memcpy(w->to, &head, sizeof head);
    w->to += ring_record_size(n);
    w->end += ring_record_size(n);
    w->left -= ring_record_size(n);
}

/* Moves the writer's position to the steps that ring_reserve_record() has found. */
static void ring_move_writer_to_found_steps(struct ring *w)
{
    if (w->found.first != find_next_memory_step(w)) {
        if (w->left > 0)
            ring_write_record_head(w, RING_SKIPPED, (size_t)w->left - sizeof(struct ring_head));
        w->to = w->data + w->found.first * w->step;
    }
    for (size_t i = 0; i < w->found.n; i++, w->left += w->step)
        *ring_get_table_entry_of_step(w, w->end + w->left) = (uint32_t)(w->found.first + i);
    steps_mark_used(&w->steps, w->found);
    w->found.n = 0;
}

/* After a long record, the rest of its last step is skipped. So all of its steps become free when
 * the record is stored, and the next long record fits there. */
void ring_add_record_head(struct ring *w, uint32_t kind, size_t n)
{
    bool is_long = w->found.n >= LONG_STEPS;
    if (w->found.n > 0)
        ring_move_writer_to_found_steps(w);
    ring_write_record_head(w, kind, n);
    if (is_long && w->left > 0)
        ring_write_record_head(w, RING_SKIPPED, (size_t)w->left - sizeof(struct ring_head));
}

size_t ring_memory_size(const struct ring *w)
{
    return w->steps.memory_n * (size_t)w->step;
}

void ring_free_unused_memory(struct ring *w, size_t most)
{
    ring_free_released_steps(w, atomic_load_explicit(&w->shared->tail, memory_order_seq_cst));
    steps_return_memory(&w->steps, RING_KEPT, most);
}

/* Returns true if the reader sleeps and may have missed the records that were just published.
 * Clears the flag reader_sleeps. */
static bool must_wake_reader(struct ring *w)
{
    return atomic_load_explicit(&w->shared->reader_sleeps, memory_order_seq_cst) != 0 &&
           atomic_exchange_explicit(&w->shared->reader_sleeps, 0, memory_order_seq_cst) != 0;
}

bool ring_publish_records(struct ring *w)
{
    if (atomic_load_explicit(&w->shared->head, memory_order_relaxed) == w->end)
        return false;
    atomic_store_explicit(&w->shared->head, w->end, memory_order_seq_cst);
    return must_wake_reader(w);
}

bool ring_mark_ended(struct ring *w)
{
    atomic_store_explicit(&w->shared->head, w->end, memory_order_release);
    atomic_store_explicit(&w->shared->ended, 1, memory_order_seq_cst);
    return must_wake_reader(w);
}

bool ring_has_stored_everything(const struct ring *w)
{
    return atomic_load_explicit(&w->shared->tail, memory_order_seq_cst) == w->end;
}

void ring_set_writer_waits(struct ring *w, bool waits)
{
    atomic_store_explicit(&w->shared->writer_waits, waits, memory_order_seq_cst);
}

/* ---- the reader ---- */

/* Allocates the memory of the records from `from` to `to`. Pages are missing only in a damaged
 * file. If the file system is full, reading a missing page would raise SIGBUS. */
static bool ring_allocate_records(const struct ring *r, uint64_t from, uint64_t to)
{
    uint64_t before = (uint64_t)(r->data - (char *)r->shared);
    for (uint64_t at = from - from % r->step; at < to; at += r->step) {
        uint64_t i = *ring_get_table_entry_of_step(r, at);
        if (i >= r->size / r->step || memory_allocate(r->fd, before + i * r->step, r->step) < 0)
            return false;
    }
    return true;
}

/* Returns the record at a position, and writes its head to *ret. Returns NULL if there are no more
 * records, or if the record or the table is damaged. */
static const char *ring_read_record_at(const struct ring *r, uint64_t at, uint64_t head,
                                       struct ring_head *ret)
{
    if (at >= head)
        return NULL;
    uint64_t i = *ring_get_table_entry_of_step(r, at);
    if (i >= r->size / r->step)
        return NULL;
    uint64_t from = i * r->step + at % r->step, n = r->size - from;
    memcpy(ret, r->data + from, sizeof *ret);
    return ring_record_size(ret->n) <= head - at && ring_record_size(ret->n) <= n ? r->data + from
                                                                                  : NULL;
}

int ring_read_next_record(struct ring *r, uint32_t *ret_kind, struct slice *ret, uint64_t *ret_at)
{
    uint64_t head = atomic_load_explicit(&r->shared->head, memory_order_acquire), at = r->at;
    if (at == head)
        return MI_ENOENT;
    if (at > head || head - at > r->size || (at | head) % 8 != 0)
        return MI_EPROTO;
    if (!r->checked && !ring_allocate_records(r, at, head))
        return MI_EPROTO;
    r->checked = true;
    struct ring_head h;
    const char *p = ring_read_record_at(r, at, head, &h);
    if (p != NULL && h.kind == RING_SKIPPED) {
        at += ring_record_size(h.n);
        p = ring_read_record_at(r, at, head, &h);
    }
    if (p == NULL || h.kind == RING_SKIPPED)
        return MI_EPROTO;
    *ret_kind = h.kind;
    *ret = (struct slice){p + sizeof h, h.n};
    *ret_at = at;
    r->at = at + ring_record_size(h.n);
    if (ring_read_record_at(r, r->at, head, &h) != NULL && h.kind == RING_SKIPPED)
        /* the bytes of RING_SKIPPED are released together with the record before them */
        r->at += ring_record_size(h.n);
    return 0;
}

void ring_rewind(struct ring *r)
{
    r->at = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
}

static bool must_wake_writer(const struct ring *r)
{
    return atomic_load_explicit(&r->shared->writer_waits, memory_order_seq_cst) != 0;
}

bool ring_release_records(struct ring *r)
{
    atomic_store_explicit(&r->shared->tail, r->at, memory_order_seq_cst);
    return must_wake_writer(r);
}

bool ring_put_reader_to_sleep(struct ring *r)
{
    atomic_store_explicit(&r->shared->reader_sleeps, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&r->shared->head, memory_order_seq_cst) == r->at &&
        atomic_load_explicit(&r->shared->ended, memory_order_seq_cst) == 0)
        return true;
    ring_mark_reader_awake(r);
    return false;
}

void ring_mark_reader_awake(struct ring *r)
{
    atomic_store_explicit(&r->shared->reader_sleeps, 0, memory_order_relaxed);
}

bool ring_set_recorder_trouble(struct ring *r, enum ring_trouble trouble)
{
    if (atomic_exchange_explicit(&r->shared->trouble, trouble, memory_order_seq_cst) == trouble)
        return false;
    return must_wake_writer(r);
}
