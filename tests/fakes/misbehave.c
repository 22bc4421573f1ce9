/* misbehave.c - a server that misbehaves as instructed.
 *
 *   misbehave DIR [KEY=VALUE]...
 *
 * Every start is an incarnation: 1, 2, ... DIR/starts has a line `INCARNATION PID WHO` for each process,
 * DIR/received a line `INCARNATION MESSAGE` for each line of stdin, written before it is processed.
 *
 * A request runs a script, a list of words: the VALUE whose KEY is its tool's name or its method; else its
 * tool's name, if that is a script; else it is answered. Scripts run concurrently: a sleeping one does not
 * delay others. `start=SCRIPT` runs at the start, before anything is read.
 *
 *   answer              (the default last word of a script)
 *   error:CODE:TEXT     an error; `_` in TEXT is a blank        fail:TEXT  a result with isError
 *   task                a task instead of a result              large:N    a result of N bytes
 *   twice  stranger  malformed  half      two answers; one to an unknown id; neither result nor error;
 *                                         the first half of an answer without a newline
 *   hang                no answer, now or later
 *   sleep:MS  note:N:MS  progress:N:MS    wait; N notifications or progress reports, each after MS
 *   ask:METHOD          a request to the client; continues after its answer
 *   pose:METHOD  withdraw                 the same without waiting; cancel the last request
 *   ack  changed  noise  err:N            subscriptions/acknowledged; tools/list_changed; a line that is
 *                                         not a message; N lines on stderr
 *   freeze  spin  stop  deaf  close       block; block in a busy loop; SIGSTOP; stop reading;
 *                                         close stdout
 *   shut                                  close stdin
 *   block:MS  work:MS[:pipes]             wait, and read nothing meanwhile; the same while a child computes,
 *                                         which keeps the pipes open with `:pipes`
 *   exit:N  signal:N  ignore:N            exit now; kill itself now; ignore this signal from now on
 *   fork:KIND           start a process that stays: `group` in this process group, `grip` also keeps the
 *                       pipes open; `session` in its own session, `pipes` also keeps the pipes open
 *
 * A word `@2/WORD` applies in incarnation 2 only, `@2+/WORD` from then on; likewise KEY@2 and KEY@2+. The last
 * match wins. Keys other than methods and tools: start, eof (a script for the end of stdin, default
 * exit:0), version (of the protocol), capabilities (JSON), tool.NAME=readOnlyHint|idempotentHint|plain
 * (the annotations in tools/list). An alarm ends every process after two minutes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/pick.h"

enum { LINE_MAX_LEN = 1 << 20, WORD_MAX = 128 };

struct job {
    struct job *next;
    char *text; /* owned: the message; the parts below point into it */
    struct part id, method, token;
    bool modern, answered;
    char *script; /* owned */
    char *at;     /* the next word */
    long left;    /* remaining repetitions of the word at `at`; 0: not started */
    long long wake_ms;
    long asked; /* number of the request to the client that it waits for; 0: none */
};

static char **args;
static int incarnation, asks, answers;
static const char *dir;
static struct job *jobs;
static bool deaf;
static char in[LINE_MAX_LEN];
static size_t in_len;

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno != EINTR)
            return;
        if (w > 0) {
            p += w;
            n -= (size_t)w;
        }
    }
}

/* Appends to a file of DIR with one write. */
static void note_in(const char *name, const char *text, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        _exit(98);
    write_all(fd, text, n);
    close(fd);
}

static void note_process(const char *who)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%d %d %s\n", incarnation, (int)getpid(), who);
    note_in("starts", text, (size_t)n);
}

static int count_incarnations(void)
{
    char path[4096], line[128], who[64];
    int n = 0, of, pid;
    snprintf(path, sizeof path, "%s/starts", dir);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        n += sscanf(line, "%d %d %63s", &of, &pid, who) == 3 && strcmp(who, "server") == 0;
    if (f != NULL)
        fclose(f);
    return n;
}

static bool is(struct part text, const char *word)
{
    return text.n == strlen(word) && memcmp(text.p, word, text.n) == 0;
}

/* Does "2" or "2+" match this incarnation? *ret_rest is the text after it. */
static bool counts_now(const char *text, char **ret_rest)
{
    long n = strtol(text, ret_rest, 10);
    bool on = **ret_rest == '+';
    *ret_rest += on;
    return on ? incarnation >= n : incarnation == n;
}

static const char *setting(const char *key, size_t n)
{
    const char *found = NULL;
    for (char **a = args; *a != NULL; a++) {
        char *rest = *a + n;
        if (strncmp(*a, key, n) != 0)
            continue;
        if (*rest == '@' && !counts_now(rest + 1, &rest))
            continue;
        if (*rest == '=')
            found = rest + 1;
    }
    return found;
}

/* ---- sending -------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char *line;
    va_list ap;
    va_start(ap, format);
    int n = vasprintf(&line, format, ap);
    va_end(ap);
    if (n < 0)
        _exit(98);
    write_all(STDOUT_FILENO, line, (size_t)n);
    free(line);
}

#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":%.*s,"

static void answer_with(struct job *j, const char *members)
{
    const char *modern = "";
    if (j->id.p == NULL)
        return;
    if (j->modern)
        modern = *members == '\0' ? "\"resultType\":\"complete\"" : "\"resultType\":\"complete\",";
    say(ANSWER "\"result\":{%s%s}}\n", (int)j->id.n, j->id.p, modern, members);
    j->answered = true;
}

static void tools_list(struct job *j)
{
    char out[1 << 14] = "\"tools\":[";
    size_t n = strlen(out);
    for (char **a = args; *a != NULL; a++) {
        const char *kind = strrchr(*a, '=');
        if (strncmp(*a, "tool.", 5) != 0 || kind == NULL || n + 512 > sizeof out)
            continue;
        n += (size_t)snprintf(out + n, sizeof out - n,
                              "%s{\"name\":\"%.*s\",\"inputSchema\":{\"type\":\"object\"}",
                              out[n - 1] == '[' ? "" : ",", (int)(kind - *a - 5), *a + 5);
        if (strcmp(kind, "=plain") != 0)
            n += (size_t)snprintf(out + n, sizeof out - n, ",\"annotations\":{\"%s\":true}",
                                  kind + 1);
        n += (size_t)snprintf(out + n, sizeof out - n, "}");
    }
    snprintf(out + n, sizeof out - n, "]%s",
             j->modern ? ",\"ttlMs\":0,\"cacheScope\":\"private\"" : "");
    answer_with(j, out);
}

static void initialize(struct job *j, struct part params)
{
    char out[4096];
    struct part asked = pick_text(params, "protocolVersion");
    const char *version = setting("version", 7), *capabilities = setting("capabilities", 12);
    if (version != NULL)
        asked = (struct part){version, strlen(version)};
    snprintf(out, sizeof out,
             "\"protocolVersion\":\"%.*s\",\"capabilities\":%s,\"serverInfo\":{\"name\":"
             "\"misbehave\",\"version\":\"1\"}",
             (int)asked.n, asked.n > 0 ? asked.p : "",
             capabilities != NULL ? capabilities : "{\"tools\":{}}");
    answer_with(j, out);
}

#define TASK                                                                                       \
    "\"taskId\":\"t1\",\"status\":\"%s\",\"createdAt\":\"2026-01-01T00:00:00Z\","                  \
    "\"lastUpdatedAt\":\"2026-01-01T00:00:00Z\",\"ttl\":60000"

static void answer(struct job *j)
{
    static const struct {
        const char *method, *members;
    } plain[] = {
        {"prompts/list", "\"prompts\":[]"},
        {"resources/list", "\"resources\":[]"},
        {"resources/templates/list", "\"resourceTemplates\":[]"},
        {"prompts/get", "\"messages\":[]"},
        {"completion/complete", "\"completion\":{\"values\":[]}"},
        {"server/discover",
         "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
         "\"ttlMs\":0,\"cacheScope\":\"private\""},
        {"ping", ""},
        {"logging/setLevel", ""},
        {"resources/subscribe", ""},
        {"resources/unsubscribe", ""},
    };
    struct part params = pick((struct part){j->text, strlen(j->text)}, "params");
    char out[256];
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (is(j->method, plain[i].method)) {
            answer_with(j, plain[i].members);
            return;
        }
    if (is(j->method, "initialize")) {
        initialize(j, params);
    } else if (is(j->method, "tools/list")) {
        tools_list(j);
    } else if (is(j->method, "tools/call")) {
        snprintf(out, sizeof out, "\"content\":[{\"type\":\"text\",\"text\":\"%d.%d\"}]",
                 incarnation, ++answers);
        answer_with(j, out);
    } else if (is(j->method, "resources/read")) {
        snprintf(out, sizeof out, "\"contents\":[{\"uri\":\"x:y\",\"text\":\"%d.%d\"}]",
                 incarnation, ++answers);
        answer_with(j, out);
    } else if (is(j->method, "tasks/get") || is(j->method, "tasks/cancel")) {
        snprintf(out, sizeof out, TASK, is(j->method, "tasks/get") ? "working" : "cancelled");
        answer_with(j, out);
    } else if (j->id.p != NULL) {
        say(ANSWER "\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n", (int)j->id.n,
            j->id.p);
        j->answered = true;
    }
}

static void answer_large(struct job *j, size_t size)
{
    char *members = malloc(size + 64);
    if (members == NULL)
        _exit(98);
    size_t n = (size_t)sprintf(members, "\"content\":[{\"type\":\"text\",\"text\":\"");
    memset(members + n, 'x', size);
    memcpy(members + n + size, "\"}]", sizeof "\"}]");
    answer_with(j, members);
    free(members);
}

/* An error, or a result with isError: "CODE:TEXT" or "TEXT". */
static void complain(struct job *j, const char *what, bool error)
{
    char text[WORD_MAX];
    char *at = text;
    snprintf(text, sizeof text, "%s", what);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    if (j->id.p == NULL)
        return;
    long code = error ? strtol(text, &at, 10) : 0;
    if (error)
        say(ANSWER "\"error\":{\"code\":%ld,\"message\":\"%s\"}}\n", (int)j->id.n, j->id.p, code,
            at + (*at == ':'));
    else
        say(ANSWER
            "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"isError\":true}}"
            "\n",
            (int)j->id.n, j->id.p, text);
    j->answered = true;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static void start_process(const char *kind)
{
    pid_t pid = fork();
    if (pid != 0)
        return;
    alarm(120);
    if (*kind != 'g')
        setsid();
    if (strcmp(kind, "pipes") != 0 && strcmp(kind, "grip") != 0)
        for (int fd = 0; fd < 3; fd++)
            close(fd);
    note_process(kind);
    for (;;)
        pause();
}

static void stay(bool busy)
{
    for (volatile unsigned long n = 0;; n++)
        if (!busy)
            pause();
}

static void block(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        continue;
}

static void compute(long cpu_ms)
{
    struct timespec t;
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < cpu_ms);
}

/* The child computes during a third of the time. */
static void work(long ms, bool pipes)
{
    long long end_ms = now_ms() + ms;
    pid_t pid = fork();
    if (pid == 0) {
        for (int fd = 0; fd < 3 && !pipes; fd++)
            close(fd);
        for (long cpu_ms = 20; now_ms() < end_ms; cpu_ms += 20, block(40))
            compute(cpu_ms);
        _exit(0);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

enum outcome { GO_ON, WAIT, END };

static enum outcome say_word(struct job *j, const char *w, const char *arg)
{
    int n = (int)j->id.n;
    const char *id = j->id.p;
    if (strcmp(w, "answer") == 0) {
        answer(j);
    } else if (strcmp(w, "error") == 0 || strcmp(w, "fail") == 0) {
        complain(j, arg, *w == 'e');
    } else if (strcmp(w, "large") == 0) {
        answer_large(j, strtoul(arg, NULL, 10));
    } else if (strcmp(w, "task") == 0) {
        say(ANSWER "\"result\":{\"task\":{" TASK "}}}\n", n, id, "working");
        j->answered = true;
    } else if (strcmp(w, "twice") == 0) {
        answer(j);
        answer(j);
    } else if (strcmp(w, "stranger") == 0) {
        say(ANSWER "\"result\":{}}\n", 9, "\"nobody1\"");
    } else if (strcmp(w, "malformed") == 0) {
        say(ANSWER "\"answer\":{}}\n", n, id);
        j->answered = true;
    } else if (strcmp(w, "half") == 0) {
        say(ANSWER "\"result\":{\"content\":[{\"type\":\"te", n, id);
    } else if (strcmp(w, "ack") == 0) {
        say(NOTE "subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
                 "subscriptionId\":%.*s},\"notifications\":{\"toolsListChanged\":true}}}\n",
            n, id);
    } else if (strcmp(w, "changed") == 0) {
        say(NOTE "tools/list_changed\"}\n");
    } else if (strcmp(w, "noise") == 0) {
        say("Listening on stdio...\n");
    } else if (strcmp(w, "err") == 0) {
        char line[100];
        memset(line, 'e', sizeof line - 1);
        line[sizeof line - 1] = '\n';
        for (long i = strtol(arg, NULL, 10); i > 0; i--)
            write_all(STDERR_FILENO, line, sizeof line);
    } else {
        fprintf(stderr, "misbehave: unknown word %s\n", w);
        _exit(97);
    }
    return GO_ON;
}

static enum outcome do_word(struct job *j, const char *w, const char *arg)
{
    int n = (int)strtol(arg, NULL, 10);
    if (strcmp(w, "hang") == 0) {
        j->answered = true;
        return END;
    }
    if (strcmp(w, "exit") == 0)
        _exit(n);
    if (strcmp(w, "signal") == 0) {
        signal(n, SIG_DFL);
        kill(getpid(), n);
    } else if (strcmp(w, "stop") == 0) {
        kill(getpid(), SIGSTOP);
    } else if (strcmp(w, "ignore") == 0) {
        signal(n, SIG_IGN);
    } else if (strcmp(w, "fork") == 0) {
        start_process(arg);
    } else if (strcmp(w, "freeze") == 0 || strcmp(w, "spin") == 0) {
        stay(*w == 's');
    } else if (strcmp(w, "block") == 0) {
        block(n);
    } else if (strcmp(w, "work") == 0) {
        work(n, strchr(arg, ':') != NULL);
    } else if (strcmp(w, "deaf") == 0) {
        deaf = true;
    } else if (strcmp(w, "shut") == 0) {
        deaf = true;
        close(STDIN_FILENO);
    } else if (strcmp(w, "close") == 0) {
        close(STDOUT_FILENO);
    } else if (strcmp(w, "withdraw") == 0) {
        say(NOTE "cancelled\",\"params\":{\"requestId\":%d}}\n", asks);
    } else if (strcmp(w, "ask") == 0 || strcmp(w, "pose") == 0) {
        say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"message\":\"?\","
            "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}},\"messages\":[],"
            "\"maxTokens\":1}}\n",
            ++asks, arg);
        if (*w == 'p')
            return GO_ON;
        j->asked = asks;
        return WAIT;
    } else {
        return say_word(j, w, arg);
    }
    return GO_ON;
}

/* `sleep:MS`, or N repetitions of a wait and an action. */
static enum outcome wait_word(struct job *j, const char *w, const char *arg)
{
    char *rest;
    long times = 1, ms = strtol(arg, &rest, 10);
    bool is_sleep = strcmp(w, "sleep") == 0;
    if (!is_sleep) {
        times = ms;
        ms = *rest == ':' ? strtol(rest + 1, NULL, 10) : 0;
    }
    if (j->left == 0)
        j->left = times;
    else if (is_sleep || (*w != 'n' && j->token.p == NULL))
        j->left--;
    else if (*w == 'n')
        say(NOTE "message\",\"params\":{\"level\":\"info\",\"data\":\"%ld\"}}\n", j->left--);
    else
        say(NOTE "progress\",\"params\":{\"progressToken\":%.*s,\"progress\":%ld}}\n",
            (int)j->token.n, j->token.p, times - j->left--);
    if (j->left <= 0) {
        j->left = 0;
        return GO_ON;
    }
    j->wake_ms = now_ms() + ms;
    return WAIT;
}

/* Runs a script until it waits or ends; true: it has ended. */
static bool run_job(struct job *j)
{
    for (;;) {
        char word[WORD_MAX];
        j->at += strspn(j->at, " ");
        size_t n = strcspn(j->at, " ");
        if (n == 0) {
            if (!j->answered)
                answer(j);
            return true;
        }
        snprintf(word, sizeof word, "%.*s", (int)n, j->at);
        char *w = word;
        bool counts = *w != '@' || counts_now(w + 1, &w);
        w += *w == '/';
        char *arg = w + strcspn(w, ":");
        arg += *arg == ':' ? (*arg = '\0', 1) : 0;
        bool waits =
            strcmp(w, "sleep") == 0 || strcmp(w, "note") == 0 || strcmp(w, "progress") == 0;
        enum outcome o = !counts ? GO_ON : waits ? wait_word(j, w, arg) : do_word(j, w, arg);
        if (o == END)
            return true;
        if (o == GO_ON || !waits)
            j->at += n;
        if (o == WAIT)
            return false;
    }
}

static void free_job(struct job *j)
{
    free(j->text);
    free(j->script);
    free(j);
}

static void begin_job(struct job *j, const char *script)
{
    j->script = j->at = strdup(script);
    if (j->script == NULL)
        _exit(98);
    if (run_job(j)) {
        free_job(j);
        return;
    }
    j->next = jobs;
    jobs = j;
}

static struct job *new_job(const char *text, size_t n)
{
    struct job *j = calloc(1, sizeof *j);
    if (j == NULL || (j->text = strndup(text, n)) == NULL)
        _exit(98);
    return j;
}

/* Continues the scripts that are due. Returns the time until the next one is due. */
static int run_due_jobs(void)
{
    int wait = -1;
    for (struct job **p = &jobs; *p != NULL;) {
        struct job *j = *p;
        long long left = j->asked != 0 ? 1000000 : j->wake_ms - now_ms();
        if (left <= 0 && run_job(j)) {
            *p = j->next;
            free_job(j);
            continue;
        }
        if (left > 0 && j->asked == 0)
            wait = wait < 0 || left < wait ? (int)left : wait;
        else if (left <= 0)
            wait = 0;
        p = &j->next;
    }
    return wait;
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void heard_answer(struct part id)
{
    char number[24];
    for (struct job *j = jobs; j != NULL; j = j->next) {
        int n = snprintf(number, sizeof number, "%ld", j->asked);
        if (j->asked != 0 && id.p != NULL && (size_t)n == id.n && memcmp(id.p, number, id.n) == 0) {
            j->asked = 0;
            j->wake_ms = 0;
        }
    }
}

static const char *script_for(const struct job *j, struct part tool)
{
    static const char words[] =
        " answer error fail task large twice stranger malformed half hang "
        "sleep note progress ask pose withdraw ack changed noise err freeze spin stop deaf "
        "close exit signal ignore fork block work ";
    static char name[4096];
    const char *script;
    char first[WORD_MAX];
    if (tool.p != NULL && (script = setting(tool.p, tool.n)) != NULL)
        return script;
    if (tool.p != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)tool.n, tool.p);
        snprintf(first, sizeof first, " %.*s ", (int)strcspn(name, " :"), name);
        if (*name == '@' || strstr(words, first) != NULL)
            return name;
    }
    if ((script = setting(j->method.p, j->method.n)) != NULL)
        return script;
    if (is(j->method, "subscriptions/listen"))
        return "ack hang";
    return is(j->method, "tasks/result") ? "hang" : j->id.p != NULL ? "answer" : "hang";
}

static void hear(const char *line, size_t n)
{
    char head[16];
    char *text;
    int len = snprintf(head, sizeof head, "%d ", incarnation);
    if ((text = malloc((size_t)len + n + 1)) == NULL)
        _exit(98);
    memcpy(text, head, (size_t)len);
    memcpy(text + len, line, n);
    text[(size_t)len + n] = '\n';
    note_in("received", text, (size_t)len + n + 1);
    free(text);

    struct job *j = new_job(line, n);
    struct part all = {j->text, n};
    struct part params = pick(all, "params"), meta = pick(params, "_meta");
    j->id = pick(all, "id");
    j->method = pick_text(all, "method");
    j->token = pick(meta, "progressToken");
    j->modern = pick(meta, "io.modelcontextprotocol/protocolVersion").p != NULL;
    if (j->method.p == NULL) {
        heard_answer(j->id);
        free_job(j);
        return;
    }
    struct part tool = {NULL, 0};
    if (is(j->method, "tools/call"))
        tool = pick_text(params, "name");
    begin_job(j, script_for(j, tool));
}

static void listen_on(void)
{
    struct pollfd p = {.fd = deaf ? -1 : STDIN_FILENO, .events = POLLIN};
    int wait = run_due_jobs();
    p.fd = deaf ? -1 : STDIN_FILENO;
    if (poll(&p, 1, wait) <= 0 || deaf)
        return;
    ssize_t n = read(STDIN_FILENO, in + in_len, sizeof in - in_len);
    if (n <= 0) {
        const char *script = setting("eof", 3);
        deaf = true;
        begin_job(new_job("", 0), script != NULL ? script : "exit:0");
        return;
    }
    in_len += (size_t)n;
    size_t start = 0;
    char *end;
    while (!deaf && (end = memchr(in + start, '\n', in_len - start)) != NULL) {
        size_t from = start;
        start = (size_t)(end - in) + 1;
        hear(in + from, (size_t)(end - in) - from);
    }
    memmove(in, in + start, in_len - start);
    in_len -= start;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 99;
    alarm(120);
    dir = argv[1];
    args = argv + 2;
    incarnation = count_incarnations() + 1;
    note_process("server");
    const char *script = setting("start", 5);
    if (script != NULL)
        begin_job(new_job("", 0), script);
    for (;;)
        listen_on();
}
