/* Any recording, replayed to any client: all output is valid messages, each request gets at most one answer, and
 * the replay ends when the client has exited. The input is a cassette, a line `---`, and the client's lines. */
#include "replay/mock/conversation.h"

#include "base/log.h"
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#define TURNS_MAX 100000

struct client {
    size_t asked, answered;
};

static int on_line(void *ctx, struct slice line)
{
    struct client *c = ctx;
    struct rpc m;
    MUST(line.n > 0 && line.p[line.n - 1] == '\n');
    MUST(rpc_read((struct slice){line.p, line.n - 1}, &m) == 0 && m.kind != RPC_INVALID);
    c->answered += m.kind == RPC_RESULT || m.kind == RPC_ERROR;
    return 0;
}

static void on_stderr(void *ctx, struct slice line)
{
    (void)ctx, (void)line;
}

static void no_log(void *ctx, struct slice line)
{
    (void)ctx, (void)line;
}

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

static const char *write_file(struct slice text)
{
    if (path[0] == '\0') {
        snprintf(path, sizeof path, "/tmp/fuzz-replay-%d.jsonl", (int)getpid());
        MUST(atexit(remove_file) == 0);
    }
    FILE *f = fopen(path, "we");
    MUST(f != NULL);
    MUST(fwrite(text.p, 1, text.n, f) == text.n);
    MUST(fclose(f) == 0);
    return path;
}

static void play(struct source *source, struct slice lines)
{
    struct conversation_rules rules = {0};
    struct faults faults = {0};
    struct misses misses = {0};
    struct conversation *conversation = NULL;
    struct client client = {0};
    int64_t now = 1000000;
    MUST(conversation_open(&conversation, &rules, &faults, source, &misses, on_line, on_stderr,
                           &client) == 0);
    MUST(conversation_begin(conversation, now) == 0);
    while (lines.n > 0 && conversation_get_end_reason(conversation) == CONVERSATION_RUNNING) {
        const char *end = memchr(lines.p, '\n', lines.n);
        size_t n = end != NULL ? (size_t)(end - lines.p) : lines.n;
        client.asked++; /* at most one answer per line; a batch is one line too */
        MUST(conversation_handle_line(conversation, (struct slice){lines.p, n}, now) == 0);
        now += 1000;
        MUST(conversation_send_due_messages(conversation, now) == 0);
        n += end != NULL;
        lines = (struct slice){lines.p + n, lines.n - n};
    }
    MUST(conversation_handle_client_hangup(conversation, now) == 0);
    size_t turns = 0;
    while (conversation_next_event_us(conversation) != CONVERSATION_NEVER && turns++ < TURNS_MAX) {
        now = conversation_next_event_us(conversation) > now
                  ? conversation_next_event_us(conversation)
                  : now;
        MUST(conversation_send_due_messages(conversation, now) == 0);
    }
    MUST(turns < TURNS_MAX);
    MUST(client.answered <= client.asked);
    conversation_close(conversation);
    misses_close(&misses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = {(const char *)data, size}, lines = {0};
    struct source *source = NULL;
    struct buf error = {0};
    log_set_sink(no_log, NULL);
    const char *cut = size > 0 ? memmem(all.p, all.n, "\n---\n", 5) : NULL;
    if (cut != NULL) {
        size_t n = (size_t)(cut - all.p);
        lines = (struct slice){cut + 5, all.n - n - 5};
        all.n = n + 1;
    }
    if (source_open_cassette(&source, write_file(all), &error) == 0)
        play(source, lines);
    source_close(source);
    buf_close(&error);
    return 0;
}
