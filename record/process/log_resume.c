/* log_resume.c - drops buffered lines that are in the files of the log directory already. */
#include "record/process/log_directory.h"

#include "base/clock.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PART ((size_t)64 << 10)
#define DAY_US INT64_C(86400000000)
#define DAYS_MAX 31 /* maximum number of files that are searched */
#define LINE_MAX_BYTES ((size_t)1 << 20)

/* Lines are in the files in the order of the buffer, so each line of a file is compared with the
 * first buffered line that was not found yet. */
struct search {
    struct slice left; /* buffered lines that were not found in a file yet */
    struct buf file;   /* owned: bytes of the file, beginning with a line */
};

/* Returns the first line of a text, with its newline; empty if there is no complete line. */
static struct slice get_first_complete_line(struct slice text)
{
    const char *end = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    return (struct slice){text.p, end != NULL ? (size_t)(end + 1 - text.p) : 0};
}

static void skip_lines_found_in_file(struct search *s)
{
    struct slice text = buf_slice(&s->file);
    for (struct slice line; (line = get_first_complete_line(text)).n > 0;
         text.p += line.n, text.n -= line.n) {
        if (!slice_eq(line, get_first_complete_line(s->left)))
            continue;
        s->left.p += line.n;
        s->left.n -= line.n;
    }
    memmove(s->file.p, text.p, text.n);
    s->file.n = text.n;
}

/* Searches a file for the buffered lines. Returns the bytes after the last complete line of the
 * file. */
static struct slice search_log_file(struct search *s, int fd)
{
    buf_clear(&s->file);
    while (s->left.n > 0 && s->file.n < LINE_MAX_BYTES && buf_reserve(&s->file, PART)) {
        ssize_t n = read(fd, s->file.p + s->file.n, PART);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        s->file.n += (size_t)n;
        skip_lines_found_in_file(s);
    }
    return buf_slice(&s->file);
}

static int open_log_file(int vault_fd, const char *day)
{
    char name[CLOCK_TEXT_MAX + sizeof ".jsonl"];
    snprintf(name, sizeof name, "%s.jsonl", day);
    int logs = vault_dir_open_sub(vault_fd, VAULT_LOGS, false);
    int dir = logs >= 0 ? vault_dir_open_sub(logs, VAULT_ACTIONS, false) : -1;
    int fd = dir >= 0 ? vault_dir_open_file(dir, name, O_RDONLY) : -1;
    if (dir >= 0)
        close(dir);
    if (logs >= 0)
        close(logs);
    return fd;
}

/* Returns the day of the first line as a time; 0 if the line does not begin like
 * `{"time":"2026-01-31`. */
static int64_t read_day_of_log_lines(struct slice lines)
{
    static const char start[] = "{\"time\":\"";
    struct tm tm = {0};
    char day[11] = "";
    if (lines.n < sizeof start + sizeof day || memcmp(lines.p, start, sizeof start - 1) != 0)
        return 0;
    memcpy(day, lines.p + sizeof start - 1, sizeof day - 1);
    return strptime(day, "%Y-%m-%d", &tm) != NULL ? (int64_t)timegm(&tm) * 1000000 : 0;
}

void log_directory_resume(struct log_directory *a, int vault_fd)
{
    struct search s = {.left = buf_slice(&a->lines)};
    char today[CLOCK_TEXT_MAX], day[CLOCK_TEXT_MAX];
    int64_t day_us = read_day_of_log_lines(s.left), now_us = clock_wall_us();
    if (day_us == 0)
        return;
    clock_utc_day(now_us, today);
    if (now_us - day_us > DAYS_MAX * DAY_US)
        day_us = now_us - DAYS_MAX * DAY_US;
    for (; day_us <= now_us && s.left.n > 0; day_us += DAY_US) {
        clock_utc_day(day_us, day);
        int fd = open_log_file(vault_fd, day);
        if (fd < 0)
            continue;
        struct slice torn = search_log_file(&s, fd), line = get_first_complete_line(s.left);
        /* If the earlier process was killed while it wrote a line, today's file ends with the start
         * of this line: only the rest of the line is written. */
        if (strcmp(day, today) == 0 && torn.n > 0 && torn.n < line.n &&
            memcmp(torn.p, line.p, torn.n) == 0) {
            s.left.p += torn.n;
            s.left.n -= torn.n;
        }
        close(fd);
    }
    buf_close(&s.file);
    if (s.left.n > 0)
        memmove(a->lines.p, s.left.p, s.left.n);
    a->lines.n = s.left.n;
}
