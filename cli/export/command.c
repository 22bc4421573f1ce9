/* command.c - `mcp-interposer export SESSION -o FILE`: writes a session to a file that the user
 * keeps. */
#include "cli/export/commands.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/export/formats.h"
#include "cli/frame/ask.h"
#include "cli/frame/filter.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"
#include "vault/cassette/cassette_file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const struct opt table_of_options[] = {
    {'o', "output", "FILE", "-", "output file; -: stdout"},
    {0, "force", NULL, NULL, "replace FILE without asking if it exists"},
    {'F', "format", "auto|cassette|jsonl|csv|otlp|markdown|html", "auto",
     "output format (see below); auto: by the suffix of FILE"},
    {0, "no-stderr", NULL, NULL, "omit the lines of the server's standard error"},
    {0, "content", NULL, NULL, "otlp: write arguments and results into spans, too"},
    {0, "notifications", NULL, NULL, "otlp: write notifications as spans, too"},
    {0, "requests", NULL, NULL,
     "markdown, html: list each request of a call with several requests"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    COMMAND_SESSION_HELP
    "Without SESSION: the newest session that has a message. A line on stderr says\n"
    "what was written. A new FILE can be read by its owner only. An existing FILE is\n"
    "replaced only after a question or with --force; if the export fails, it remains.\n"
    "\n"
    "  cassette  for replay and verify: no paths and no names of this machine, and\n"
    "            the same session always gives the same bytes (.jsonl, no suffix)\n"
    "  jsonl     the output of `show --json`\n"
    "  csv       one line for each request of the client (.csv)\n"
    "  otlp      OpenTelemetry spans, as OTLP/JSON\n"
    "  markdown  a note with YAML front matter (.md, .markdown)\n"
    "  html      one page with timeline, filter and latencies; needs no network\n"
    "            (.html, .htm)\n"
    "\n"
    "--tool, --method, --failed, --slow, --since and --until select calls; with the\n"
    "format jsonl they select messages, as in `show`. A cassette is always a whole\n"
    "session.\n";
/* clang-format on */

static bool write_exported_lines(void *ctx, struct slice lines)
{
    return save_write_bytes(ctx, lines);
}

static int write_cassette(const struct settings *settings, struct query *q,
                          const struct query_session *s, struct save *file)
{
    struct buf error = {0};
    unsigned flags = settings_is_on(settings, "no-stderr") ? CASSETTE_NO_STDERR : 0;
    int st = cassette_write(q, s, flags, write_exported_lines, file, &error);
    if (st < 0 && file->error == 0)
        log_error("%s", buf_str(&error));
    buf_close(&error);
    return st;
}

static const struct {
    const char *name;
    int (*write)(struct export *x);
} formats[] = {
    {"jsonl", export_jsonl},       {"csv", export_csv},   {"otlp", export_otlp},
    {"markdown", export_markdown}, {"html", export_html},
};

/* The suffixes of file names that determine the format. `.json` is not among them, because no
 * format is a single JSON document. */
static const struct {
    const char *suffix, *format;
} suffixes[] = {
    {"", "cassette"},          {".jsonl", "cassette"}, {".csv", "csv"},  {".md", "markdown"},
    {".markdown", "markdown"}, {".html", "html"},      {".htm", "html"},
};

/* Returns the format, or NULL if the name of the file does not determine it. */
static const char *choose_export_format(const struct settings *s)
{
    if (!settings_value_equals(s, "format", "auto"))
        return settings_get_text(s, "format");
    const char *path = settings_get_text(s, "output"), *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    /* a name like .name has no suffix */
    const char *dot = name[0] != '\0' ? strrchr(name + 1, '.') : NULL;
    for (size_t i = 0; i < MI_COUNT(suffixes); i++)
        if (strcasecmp(dot != NULL ? dot : "", suffixes[i].suffix) == 0)
            return suffixes[i].format;
    return NULL;
}

static bool export_is_cassette(const struct settings *s)
{
    return strcmp(choose_export_format(s), "cassette") == 0;
}

/* Sets *ret_calls to the number of calls that the filter selects. */
static int write_export_in_format(const struct settings *settings, struct query *q,
                                  const struct query_session *s, const struct filter *f,
                                  struct save *file, size_t *ret_calls)
{
    const char *format = choose_export_format(settings);
    struct export x;
    int st = export_open(&x, q, s, file, f, settings_is_on(settings, "requests"));
    x.no_stderr = settings_is_on(settings, "no-stderr");
    x.content = settings_is_on(settings, "content");
    x.notifications = settings_is_on(settings, "notifications");
    for (size_t i = 0; st == 0 && i < MI_COUNT(formats); i++)
        if (strcmp(format, formats[i].name) == 0)
            st = formats[i].write(&x);
    *ret_calls = x.calls.selected_n;
    export_close(&x);
    if (st < 0 && file->error == 0)
        (void)session_report_query_error(q, st);
    return st;
}

/* Says what was written. Says nothing if the caller has named the session and reads stdout. */
static void report_export_summary(const struct settings *settings, const char *title, bool selected,
                                  size_t calls, uint64_t bytes)
{
    const char *path = settings_get_text(settings, "output");
    bool to_stdout = strcmp(path, "-") == 0;
    char some[40] = "";
    if (to_stdout && settings->operands[0] != NULL)
        return;
    if (selected)
        snprintf(some, sizeof some, " calls=%zu", calls);
    log_note("exported %s to %s:%s bytes=%llu", title, to_stdout ? "stdout" : path, some,
             (unsigned long long)bytes);
}

static int export_session(const struct settings *settings, struct query *q,
                          const struct query_session *s, const struct filter *f)
{
    struct save file;
    struct buf title = {0};
    size_t calls = 0;
    int st = session_describe(q, s, &title);
    if (st < 0) {
        buf_close(&title);
        return session_report_query_error(q, st);
    }
    save_open(&file, settings_get_text(settings, "output"), SAVE_PRIVATE);
    if (file.error != 0)
        st = MI_EIO;
    else
        st = export_is_cassette(settings)
                 ? write_cassette(settings, q, s, &file)
                 : write_export_in_format(settings, q, s, f, &file, &calls);
    uint64_t bytes = file.bytes;
    int status = save_close(&file, st == 0);
    if (st == 0 && status == EXIT_FINE)
        report_export_summary(settings, buf_str(&title), filter_selects_rows(f), calls, bytes);
    buf_close(&title);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int export_one_session(struct query *q, const struct settings *settings)
{
    struct query_session s;
    (void)signal(SIGPIPE, SIG_IGN);
    struct filter f;
    filter_read_from_options(&f, settings);
    int status = filter_pick_session(&f, settings, q, settings->operands[0], &s);
    return status == EXIT_FINE ? export_session(settings, q, &s, &f) : status;
}

/* Checks whether the file may be written. An existing file is replaced with --force, or if the user
 * agrees. A device or a pipe is written to, not replaced. Returns EXIT_FINE, or the status to exit
 * with. */
static int check_export_file(const struct settings *s)
{
    const char *path = settings_get_text(s, "output");
    struct stat st;
    if (settings_is_on(s, "force") || strcmp(path, "-") == 0 || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode))
        return EXIT_FINE;
    if (!ask_user_has_terminal())
        return settings_fail_usage(
            s, "%s exists: add --force to replace it, or choose another file", path);
    struct buf question = {0};
    text_append_visible(&question, slice_of(path));
    buf_adds(&question, " exists. Replace it?");
    bool yes = ask_user_for_yes(buf_str(&question));
    buf_close(&question);
    if (!yes)
        log_note("nothing was written");
    return yes ? EXIT_FINE : EXIT_FOUND;
}

static int export_run(const struct settings *s)
{
    if (choose_export_format(s) == NULL)
        return settings_fail_usage(
            s,
            "--output: the suffix of '%s' does not select a format: use .jsonl, .csv, .md or "
            ".html, or --format",
            settings_get_text(s, "output"));
    if ((settings_is_on(s, "content") || settings_is_on(s, "notifications")) &&
        strcmp(choose_export_format(s), "otlp") != 0)
        return settings_fail_usage(s, "--content and --notifications require --format otlp");
    if (settings_is_on(s, "requests") && strcmp(choose_export_format(s), "markdown") != 0 &&
        strcmp(choose_export_format(s), "html") != 0)
        return settings_fail_usage(s, "--requests requires --format markdown or html");
    struct filter f;
    filter_read_from_options(&f, s);
    if (export_is_cassette(s) && filter_selects_rows(&f))
        return settings_fail_usage(
            s, "a cassette is a whole session: --tool, --method, --failed, --slow, --since and "
               "--until require --format jsonl, csv, otlp, markdown or html");
    int status = check_export_file(s);
    return status == EXIT_FINE ? session_run_command(s, export_one_session) : status;
}

const struct command command_export = {
    .name = "export",
    .summary = "write a session to a file for replay, programs or people",
    .usage = "[OPTIONS] [SESSION] -o FILE",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = export_run,
};
