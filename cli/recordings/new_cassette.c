#include "cli/recordings/new_cassette.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/save.h"
#include "cli/settings/command.h"
#include "redact/sanitizer.h"

#include <stdlib.h>

#define GAP_US 1000 /* microseconds between the last message of the file and the first new one */

struct new_message {
    int64_t at_us;
    size_t at, n; /* offset and length of the text in new_cassette.text */
    bool from_client;
};

struct new_cassette {
    const char *from, *to;              /* paths of the files, see new_cassette_open(); borrowed */
    const struct query_session *header; /* borrowed */
    struct new_message *messages;       /* owned; the new messages */
    size_t n, cap;
    struct buf text; /* owned; the texts of the new messages */

    /* The following members are used while the cassette is written: */
    struct cassette_writer *w;
    struct buf all;    /* owned; the lines of the cassette so far */
    int64_t last_t_us; /* the time of the last message of the cassette */
    int64_t count;     /* the number of messages of the cassette */
    int status;        /* the error of a callback; 0: none */
};

int new_cassette_open(struct new_cassette **ret, const char *from,
                      const struct query_session *header, const char *to)
{
    struct new_cassette *t = calloc(1, sizeof *t);
    if (t == NULL)
        return MI_ENOMEM;
    t->from = from;
    t->header = header;
    t->to = to;
    *ret = t;
    return 0;
}

void new_cassette_close(struct new_cassette *t)
{
    if (t == NULL)
        return;
    free(t->messages);
    buf_close(&t->text);
    buf_close(&t->all);
    free(t);
}

int new_cassette_add_message(void *ctx, bool from_client, struct slice message, int64_t now_us)
{
    struct new_cassette *t = ctx;
    struct buf clean = {0};
    struct redact *rules = redact_get_current_sanitizer();
    size_t n = 0;
    if (rules == NULL || !GROW(t->messages, t->n, t->cap))
        return MI_ENOMEM;
    int st = redact_message(rules, message, REDACT_SECRETS, &clean, &n);
    if (st == 0) {
        struct slice text = n > 0 ? buf_slice(&clean) : message;
        t->messages[t->n++] = (struct new_message){now_us, t->text.n, text.n, from_client};
        buf_slice_add(&t->text, text);
        st = t->text.failed ? MI_ENOMEM : 0;
    }
    buf_close(&clean);
    return st;
}

/* ---- collecting the lines of the old and the new messages ---- */

static bool new_cassette_write_session(void *ctx, const struct query_session *s)
{
    struct new_cassette *t = ctx;
    t->status = cassette_write_session(t->w, s);
    return t->status == 0;
}

static bool new_cassette_write_message(void *ctx, const struct query_message *m)
{
    struct new_cassette *t = ctx;
    t->last_t_us = m->t_us;
    t->count++;
    t->status = cassette_write_message(t->w, m);
    return t->status == 0;
}

static bool new_cassette_collect_lines(void *ctx, struct slice lines)
{
    struct new_cassette *t = ctx;
    buf_slice_add(&t->all, lines);
    return !t->all.failed;
}

/* Ends and closes the cassette writer, so that all its lines are in t->all. Removes the last line
 * from t->all, because that line marks the end of a cassette. */
static int new_cassette_remove_end_line(struct new_cassette *t)
{
    int st = cassette_write_end(t->w);
    cassette_write_close(t->w);
    t->w = NULL;
    if (st < 0)
        return st;
    size_t n = t->all.n - 1; /* the length without the newline at the end */
    while (n > 0 && t->all.p[n - 1] != '\n')
        n--;
    t->all.n = n;
    return 0;
}

static void new_cassette_add_message_lines(struct new_cassette *t)
{
    struct json_out j = json_out_to(&t->all);
    int64_t shift = (t->count > 0 ? t->last_t_us + GAP_US : 0) - t->messages[0].at_us;
    for (size_t i = 0; i < t->n; i++) {
        const struct new_message *m = &t->messages[i];
        json_out_object(&j, NULL);
        json_out_int(&j, "t", m->at_us + shift);
        json_out_str(&j, "dir", m->from_client ? "c2s" : "s2c");
        json_out_text(&j, "text", (struct slice){t->text.p + m->at, m->n});
        json_out_end(&j);
        json_out_line(&j);
    }
    json_out_object(&j, NULL);
    json_out_bool(&j, "end", true);
    json_out_int(&j, "messages", t->count + (int64_t)t->n);
    json_out_end(&j);
    json_out_line(&j);
    t->last_t_us = t->messages[t->n - 1].at_us + shift;
}

/* ---- writing ---- */

static bool new_cassette_save_lines(void *ctx, struct slice lines)
{
    return save_write_bytes(ctx, lines);
}

/* Writes the session. If the recorded end of the session is before the last message, moves the end
 * to the last message. */
static bool new_cassette_write_final_session(void *ctx, const struct query_session *s)
{
    struct new_cassette *t = ctx;
    struct query_session longer = *s;
    if (s->started_at_us != 0 && s->ended_at_us < s->started_at_us + t->last_t_us)
        longer.ended_at_us = s->started_at_us + t->last_t_us;
    return new_cassette_write_session(t, &longer);
}

/* Reads the collected lines, and writes them to the file. Reading finds the request of each answer;
 * writing omits the fields that can be derived from the messages. */
static int new_cassette_write_collected_lines(struct new_cassette *t, struct save *file,
                                              struct buf *error)
{
    int st = cassette_write_open(&t->w, new_cassette_save_lines, file);
    if (st == 0)
        st = cassette_read_text(t->to, buf_slice(&t->all), new_cassette_write_final_session,
                                new_cassette_write_message, t, error);
    if (st == 0)
        st = t->status;
    return st == 0 ? cassette_write_end(t->w) : st;
}

int new_cassette_write_file(struct new_cassette *t)
{
    struct save file;
    struct buf error = {0};
    if (t->n == 0)
        return EXIT_FINE;
    save_open(&file, t->to, SAVE_PRIVATE);
    int st = cassette_write_open(&t->w, new_cassette_collect_lines, t);
    if (st == 0 && t->from != NULL)
        st = cassette_read(t->from, new_cassette_write_session, new_cassette_write_message, t,
                           &error);
    else if (st == 0)
        st = cassette_write_session(t->w, t->header);
    if (st == 0)
        st = t->status;
    if (st == 0)
        st = new_cassette_remove_end_line(t);
    if (st == 0) {
        new_cassette_add_message_lines(t);
        st = t->all.failed ? MI_ENOMEM : new_cassette_write_collected_lines(t, &file, &error);
    }
    cassette_write_close(t->w);
    t->w = NULL;
    if (st < 0 && file.error == 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    int status = save_close(&file, st == 0);
    if (st == 0 && status == EXIT_FINE)
        log_note("wrote %s: new_messages=%zu", t->to, t->n);
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : status;
}
