#include "journal/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than a machine has, and small enough for sums without overflow. */
#define SIZE_LIMIT ((uint64_t)1 << 40)
#define POSITION_LIMIT ((uint64_t)1 << 62)

_Static_assert(sizeof(struct ring_shared) <= 4096, "the shared part is one page");
_Static_assert(sizeof(struct ring_head) == 8, "records are aligned to 8 bytes");

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) & ~(to - 1);
}

static uint64_t page_size(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t record_size(uint64_t n)
{
    return sizeof(struct ring_head) + round_up(n, 8);
}

static char *data_at(const struct ring *g, uint64_t position)
{
    return g->data + (position & (g->size - 1));
}

/* ---- memory of the file ---- */

#define ALLOCATE 0 /* within the file: its size does not change */
#define RETURN (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)

static int change_memory(int fd, int mode, uint64_t at, uint64_t n)
{
    int rc;
    do
        rc = fallocate(fd, mode, (off_t)at, (off_t)n);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? MI_EIO : 0;
}

/* The same for the records between two positions, which may continue at the start of `data`. */
static int change_records(const struct ring *g, int mode, uint64_t from, uint64_t to)
{
    uint64_t before = (uint64_t)(g->data - (char *)g->shared);
    while (from < to) {
        uint64_t at = from & (g->size - 1);
        uint64_t n = to - from < g->size - at ? to - from : g->size - at;
        if (change_memory(g->fd, mode, before + at, n) < 0)
            return MI_EIO;
        from += n;
    }
    return 0;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Maps allocated memory before it is written, in one call instead of a page fault for every 13 short messages: that is
 * a fifth of the time of an append, and nine tenths of the slowest in a hundred. Linux older than 5.14 does not know it, and has the page faults. */
static void map_allocated(const struct ring *g, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to; at += g->step)
        (void)madvise(data_at(g, at), g->step, MADV_POPULATE_WRITE);
}

/* ---- mapping ---- */

static int map_at(char *where, uint64_t n, int fd, uint64_t from)
{
    int flags = MAP_SHARED | MAP_FIXED;
    if (mmap(where, n, PROT_READ | PROT_WRITE, flags, fd, (off_t)from) == MAP_FAILED)
        return errno == ENOMEM ? MI_ENOMEM : MI_EIO;
    return 0;
}

/* Maps the file: its first `before` bytes, and the records twice. */
static int map(struct ring *g, int fd, uint64_t size, size_t start_n)
{
    uint64_t page = page_size(), before = page + round_up(start_n, page);
    if (before + 2 * size > SIZE_MAX)
        return MI_ENOMEM;
    g->mapped = (size_t)(before + 2 * size);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *all = mmap(NULL, g->mapped, PROT_NONE, flags, -1, 0);
    if (all == MAP_FAILED)
        return errno == ENOMEM ? MI_ENOMEM : MI_EIO;
    void *first = all; /* struct ring_shared is aligned: mappings begin with a page */
    g->shared = first;
    g->start = (struct slice){all + page, start_n};
    g->data = all + before;
    g->size = size;
    g->step = size / 4 < RING_STEP ? size / 4 : RING_STEP;
    g->fd = fd;
    int st = map_at(all, before + size, fd, 0);
    if (st == 0)
        st = map_at(all + before + size, size, fd, before);
    /* A copy in a child would keep the lock of journal/file.h. Core files must not contain messages. */
    if (st == 0 &&
        (madvise(all, g->mapped, MADV_DONTFORK) < 0 || madvise(all, g->mapped, MADV_DONTDUMP) < 0))
        st = MI_EIO;
    return st;
}

static void fill_shared(struct ring_shared *s, uint64_t size, size_t start_n)
{
    s->version = RING_VERSION;
    s->size = size;
    s->start_n = start_n;
    atomic_store_explicit(&s->trying, RING_NONE, memory_order_relaxed);
    atomic_store_explicit(&s->killed_by, RING_NONE, memory_order_relaxed);
    atomic_store_explicit(&s->magic, RING_MAGIC, memory_order_release);
}

int ring_create(struct ring *w, int fd, uint64_t size, uint64_t limit, struct slice start)
{
    *w = (struct ring){.fd = -1};
    if (size > SIZE_LIMIT || start.n > RING_START_MAX)
        return MI_EINVAL;
    uint64_t page = page_size(), before = page + round_up(start.n, page), rounded = 4 * page;
    while (rounded < size)
        rounded *= 2;
    if (ftruncate(fd, (off_t)(before + rounded)) < 0)
        return MI_EIO;
    int st = change_memory(fd, ALLOCATE, 0, before);
    if (st == 0)
        st = map(w, fd, rounded, start.n);
    if (st < 0) {
        int error = errno;
        ring_close(w);
        errno = error;
        return st;
    }
    w->limit = limit;
    if (start.n > 0)
        memcpy((char *)w->shared + page, start.p, start.n);
    fill_shared(w->shared, rounded, start.n);
    return 0;
}

/* Sets the reader to `tail`. Whether the positions are possible; they may move meanwhile, `freed` last. */
static bool find_position(struct ring *r)
{
    uint64_t freed, head;
    do {
        freed = atomic_load_explicit(&r->shared->freed, memory_order_acquire);
        ring_rewind(r);
        head = atomic_load_explicit(&r->shared->head, memory_order_acquire);
    } while (atomic_load_explicit(&r->shared->freed, memory_order_acquire) != freed);
    return head < POSITION_LIMIT && head % 8 == 0 && r->at % 8 == 0 && r->at <= head &&
           freed <= r->at && freed % r->step == 0 && head - freed <= r->size;
}

/* The parts of the first page that never change. They are read, not mapped: the page may be missing. */
static int read_shape(int fd, uint64_t *ret_size, size_t *ret_start_n)
{
    struct ring_shared s;
    struct stat file;
    uint64_t page = page_size();
    ssize_t n = pread(fd, &s, sizeof s, 0);
    if (n < 0 || fstat(fd, &file) < 0)
        return MI_EIO;
    if (n != (ssize_t)sizeof s || !S_ISREG(file.st_mode) || s.magic != RING_MAGIC ||
        s.version != RING_VERSION || s.start_n > RING_START_MAX || s.size > SIZE_LIMIT ||
        s.size < 4 * page || (s.size & (s.size - 1)) != 0 ||
        (uint64_t)file.st_size != page + round_up(s.start_n, page) + s.size)
        return MI_EINVAL;
    *ret_size = s.size;
    *ret_start_n = (size_t)s.start_n;
    return 0;
}

int ring_open(struct ring *r, int fd)
{
    uint64_t size, page = page_size();
    size_t start_n;
    *r = (struct ring){.fd = -1};
    int st = read_shape(fd, &size, &start_n);
    if (st == 0) /* no effect on a journal; the start of another file may be missing */
        st = change_memory(fd, ALLOCATE, 0, page + round_up(start_n, page));
    if (st == 0)
        st = map(r, fd, size, start_n);
    if (st == 0 && !find_position(r))
        st = MI_EINVAL;
    if (st < 0) {
        int error = errno;
        ring_close(r);
        errno = error;
    }
    return st;
}

void ring_close(struct ring *r)
{
    if (r->shared != NULL)
        munmap(r->shared, r->mapped);
    *r = (struct ring){.fd = -1};
}

/* ---- either side ---- */

struct slice ring_start(const struct ring *r)
{
    return r->start;
}

/* A record may begin anywhere in a step, and the memory of that step cannot be reused for the record's end. */
size_t ring_record_max(const struct ring *r)
{
    return (size_t)(r->size - r->step - sizeof(struct ring_head));
}

uint64_t ring_behind(const struct ring *r)
{
    /* tail first: head, which is read later, is not before it */
    uint64_t tail = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
    return atomic_load_explicit(&r->shared->head, memory_order_acquire) - tail;
}

bool ring_is_finished(const struct ring *r)
{
    /* ended first: then head is the last one */
    return atomic_load_explicit(&r->shared->ended, memory_order_acquire) != 0 &&
           ring_behind(r) == 0;
}

/* ---- the writer ---- */

/* Allocates memory up to a position that is beyond what is allocated. The memory of a step is also that of the step
 * `size` bytes before, which must have been returned. */
static bool allocate(struct ring *w, uint64_t to)
{
    uint64_t freed = atomic_load_explicit(&w->shared->freed, memory_order_seq_cst);
    to = round_up(to, w->step);
    if (to - freed > w->size) {
        errno = ENOBUFS;
        return false;
    }
    if (change_records(w, ALLOCATE, w->allocated, to) < 0)
        return false;
    map_allocated(w, w->allocated, to);
    w->allocated = to;
    return true;
}

char *ring_place(struct ring *w, size_t n)
{
    uint64_t tail = atomic_load_explicit(&w->shared->tail, memory_order_seq_cst);
    if (n > ring_record_max(w) || n > UINT32_MAX) {
        errno = EMSGSIZE;
        return NULL;
    }
    uint64_t to = w->end + record_size(n);
    if (tail != w->end && to - tail > w->limit) {
        errno = ENOBUFS;
        return NULL;
    }
    if (to > w->allocated && !allocate(w, to))
        return NULL;
    return data_at(w, w->end) + sizeof(struct ring_head);
}

void ring_add(struct ring *w, uint32_t kind, size_t n)
{
    struct ring_head head = {(uint32_t)n, kind};
    memcpy(data_at(w, w->end), &head, sizeof head);
    w->end += record_size(n);
}

/* After something was made visible: whether the reader sleeps and may have missed it. */
static bool must_wake_reader(struct ring *w)
{
    return atomic_load_explicit(&w->shared->reader_sleeps, memory_order_seq_cst) != 0 &&
           atomic_exchange_explicit(&w->shared->reader_sleeps, 0, memory_order_seq_cst) != 0;
}

bool ring_publish(struct ring *w)
{
    if (atomic_load_explicit(&w->shared->head, memory_order_relaxed) == w->end)
        return false;
    atomic_store_explicit(&w->shared->head, w->end, memory_order_seq_cst);
    return must_wake_reader(w);
}

bool ring_end(struct ring *w)
{
    atomic_store_explicit(&w->shared->head, w->end, memory_order_release);
    atomic_store_explicit(&w->shared->ended, 1, memory_order_seq_cst);
    return must_wake_reader(w);
}

bool ring_is_stored(const struct ring *w)
{
    return atomic_load_explicit(&w->shared->tail, memory_order_seq_cst) == w->end;
}

void ring_writer_waits(struct ring *w, bool waits)
{
    atomic_store_explicit(&w->shared->writer_waits, waits, memory_order_seq_cst);
}

/* ---- the reader ---- */

int ring_next(struct ring *r, uint32_t *ret_kind, struct slice *ret, uint64_t *ret_at)
{
    uint64_t head = atomic_load_explicit(&r->shared->head, memory_order_acquire), at = r->at;
    struct ring_head h;
    if (at == head)
        return MI_ENOENT;
    if (at > head || head - at > r->size || (at | head) % 8 != 0)
        return MI_EPROTO;
    /* Pages are missing only in a damaged file. Reading one in a full file system would be a SIGBUS. */
    if (!r->checked && change_records(r, ALLOCATE, at, head) < 0)
        return MI_EPROTO;
    r->checked = true;
    memcpy(&h, data_at(r, at), sizeof h);
    if (record_size(h.n) > head - at)
        return MI_EPROTO;
    *ret_kind = h.kind;
    *ret = (struct slice){data_at(r, at) + sizeof h, h.n};
    *ret_at = at;
    r->at = at + record_size(h.n);
    return 0;
}

void ring_rewind(struct ring *r)
{
    r->at = atomic_load_explicit(&r->shared->tail, memory_order_acquire);
}

/* Returns the memory of the steps before `at`, which are released. If that fails, it stays allocated until it is
 * reused. */
static void return_memory(struct ring *r)
{
    uint64_t freed = atomic_load_explicit(&r->shared->freed, memory_order_relaxed);
    uint64_t to = r->at & ~(r->step - 1);
    if (to <= freed || to - freed > r->size)
        return;
    (void)change_records(r, RETURN, freed, to);
    atomic_store_explicit(&r->shared->freed, to, memory_order_seq_cst);
}

static bool must_wake_writer(const struct ring *r)
{
    return atomic_load_explicit(&r->shared->writer_waits, memory_order_seq_cst) != 0;
}

bool ring_release(struct ring *r)
{
    atomic_store_explicit(&r->shared->tail, r->at, memory_order_seq_cst);
    return_memory(r);
    return must_wake_writer(r);
}

bool ring_sleep(struct ring *r)
{
    atomic_store_explicit(&r->shared->reader_sleeps, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&r->shared->head, memory_order_seq_cst) == r->at &&
        atomic_load_explicit(&r->shared->ended, memory_order_seq_cst) == 0)
        return true;
    ring_awake(r);
    return false;
}

void ring_awake(struct ring *r)
{
    atomic_store_explicit(&r->shared->reader_sleeps, 0, memory_order_relaxed);
}

bool ring_set_trouble(struct ring *r, enum ring_trouble trouble)
{
    if (atomic_exchange_explicit(&r->shared->trouble, trouble, memory_order_seq_cst) == trouble)
        return false;
    return must_wake_writer(r);
}
