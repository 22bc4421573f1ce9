#include "vault/actions.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "vault/dir.h"
#include "vault/redact.h"
#include "wire/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define GATHER_MAX ((size_t)1 << 20) /* a buffer that grew past this is given back */
#define LOOK_US 1000000

void actions_open(struct actions *a, const char *session, const char *server)
{
    *a = (struct actions){.fd = -1};
    buf_printf(&a->who, "Z\",\"session\":\"%s\",\"server\":", session);
    struct buf name = {0};
    if (keep_text(slice_of(server), &name) < 0)
        a->who.failed = true;
    text_json(&a->who, buf_slice(&name));
    buf_close(&name);
    buf_adds(&a->who, ",\"seq\":");
}

void actions_close(struct actions *a)
{
    buf_close(&a->lines);
    buf_close(&a->who);
    buf_close(&a->clean);
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

/* Each line costs a fraction of a message: no printf here. */
static void add_key(struct buf *b, const char *name)
{
    buf_adds(b, ",\"");
    buf_adds(b, name);
    buf_adds(b, "\":");
}

/* The text without its secrets. Good until the next of these calls. */
static struct slice clean_text(struct actions *a, struct slice text)
{
    struct redact *r = redact_present();
    size_t n = 0;
    if (r == NULL || redact_text(r, text, &a->clean, &n) < 0)
        a->lines.failed = true;
    else if (n > 0)
        return buf_slice(&a->clean);
    return text;
}

/* The same for the text between the quotes of a string. */
static struct slice clean_raw(struct actions *a, struct slice raw)
{
    struct redact *r = redact_present();
    struct buf quoted = {0};
    size_t n = 0;
    if (raw.n == 0)
        return raw; /* it may not be there at all */
    if (r != NULL && !redact_maybe(r, raw) && memchr(raw.p, '\\', raw.n) == NULL)
        return raw; /* nearly all of them */
    buf_addc(&quoted, '"');
    buf_slice_add(&quoted, raw);
    buf_addc(&quoted, '"');
    if (r == NULL || quoted.failed || redact_value(r, buf_slice(&quoted), &a->clean, &n) < 0)
        a->lines.failed = true;
    buf_close(&quoted);
    return n > 0 ? (struct slice){a->clean.p + 1, a->clean.n - 2} : raw;
}

static struct slice clean_json(struct actions *a, struct slice json)
{
    struct redact *r = redact_present();
    size_t n = 0;
    if (r == NULL || redact_value(r, json, &a->clean, &n) < 0)
        a->lines.failed = true;
    return n > 0 ? buf_slice(&a->clean) : json;
}

static void add_string(struct actions *a, const char *name, struct slice raw)
{
    add_key(&a->lines, name);
    buf_addc(&a->lines, '"');
    text_json_again(&a->lines, clean_raw(a, raw));
    buf_addc(&a->lines, '"');
}

static void add_number(struct buf *b, const char *name, uint64_t v)
{
    add_key(b, name);
    buf_int(b, (int64_t)v);
}

static void add_3_digits(struct buf *b, int64_t v)
{
    buf_add(
        b,
        (char[]){'.', (char)('0' + v / 100 % 10), (char)('0' + v / 10 % 10), (char)('0' + v % 10)},
        4);
}

/* The time to the second is made once a second. */
static void add_time(struct actions *a, int64_t wall_us)
{
    if (wall_us / 1000000 != a->second) {
        a->second = wall_us / 1000000;
        clock_utc_text(wall_us, a->second_text);
        a->second_text[sizeof "2026-01-31T23:59:59" - 1] = '\0';
    }
    buf_adds(&a->lines, "{\"time\":\"");
    buf_adds(&a->lines, a->second_text);
    add_3_digits(&a->lines, wall_us / 1000 % 1000);
    buf_slice_add(&a->lines, buf_slice(&a->who));
}

static void add_arguments(struct actions *a, const struct action *x)
{
    struct buf *b = &a->lines;
    struct redact *r = redact_present();
    bool cut = a->level != KEEP_FULL && json_key_is(x->method, "tools/call");
    size_t n = 0;
    struct slice text = x->arguments;
    if (r == NULL ||
        redact_arguments(r, text, cut ? REDACT_CONTENT : REDACT_SECRETS, &a->clean, &n) < 0)
        b->failed = true;
    if (n > 0)
        text = buf_slice(&a->clean);
    buf_adds(b, ",\"arguments\":");
    if (x->arguments.n == x->arguments_n) {
        text_json_again(b, text);
        return;
    }
    size_t at = redact_head(text, ACTIONS_CUT);
    struct buf head = {0};
    buf_add(&head, text.p, at);
    buf_printf(&head, "… [+%zu bytes]", x->arguments_n - size_min(at, x->arguments_n));
    text_json(b, buf_slice(&head));
    if (head.failed)
        b->failed = true;
    buf_close(&head);
}

static void add_result(struct actions *a, struct slice result)
{
    struct buf *b = &a->lines;
    struct slice text = clean_text(a, result);
    size_t n = redact_head(text, ACTIONS_CUT);
    add_key(b, "result");
    text_json(b, (struct slice){text.p, n});
    if (n < text.n && !b->failed) {
        b->n--; /* its quote */
        buf_adds(b, "…\"");
    }
}

static void add_error(struct actions *a, const struct action *x)
{
    struct buf *b = &a->lines;
    buf_adds(b, ",\"error\":{\"code\":");
    buf_slice_add(b, x->error_code);
    if (a->level != KEEP_MINIMAL) {
        buf_adds(b, ",\"message\":");
        text_json_again(b, clean_json(a, x->error_message));
    }
    buf_addc(b, '}');
}

void actions_add(struct actions *a, const struct action *x)
{
    struct buf *b = &a->lines;
    size_t before = b->n;
    add_time(a, x->wall_us);
    buf_int(b, (int64_t)x->seq);
    bool bodies = a->level != KEEP_MINIMAL;
    add_string(a, "method", x->method);
    if (x->target.p != NULL)
        add_string(a, json_key_is(x->method, "tools/call") ? "tool" : "target", x->target);
    if (x->arguments.p != NULL && bodies)
        add_arguments(a, x);
    add_key(b, "status");
    buf_addc(b, '"');
    buf_adds(b, x->status);
    buf_addc(b, '"');
    if (x->error_code.p != NULL)
        add_error(a, x);
    add_number(b, "duration_ms", (uint64_t)x->duration_us / 1000);
    add_3_digits(b, x->duration_us % 1000);
    add_number(b, "request_bytes", x->request_bytes);
    add_number(b, "response_bytes", x->response_bytes);
    if (x->result.p != NULL && bodies)
        add_result(a, x->result);
    buf_adds(b, "}\n");
    if (b->failed || a->who.failed) { /* no memory for this one line: the earlier ones are whole */
        b->failed = false;
        b->n = before;
        log_warn("a line of the log directory was dropped: out of memory");
    }
}

static int open_day(struct actions *a, int vault_fd, const char *day)
{
    char name[64];
    size_t n = strlen(day);
    memcpy(name, day, n);
    memcpy(name + n, ".jsonl", sizeof ".jsonl");
    int logs = vault_dir_sub(vault_fd, VAULT_LOGS, true);
    int dir = logs >= 0 ? vault_dir_sub(logs, VAULT_ACTIONS, true) : -1;
    int fd = -1;
    if (dir >= 0)
        fd = vault_dir_file(dir, name, O_WRONLY | O_APPEND | O_CREAT);
    int e = errno;
    if (logs >= 0)
        close(logs);
    if (dir >= 0)
        close(dir);
    errno = e;
    if (fd < 0)
        return MI_EIO;
    a->fd = fd;
    memcpy(a->day, day, n + 1);
    return 0;
}

/* The file of today, which somebody may have removed. */
static int ready(struct actions *a, int vault_fd, int64_t wall_us)
{
    char day[CLOCK_TEXT_MAX];
    clock_utc_day(wall_us, day);
    bool look = wall_us - a->looked_us >= LOOK_US || wall_us < a->looked_us;
    if (a->fd >= 0 && strcmp(day, a->day) == 0 && !look)
        return 0;
    a->looked_us = wall_us;
    if (a->fd >= 0 && strcmp(day, a->day) == 0 && vault_dir_linked(a->fd))
        return 0;
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    return open_day(a, vault_fd, day);
}

static int write_lines(struct actions *a, struct slice lines)
{
    if (a->torn && write(a->fd, "\n", 1) != 1)
        return MI_EIO;
    a->torn = false;
    while (lines.n > 0) {
        ssize_t n = write(a->fd, lines.p, lines.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MI_EIO;
        a->torn = (size_t)n < lines.n && lines.p[n - 1] != '\n';
        lines.p += n;
        lines.n -= (size_t)n;
    }
    return 0;
}

bool actions_due(const struct actions *a)
{
    return a->lines.n >= ACTIONS_GATHER;
}

void actions_flush(struct actions *a, int vault_fd)
{
    if (a->lines.n == 0)
        return;
    int st = vault_fd >= 0 ? ready(a, vault_fd, clock_wall_us()) : MI_ENOENT;
    if (st == 0)
        st = write_lines(a, buf_slice(&a->lines));
    if (st < 0 && !a->failing)
        log_warn("cannot write the log directory, its lines are dropped: %s",
                 st == MI_ENOENT ? "the vault is not open" : strerror(errno));
    a->failing = st < 0;
    if (a->lines.cap > GATHER_MAX)
        buf_close(&a->lines);
    else
        buf_clear(&a->lines);
}
