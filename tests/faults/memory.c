/* The program's allocations come here through --wrap, SQLite's through sqlite3_config(). */
#include "tests/faults/fault.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

/* Live blocks of the program, without those that libc allocated (realpath). */
#define LIVE_MAX (1u << 17)
static void *live[LIVE_MAX];
static size_t live_count, sqlite_count;

static size_t live_slot(const void *p)
{
    size_t i = ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 40;
    for (i &= LIVE_MAX - 1; live[i] != NULL && live[i] != p; i = (i + 1) & (LIVE_MAX - 1))
        continue;
    return i;
}

static void *born(void *p)
{
    if (p != NULL) {
        live[live_slot(p)] = p;
        live_count++;
    }
    return p;
}

static void died(void *p)
{
    size_t hole = live_slot(p);
    if (p == NULL || live[hole] == NULL)
        return;
    live_count--;
    live[hole] = NULL;
    for (size_t i = (hole + 1) & (LIVE_MAX - 1); live[i] != NULL; i = (i + 1) & (LIVE_MAX - 1)) {
        void *moved = live[i];
        live[i] = NULL;
        live[live_slot(moved)] = moved;
    }
}

void *__wrap_malloc(size_t n)
{
    return fault_hits(CALLS_MEMORY) ? NULL : born(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fault_hits(CALLS_MEMORY) ? NULL : born(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (fault_hits(CALLS_MEMORY))
        return NULL;
    died(p);
    return born(__real_realloc(p, n));
}

char *__wrap_strdup(const char *s)
{
    return fault_hits(CALLS_MEMORY) ? NULL : born(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
    return fault_hits(CALLS_MEMORY) ? NULL : born(__real_strndup(s, n));
}

void __wrap_free(void *p)
{
    died(p);
    __real_free(p);
}

/* A block of SQLite is preceded by its size. */
union head {
    int n;
    max_align_t align;
};

static void *sql_malloc(int n)
{
    union head *h = fault_hits(CALLS_MEMORY) ? NULL : __real_malloc(sizeof *h + (size_t)n);
    if (h == NULL)
        return NULL;
    h->n = n;
    sqlite_count++;
    return h + 1;
}

static void sql_free(void *p)
{
    if (p == NULL)
        return;
    sqlite_count--;
    __real_free((union head *)p - 1);
}

static void *sql_realloc(void *p, int n)
{
    if (fault_hits(CALLS_MEMORY))
        return NULL;
    union head *h = __real_realloc((union head *)p - 1, sizeof *h + (size_t)n);
    if (h == NULL)
        return NULL;
    h->n = n;
    return h + 1;
}

static int sql_size(void *p)
{
    return p != NULL ? ((union head *)p - 1)->n : 0;
}

static int sql_roundup(int n)
{
    return (n + 7) & ~7;
}

static int sql_init(void *arg)
{
    (void)arg;
    return SQLITE_OK;
}

static void sql_shutdown(void *arg)
{
    (void)arg;
}

void memory_watch_sqlite(void)
{
    static const sqlite3_mem_methods methods = {sql_malloc,  sql_free, sql_realloc,  sql_size,
                                                sql_roundup, sql_init, sql_shutdown, NULL};
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
        abort();
}

size_t memory_blocks(void)
{
    return live_count;
}

size_t memory_sqlite_blocks(void)
{
    return sqlite_count;
}
