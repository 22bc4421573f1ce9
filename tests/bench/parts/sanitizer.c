/* sanitizer.c - speed of the sanitizer for different contents, and its share of the time for a message.
 *
 * The share: the time in redact_message() relative to the time from the check of a line to the commit of its row,
 * 64 rows per commit, in a vault named by the argument. */
#include "redact/sanitizer.h"
#include "tests/bench/parts/measure.h"
#include "tests/bench/parts/store.h"
#include "wire/rpc.h"

/* ---- contents of messages ---- */

static const char code[] =
    "static int read_all(struct settings *s, char **argv)\\n{\\n\\tfor (int i = 0; i < s->n; i++) {"
    "\\n\\t\\tif (strcmp(argv[i], \\\"--name\\\") == 0)\\n\\t\\t\\treturn fail(s, \\\"no name\\\");"
    "\\n\\t}\\n\\treturn token_skip_to_next(s) != NULL ? 0 : -1; /* caf\xC3\xA9 */\\n}\\n";
static const char object[] =
    "{\"id\":481516,\"name\":\"notes.md\",\"size\":2342,\"tags\":[\"a\",\"b\",null],\"open\":true,"
    "\"owner\":{\"id\":7,\"login\":\"bob\"},\"ratio\":0.25,\"url\":\"https://example.org/notes/"
    "7\"},";
static const char base64[] = "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAADwf7zUAAAKt2lUWHRYTUw6Y29tLmFk";
static const char secret[] = " glpat-aB3dE5fG7hJ9kL1mN3pQ ";

static void structure(struct buf *b, size_t n)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[],\"structuredContent\":[");
    fill(b, object, n);
    buf_adds(b, "0]}}");
}

static void image(struct buf *b, size_t n)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"image\","
                "\"mimeType\":\"image/png\",\"data\":\"");
    fill(b, base64, n);
    buf_adds(b, "\"}]}}");
}

static void with_secrets(struct buf *b, size_t n)
{
    struct buf part = {0};
    fill(&part, words, 1024);
    buf_adds(&part, secret);
    answer(b, buf_str(&part), n);
    buf_close(&part);
}

/* ---- measuring ---- */

static struct buf clean;

static void sanitize(void *ctx, struct slice message)
{
    size_t n;
    if (redact_message(ctx, message, REDACT_CONTENT, &clean, &n) < 0)
        die("no memory");
}

static void record(void *ctx, struct slice message)
{
    struct rpc m;
    if (rpc_read(message, &m) < 0)
        die("a message that is none");
    store_add(ctx, &m, message);
}

static void speed(struct redact *r, const char *name, struct buf *b)
{
    double ns = measure(sanitize, r, buf_slice(b));
    printf("%-28s %9.0f MB/s\n", name, (double)b->n * 1000 / ns);
    buf_clear(b);
}

static void share(struct redact *r, const char *vault, const char *name, struct buf *b)
{
    struct store p;
    store_open(&p, vault);
    double alone = measure(sanitize, r, buf_slice(b));
    double all = measure(record, &p, buf_slice(b));
    printf("%-28s %9.2f us of %.2f us: %.0f %%\n", name, alone / 1000, all / 1000,
           100 * alone / all);
    store_close(&p);
    buf_clear(b);
}

int main(int argc, char **argv)
{
    struct redact *r = redact_get_current_sanitizer();
    struct buf b = {0};
    if (argc != 2)
        die("name a directory for its vault");
    if (r == NULL)
        die("no memory");
    const char *vault = argv[1];
    printf("sanitizer, messages of 64 KiB\n");
    answer(&b, words, 64 << 10);
    speed(r, "text", &b);
    answer(&b, code, 64 << 10);
    speed(r, "source code", &b);
    structure(&b, 64 << 10);
    speed(r, "structure", &b);
    image(&b, 64 << 10);
    speed(r, "base64", &b);
    with_secrets(&b, 64 << 10);
    speed(r, "a secret in each KiB", &b);
    printf("\nits share, from the check of a message to its commit\n");
    request(&b, 300);
    share(r, vault, "request of 300 B", &b);
    answer(&b, words, 10 << 10);
    share(r, vault, "text of 10 KiB", &b);
    structure(&b, 10 << 10);
    share(r, vault, "structure of 10 KiB", &b);
    image(&b, 1 << 20);
    share(r, vault, "image of 1 MiB", &b);
    buf_close(&b);
    buf_close(&clean);
    redact_set_current_rules(NULL);
    return 0;
}
