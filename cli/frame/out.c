#include "cli/frame/out.h"

#include "base/log.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/write_all.h"
#include "cli/settings/command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define BLOCK ((size_t)32 << 10)

static bool environment_has_variable(const char *variable)
{
    const char *v = getenv(variable);
    return v != NULL && v[0] != '\0';
}

/* Does the locale's name end with UTF-8, as in `de_DE.UTF-8`? The locale itself need not be
 * installed. */
static bool locale_is_utf8(void)
{
    const char *variable = environment_has_variable("LC_ALL")     ? "LC_ALL"
                           : environment_has_variable("LC_CTYPE") ? "LC_CTYPE"
                                                                  : "LANG";
    const char *charset = environment_has_variable(variable) ? strchr(getenv(variable), '.') : NULL;
    return charset != NULL &&
           (strncasecmp(charset, ".UTF-8", 6) == 0 || strncasecmp(charset, ".UTF8", 5) == 0);
}

void out_open(struct out *o)
{
    *o = (struct out){0};
    (void)signal(SIGPIPE, SIG_IGN); /* write() reports EPIPE */
    o->utf8 = locale_is_utf8();
    size_t columns = terminal_columns(STDOUT_FILENO);
    o->is_terminal = columns > 0;
    const char *term = getenv("TERM");
    o->controlled = o->is_terminal && term != NULL && strcmp(term, "dumb") != 0;
    o->coloured = o->controlled && !environment_has_variable("NO_COLOR");
    o->columns = o->is_terminal ? columns : OUT_UNLIMITED;
}

void out_flush(struct out *o)
{
    if (!out_has_ended(o) && write_all(STDOUT_FILENO, buf_slice(&o->b)) < 0) {
        if (errno == EPIPE)
            o->closed = true;
        else
            o->error = errno;
    }
    if (o->b.failed && o->error == 0)
        o->error = ENOMEM;
    buf_clear(&o->b);
}

int out_close(struct out *o)
{
    out_flush(o);
    buf_close(&o->b);
    buf_close(&o->text);
    if (o->error == 0)
        return EXIT_FINE;
    log_error("cannot write to stdout: %s", strerror(o->error));
    return EXIT_TROUBLE;
}

bool out_has_ended(const struct out *o)
{
    return o->closed || o->error != 0;
}

void out_add_raw(struct out *o, const char *text)
{
    buf_adds(&o->b, text);
}

void out_printf(struct out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(&o->b, fmt, ap);
    va_end(ap);
}

void out_add_text(struct out *o, struct slice text)
{
    if (text.p != NULL)
        text_append_visible(&o->b, text);
}

void out_style(struct out *o, enum out_style style)
{
    static const char *const codes[] = {"0", "2", "1", "31", "32", "33", "36"};
    if (o->coloured) {
        buf_adds(&o->b, "\033[");
        buf_adds(&o->b, codes[style]);
        buf_addc(&o->b, 'm');
    }
}

void out_print_styled_words(struct out *o, enum out_style style, const char *text)
{
    out_style(o, style);
    out_add_raw(o, text);
    out_style(o, OUT_PLAIN);
}

const char *out_direction_arrow(const struct out *o, bool to_server)
{
    if (to_server)
        return o->utf8 ? "\xE2\x86\x92" : "->";
    return o->utf8 ? "\xE2\x86\x90" : "<-";
}

void out_write_styled(struct out *o, enum out_style style, struct slice text)
{
    out_style(o, style);
    out_add_text(o, text);
    out_style(o, OUT_PLAIN);
}

void out_end_line(struct out *o)
{
    buf_addc(&o->b, '\n');
    if ((o->b.n >= BLOCK && !o->held) || o->b.failed)
        out_flush(o);
}

/* Returns how many bytes of visible text fit into `max` columns. *ret_width: the columns of these
 * bytes. */
static size_t out_fit_text(struct slice s, size_t max, size_t *ret_width)
{
    size_t i = 0, width = 0;
    while (i < s.n) {
        size_t len = text_utf8_len(s.p + i, s.n - i);
        size_t w = text_columns_of_char(s.p + i, len);
        if (width + w > max)
            break;
        width += w;
        i += len;
    }
    *ret_width = width;
    return i;
}

/* Writes the text to o->text, with its control characters made visible. */
static struct slice out_escape_control_chars(struct out *o, struct slice text)
{
    buf_clear(&o->text);
    if (text.p != NULL)
        text_append_visible(&o->text, text);
    return buf_slice(&o->text);
}

static void out_add_blanks(struct out *o, size_t n)
{
    for (; n > 0; n--)
        buf_addc(&o->b, ' ');
}

/* Prints a cell. Returns its columns without padding. */
static size_t add_cell(struct out *o, enum out_style style, struct slice text, size_t width,
                       bool padded, bool right)
{
    if (style != OUT_PLAIN)
        out_style(o, style);
    const char *dots = o->utf8 ? "\xE2\x80\xA6" : "...";
    size_t dots_width = o->utf8 ? 1 : 3;
    size_t max = o->columns == OUT_UNLIMITED ? OUT_UNLIMITED : width;
    struct slice head = text;
    if (text.p != NULL && max < SIZE_MAX / 16)
        /* the bytes after these are never shown in the cell */
        head = text_prefix(text, 8 * max + 64);
    struct slice v = out_escape_control_chars(o, head);
    size_t taken;
    size_t n = out_fit_text(v, max, &taken);
    bool cut = n < v.n || head.n < text.n;
    bool dotted = cut && max >= dots_width;
    if (dotted) {
        n = out_fit_text(v, max - dots_width, &taken);
        taken += dots_width;
    }
    size_t blanks = padded && taken < width ? width - taken : 0;
    if (right)
        out_add_blanks(o, blanks);
    buf_add(&o->b, v.p, n);
    if (dotted)
        buf_adds(&o->b, dots);
    if (!right)
        out_add_blanks(o, blanks);
    if (style != OUT_PLAIN)
        out_style(o, OUT_PLAIN);
    return taken;
}

void out_add_fixed_cell(struct out *o, enum out_style style, struct slice text, size_t width,
                        bool right)
{
    (void)add_cell(o, style, text, width, true, right);
}

size_t out_add_fitting_text(struct out *o, enum out_style style, struct slice text, size_t width)
{
    return add_cell(o, style, text, width, false, false);
}

void out_fill_line(struct out *o, size_t from, size_t indent)
{
    if (o->columns != OUT_UNLIMITED && !o->b.failed && from < o->b.n) {
        buf_clear(&o->text);
        buf_add(&o->text, o->b.p + from, o->b.n - from);
        o->b.n = from;
        o->b.failed |= o->text.failed;
        text_append_wrapped(&o->b, buf_slice(&o->text), indent, o->columns);
    }
    out_end_line(o);
}

void out_print_paragraphs(struct out *o, size_t indent, struct slice text)
{
    while (text.n > 0) {
        size_t from = o->b.n;
        out_add_text(o, slice_take_line(&text));
        out_fill_line(o, from, indent);
    }
}

size_t out_width(struct out *o, struct slice text)
{
    return text_count_columns(out_escape_control_chars(o, text));
}
