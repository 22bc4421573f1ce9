/* sender_calls.c - functions that all steps of a round use. */
#include "ship/postgres/sender.h"

#include <stdarg.h>
#include <stdio.h>

void sender_open(struct sender *s, struct unsent *from, struct link *to, const char *url,
                 bool minimal)
{
    *s = (struct sender){.from = from, .to = to, .url = slice_of(url), .minimal = minimal};
}

void sender_close(struct sender *s)
{
    progress_close(&s->sessions);
    for (size_t i = 0; i < SENDER_ARRAYS; i++)
        array_close(&s->array[i]);
    buf_close(&s->piece);
    search_words_close(s->words);
    search_list_close(&s->list);
    buf_close(&s->text);
    buf_close(&s->error);
}

int sender_set_refusal_reason(struct sender *s, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    buf_clear(&s->error);
    buf_adds(&s->error, text);
    return TARGET_REFUSED;
}

const char *sender_error_text(struct sender *s, int status)
{
    if (status == MI_ENOMEM)
        return "out of memory";
    if (status == TARGET_STOPPED)
        return "stopped before everything was sent";
    if (s->error.n > 0)
        return buf_str(&s->error);
    return status == MI_ESTORE ? unsent_error(s->from) : link_error_text(s->to);
}

void sender_begin_call(struct sender *s)
{
    link_begin_call(s->to);
    link_add_text_argument(s->to, s->vault);
    link_add_bytes_argument(s->to, (struct slice){(const char *)s->log.head.b, DIGEST_N});
    link_add_int_argument(s->to, s->calls);
}

int sender_call_sql_function(struct sender *s, const char *function)
{
    int st = link_call_function(s->to, function);
    s->calls += st == 0;
    return st;
}

void sender_begin_arrays(struct sender *s, const enum array_type *type, size_t n)
{
    for (size_t i = 0; i < n; i++)
        array_begin(&s->array[i], type[i]);
}

void sender_add_array_arguments(struct sender *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        link_add_array_argument(s->to, &s->array[i]);
}

int sender_read_unsent_rows(struct sender *s, enum unsent_rows what, int64_t a, int64_t b,
                            int64_t c, unsent_fn fn, void *ctx, int64_t *ret_n)
{
    const int64_t key[3] = {a, b, c};
    return unsent_read_rows(s->from, what, key, fn, ctx, ret_n);
}
