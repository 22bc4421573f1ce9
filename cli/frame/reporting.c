#include "cli/frame/reporting.h"

#include "base/log.h"
#include "base/text.h"
#include "cli/frame/save.h"

/* minimum columns of a sentence; with fewer columns, it begins on the next line */
#define SENTENCE_MIN 40
#define SENTENCE_INDENT 9 /* column of a sentence that begins on a new line */

static bool is_path_of_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Reads --format and --output. `--format FORM --output FILE` is another way to request a single
 * form. */
static int read_report_format(struct reporting *r, const struct settings *s)
{
    const char *format = settings_get_text(s, "format");
    if (settings_is_on(s, "json") && opt_get_source(&s->set, "format") == OPT_FLAG &&
        strcmp(format, "json") != 0)
        return settings_fail_usage(s, "--json and --format %s: choose one", format);
    r->output =
        is_path_of_stdout(settings_get_text(s, "output")) ? NULL : settings_get_text(s, "output");
    r->json |= strcmp(format, "json") == 0;
    if (r->json || strcmp(format, "text") == 0)
        return EXIT_FINE;
    const char **file = strcmp(format, "junit") == 0 ? &r->junit : &r->sarif;
    if (*file != NULL)
        return settings_fail_usage(s, "--format %s and --%s: choose one", format, format);
    *file = settings_get_text(s, "output");
    r->output = NULL;
    r->text = false;
    return EXIT_FINE;
}

int reporting_open(struct reporting *r, const struct settings *s, bool json)
{
    *r = (struct reporting){
        .text = true,
        .json = json,
        .junit = settings_get_text(s, "junit"),
        .sarif = settings_get_text(s, "sarif"),
    };
    int status = settings_has_option(s, "format") ? read_report_format(r, s) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    bool junit = is_path_of_stdout(r->junit), sarif = is_path_of_stdout(r->sarif);
    bool rows = r->json && r->output == NULL;
    if (rows + junit + sarif > 1)
        return settings_fail_usage(s, "%s and --%s - both write to stdout: use a file",
                                   rows ? "--json" : "--junit -",
                                   rows && junit ? "junit" : "sarif");
    r->text &= !r->json && (r->output != NULL || (!junit && !sarif));
    r->report.junit = r->junit != NULL;
    r->report.sarif = r->sarif != NULL;
    out_open(&r->out);
    if (r->output != NULL) {
        r->out.held = true;
        r->out.is_terminal = r->out.controlled = r->out.coloured = false;
        r->out.columns = OUT_UNLIMITED;
    }
    r->row = json_out_to(&r->out.b);
    return EXIT_FINE;
}

static int reporting_write_file(struct reporting *r, const char *path,
                                void (*write)(struct report *r, struct buf *b))
{
    struct buf b = {0};
    write(&r->report, &b);
    int status = save_buffer_to_file(path, &b);
    buf_close(&b);
    return status;
}

int reporting_close(struct reporting *r)
{
    int status = EXIT_FINE;
    if (r->output != NULL) {
        status = save_buffer_to_file(r->output, &r->out.b);
        buf_clear(&r->out.b);
    }
    int printed = out_close(&r->out);
    status = status == EXIT_FINE ? printed : status;
    if (status == EXIT_FINE && r->junit != NULL)
        status = reporting_write_file(r, r->junit, report_write_junit);
    if (status == EXIT_FINE && r->sarif != NULL)
        status = reporting_write_file(r, r->sarif, report_write_sarif);
    report_close(&r->report);
    r->out = (struct out){0};
    return status;
}

void reporting_close_without_files(struct reporting *r)
{
    if (r->output == NULL)
        out_flush(&r->out);
    buf_close(&r->out.b);
    buf_close(&r->out.text);
    report_close(&r->report);
}

struct json_out *reporting_begin_row(struct reporting *r)
{
    json_out_object(&r->row, NULL);
    return &r->row;
}

void reporting_end_row(struct reporting *r)
{
    json_out_end(&r->row);
    out_end_line(&r->out);
    r->row = json_out_to(&r->out.b);
}

/* ---- text ---- */

void reporting_print_line(struct out *o, const struct reporting_cell *cells, size_t n,
                          struct slice sentence)
{
    size_t indent = 0;
    for (size_t i = 0; i < n; i++)
        indent += cells[i].width;
    bool beside = o->columns >= indent + SENTENCE_MIN;
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(cells[i].text);
        if (cells[i].style == OUT_PLAIN)
            out_add_raw(o, cells[i].text);
        else
            out_print_styled_words(o, cells[i].style, cells[i].text);
        for (; length < cells[i].width && (beside || i + 1 < n); length++)
            out_add_raw(o, " ");
    }
    if (!beside) {
        indent = SENTENCE_INDENT;
        out_end_line(o);
        out_printf(o, "%*s", SENTENCE_INDENT, "");
    }
    size_t from = o->b.n;
    out_add_text(o, sentence);
    out_fill_line(o, from, indent);
}

/* Whether the line has words between which it can be wrapped. */
static bool has_words_to_wrap(struct slice line, size_t max)
{
    while (line.n > 0) {
        const char *blank = memchr(line.p, ' ', line.n);
        size_t n = blank != NULL ? (size_t)(blank - line.p) : line.n;
        if (text_count_columns((struct slice){line.p, n}) > max)
            return false;
        line.p += size_min(n + 1, line.n);
        line.n -= size_min(n + 1, line.n);
    }
    return true;
}

void reporting_print_details(struct out *o, struct slice lines, size_t indent)
{
    while (lines.n > 0) {
        struct slice line = slice_take_line(&lines);
        bool removed = slice_begins(line, "- "), added = slice_begins(line, "+ ");
        size_t begin = indent + (removed || added ? 2 : 0);
        size_t room = o->columns == OUT_UNLIMITED ? OUT_UNLIMITED
                      : o->columns > begin        ? o->columns - begin
                                                  : 0;
        out_printf(o, "%*s", (int)begin, "");
        out_style(o, removed ? OUT_RED : added ? OUT_GREEN : OUT_PLAIN);
        size_t from = o->b.n;
        if (has_words_to_wrap(line, room)) {
            out_add_text(o, line);
            out_fill_line(o, from, begin);
        } else {
            (void)out_add_fitting_text(o, OUT_PLAIN, line, room);
            out_end_line(o);
        }
        out_style(o, OUT_PLAIN);
    }
}
