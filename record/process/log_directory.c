#include "record/process/log_directory.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "redact/sanitizer.h"
#include "vault/store/dir.h"
#include "wire/json/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define GATHER_MAX ((size_t)1 << 20) /* a buffer with more bytes than this is freed after use */
#define LOOK_US 1000000              /* interval of the checks that the file still exists */

void log_directory_open(struct log_directory *a, const char *session, const char *server)
{
    *a = (struct log_directory){.fd = -1};
    struct json_out j = json_out_to(&a->who);
    json_out_str(&j, "session", session);
    struct buf name = {0};
    if (redact_append_sanitized_text(slice_of(server), &name) < 0)
        a->who.failed = true;
    json_out_text(&j, "server", buf_slice(&name));
    buf_close(&name);
}

void log_directory_close(struct log_directory *a)
{
    buf_close(&a->lines);
    buf_close(&a->who);
    buf_close(&a->clean);
    free(a->kept);
    a->kept = NULL;
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}

/* Returns the sanitized text, which is valid until the next text or name is sanitized. */
static struct slice sanitize_log_text(struct log_directory *a, struct slice text)
{
    struct redact *r = redact_get_current_sanitizer();
    size_t n = 0;
    if (r == NULL || redact_text(r, text, &a->clean, &n) < 0)
        a->lines.failed = true;
    else if (n > 0)
        return buf_slice(&a->clean);
    return text;
}

/* Like sanitize_log_text(), for a name in the escaped form between the quotes of a JSON string. */
static struct slice sanitize_log_name(struct log_directory *a, struct clean_name *last,
                                      struct slice raw)
{
    struct redact *r = redact_get_current_sanitizer();
    struct buf quoted = {0};
    size_t n = 0;
    if (raw.n == 0)
        return raw; /* the name is empty or {NULL, 0} */
    if (r != NULL && memchr(raw.p, '\\', raw.n) == NULL &&
        sanitize_name_contains_no_secret(last, r, raw))
        return raw; /* most names need no replacement */
    buf_addc(&quoted, '"');
    buf_slice_add(&quoted, raw);
    buf_addc(&quoted, '"');
    if (r == NULL || quoted.failed || redact_value(r, buf_slice(&quoted), &a->clean, &n) < 0)
        a->lines.failed = true;
    buf_close(&quoted);
    return n > 0 ? (struct slice){a->clean.p + 1, a->clean.n - 2} : raw;
}

static void add_log_name(struct log_directory *a, struct json_out *j, const char *name,
                         struct clean_name *last, struct slice raw)
{
    json_out_name(j, name);
    buf_addc(j->b, '"');
    text_append_visible_json(j->b, sanitize_log_name(a, last, raw));
    buf_addc(j->b, '"');
}

static void add_dot_and_3_digits(struct buf *b, int64_t v)
{
    buf_add(
        b,
        (char[]){'.', (char)('0' + v / 100 % 10), (char)('0' + v / 10 % 10), (char)('0' + v % 10)},
        4);
}

/* Adds the time. The text of the last second is cached. */
static void add_log_time(struct log_directory *a, struct json_out *j, int64_t wall_us)
{
    if (wall_us / 1000000 != a->second) {
        a->second = wall_us / 1000000;
        clock_utc_text(wall_us, a->second_text);
        a->second_text[sizeof "2026-01-31T23:59:59" - 1] = '\0';
    }
    json_out_name(j, "time");
    buf_addc(j->b, '"');
    buf_adds(j->b, a->second_text);
    add_dot_and_3_digits(j->b, wall_us / 1000 % 1000);
    buf_adds(j->b, "Z\"");
}

static void store_call_arguments(struct log_directory *a, struct kept_arguments *k,
                                 struct slice text)
{
    if (a->kept == NULL)
        a->kept = malloc(LOG_DIRECTORY_KEPT);
    if (a->kept == NULL || text.n > LOG_DIRECTORY_KEPT_MAX)
        return;
    size_t at = a->kept_n % LOG_DIRECTORY_KEPT;
    if (LOG_DIRECTORY_KEPT - at < text.n) /* the text must not be split at the end of the ring */
        a->kept_n += LOG_DIRECTORY_KEPT - at;
    k->at = a->kept_n;
    k->n = (uint32_t)text.n;
    memcpy(a->kept + k->at % LOG_DIRECTORY_KEPT, text.p, text.n);
    a->kept_n += text.n;
}

/* Returns params.arguments of a message in which no object has a key twice, or {NULL, 0} if it is
 * not an object. Bytes after the arguments are not read. */
static struct slice find_call_arguments(struct slice body)
{
    struct slice key;
    const char *at;
    struct json_value v;
    if (body.n == 0 || body.p[0] != '{') /* blanks may precede the object */
        return (struct slice){0};
    struct json_walk w = json_walk_begin_at_bracket(body.p);
    for (const char *wanted = "params"; json_walk_peek(&w, &key, &at);) {
        bool found = json_key_is(key, wanted);
        if (found && *at == '{' && wanted[0] == 'p') {
            w = json_walk_begin_at_bracket(at);
            wanted = "arguments";
            continue;
        }
        if (!json_walk_next(&w, &key, &v) || found)
            return found && v.type == JSON_OBJECT ? v.text : (struct slice){0};
    }
    return (struct slice){0};
}

void log_directory_keep_arguments(struct log_directory *a, uint64_t seq, struct slice body,
                                  bool as_received)
{
    struct kept_arguments *k = &a->request[seq % LOG_DIRECTORY_REQUESTS];
    *k = (struct kept_arguments){.as_received = as_received};
    if (!as_received) {
        struct slice arguments = find_call_arguments(body);
        if (arguments.p != NULL)
            store_call_arguments(a, k, arguments);
    }
    if (as_received || k->n > 0)
        k->seq = seq;
}

/* Returns the sanitized arguments of x. Truncated arguments are sanitized here even if they were
 * stored as received, because a truncated text may look like a secret. *ret_whole: the arguments
 * are not truncated. */
static struct slice sanitize_log_arguments(struct log_directory *a, const struct invocation *x,
                                           bool *ret_whole)
{
    struct redact *r = redact_get_current_sanitizer();
    const struct kept_arguments *k = &a->request[x->seq % LOG_DIRECTORY_REQUESTS];
    bool known = k->seq == x->seq && x->seq != 0;
    *ret_whole = x->arguments.n == x->arguments_n;
    if (known && k->as_received && *ret_whole)
        return x->arguments;
    bool overwritten = a->kept_n - k->at > LOG_DIRECTORY_KEPT;
    if (known && !k->as_received && !overwritten) {
        *ret_whole = true;
        return (struct slice){a->kept + k->at % LOG_DIRECTORY_KEPT, k->n};
    }
    bool heads_only = a->level != RECORD_FULL && json_key_is(x->method, "tools/call");
    enum redact_how how = heads_only ? REDACT_CONTENT : REDACT_SECRETS;
    size_t n = 0;
    if (r == NULL || redact_arguments(r, x->arguments, how, &a->clean, &n) < 0)
        a->lines.failed = true;
    return n > 0 ? buf_slice(&a->clean) : x->arguments;
}

static void add_arguments(struct log_directory *a, struct json_out *j, const struct invocation *x)
{
    struct buf *b = j->b;
    bool whole;
    struct slice text = sanitize_log_arguments(a, x, &whole);
    size_t at = redact_get_len_of_first_chars(text, LOG_DIRECTORY_TEXT_MAX);
    struct buf head = {0};
    json_out_name(j, "arguments");
    if (x->arguments.n == x->arguments_n || (whole && at == text.n)) {
        text_append_visible_json(b, text);
        return;
    }
    buf_add(&head, text.p, at);
    buf_printf(&head, "… [+%zu bytes]", x->arguments_n - size_min(at, x->arguments_n));
    text_append_json(b, buf_slice(&head));
    if (head.failed)
        b->failed = true;
    buf_close(&head);
}

static void add_result_to_log_line(struct log_directory *a, struct json_out *j,
                                   const struct invocation *x)
{
    struct buf *b = j->b;
    struct buf plain = {0};
    struct slice text = x->result;
    if (x->result_escaped && text.n > 0 && memchr(text.p, '\\', text.n) != NULL) {
        json_unescape(&plain, text);
        text = buf_slice(&plain);
    }
    if (!x->result_clean)
        text = sanitize_log_text(a, text);
    size_t n = redact_get_len_of_first_chars(text, LOG_DIRECTORY_TEXT_MAX);
    json_out_name(j, "result");
    text_append_json(b, (struct slice){text.p, n});
    if (n < text.n && !b->failed) {
        b->n--; /* remove the closing quote */
        buf_adds(b, "…\"");
    }
    b->failed |= plain.failed;
    buf_close(&plain);
}

static void add_error_to_log_line(struct log_directory *a, struct json_out *j,
                                  const struct invocation *x)
{
    json_out_object(j, "error");
    json_out_raw(j, "code", x->error_code);
    if (a->level != RECORD_MINIMAL) {
        struct redact *r = redact_get_current_sanitizer();
        size_t n = 0;
        if (r == NULL || redact_value(r, x->error_message, &a->clean, &n) < 0)
            a->lines.failed = true;
        json_out_add_visible_json(j, "message", n > 0 ? buf_slice(&a->clean) : x->error_message);
    }
    json_out_end(j);
}

void log_directory_add_call(struct log_directory *a, const struct invocation *x)
{
    struct buf *b = &a->lines;
    size_t before = b->n;
    bool bodies = a->level != RECORD_MINIMAL;
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    add_log_time(a, &j, x->wall_us);
    json_out_add_written_members(&j, buf_slice(&a->who));
    json_out_int(&j, "seq", (int64_t)x->seq);
    add_log_name(a, &j, "method", &a->method, x->method);
    if (x->target.p != NULL)
        add_log_name(a, &j, json_key_is(x->method, "tools/call") ? "tool" : "target", &a->target,
                     x->target);
    if (x->arguments.p != NULL && bodies)
        add_arguments(a, &j, x);
    json_out_quoted(&j, "status", value_get_word_as_slice(&call_statuses, x->status));
    if (x->error_code.p != NULL)
        add_error_to_log_line(a, &j, x);
    json_out_int(&j, "duration_ms", x->duration_us / 1000);
    add_dot_and_3_digits(b, x->duration_us % 1000);
    json_out_uint(&j, "request_bytes", x->request_bytes);
    json_out_uint(&j, "response_bytes", x->response_bytes);
    if (x->result.p != NULL && bodies)
        add_result_to_log_line(a, &j, x);
    if (x->commitment.p != NULL)
        json_out_quoted(&j, "commitment", x->commitment);
    json_out_end(&j);
    json_out_line(&j);
    /* If memory runs out, this line is dropped, and the earlier lines are kept. */
    if (b->failed || a->who.failed) {
        b->failed = false;
        b->n = before;
        log_warn("a line of the log directory was dropped: out of memory");
    }
}

static int open_log_of_day(struct log_directory *a, int vault_fd, const char *day)
{
    char name[64];
    size_t n = strlen(day);
    memcpy(name, day, n);
    memcpy(name + n, ".jsonl", sizeof ".jsonl");
    int logs = vault_dir_open_sub(vault_fd, VAULT_LOGS, true);
    int dir = logs >= 0 ? vault_dir_open_sub(logs, VAULT_ACTIONS, true) : -1;
    int fd = -1;
    if (dir >= 0)
        fd = vault_dir_open_file(dir, name, O_WRONLY | O_APPEND | O_CREAT);
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

/* Opens today's file; opens it again if it was removed meanwhile. */
static int open_todays_log(struct log_directory *a, int vault_fd, int64_t wall_us)
{
    char day[CLOCK_TEXT_MAX];
    clock_utc_day(wall_us, day);
    bool look = wall_us - a->looked_us >= LOOK_US || wall_us < a->looked_us;
    if (a->fd >= 0 && strcmp(day, a->day) == 0 && !look)
        return 0;
    a->looked_us = wall_us;
    if (a->fd >= 0 && strcmp(day, a->day) == 0 && vault_dir_file_still_exists(a->fd))
        return 0;
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    return open_log_of_day(a, vault_fd, day);
}

static int write_log_lines(struct log_directory *a, struct slice lines)
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

void log_directory_discard_lines(struct log_directory *a)
{
    buf_clear(&a->lines);
}

void log_directory_flush(struct log_directory *a, int vault_fd)
{
    if (a->lines.n == 0)
        return;
    int st = vault_fd >= 0 ? open_todays_log(a, vault_fd, clock_wall_us()) : MI_ENOENT;
    if (st == 0)
        st = write_log_lines(a, buf_slice(&a->lines));
    if (st < 0 && !a->failing)
        log_warn("cannot write the log directory, its lines are dropped: %s",
                 st == MI_ENOENT ? "the vault is not open" : strerror(errno));
    a->failing = st < 0;
    if (a->lines.cap > GATHER_MAX)
        buf_close(&a->lines);
    else
        buf_clear(&a->lines);
}
