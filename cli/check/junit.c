#include "cli/check/junit.h"

#include "base/junit.h"
#include "base/text.h"

/* Is this the first finding of its name in the list? */
static bool is_first(const struct check_recording *x, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (x->findings[i].name == x->findings[at].name)
            return false;
    return true;
}

static void add_finding(const struct check_report *r, const struct check_finding *f,
                        struct buf *text, struct buf *scratch)
{
    struct slice subject = check_subject(r, f, scratch);
    buf_printf(text, "\nmessage %lld, of the %s", (long long)f->seq, check_sender(f));
    buf_adds(text, subject.n > 0 ? ", " : "");
    text_xml(text, subject);
    buf_adds(text, f->detail.n > 0 ? ": " : "");
    text_xml(text, check_slice(r, f->detail));
}

/* One case for all findings with the name of this one. */
static void add_case(const struct check_report *r, const struct check_recording *x, size_t at,
                     struct buf *b)
{
    const struct check_finding *f = &x->findings[at];
    struct buf text = {0}, scratch = {0};
    for (size_t i = at; i < x->n; i++)
        if (x->findings[i].name == f->name)
            add_finding(r, &x->findings[i], &text, &scratch);
    buf_addc(&text, '\n');
    junit_case(b, &(struct junit_case){
                      .classname = slice_of("mcp"),
                      .name = slice_of(f->name),
                      .outcome = f->fails ? JUNIT_FAILED : JUNIT_NOTED,
                      .type = severity_name(f->severity),
                      .message = f->fails ? slice_of(f->meaning) : (struct slice){0},
                      .xml = buf_slice(&text),
                  });
    b->failed |= text.failed || scratch.failed;
    buf_close(&text);
    buf_close(&scratch);
}

static void add_suite(const struct check_report *r, const struct check_recording *x, struct buf *b)
{
    struct junit_suite suite = {.name = check_slice(r, x->name)};
    for (size_t i = 0; i < x->n; i++)
        if (is_first(x, i)) {
            suite.tests++;
            suite.failures += x->findings[i].fails;
        }
    bool none = suite.tests == 0;
    suite.tests += none;
    junit_begin_suite(b, &suite);
    if (none)
        junit_case(
            b, &(struct junit_case){.classname = slice_of("mcp"), .name = slice_of("no finding")});
    for (size_t i = 0; i < x->n; i++)
        if (is_first(x, i))
            add_case(r, x, i, b);
    junit_end_suite(b, &suite);
}

void check_junit(const struct check_report *r, struct buf *b)
{
    junit_begin(b, NULL);
    for (size_t i = 0; i < r->n; i++)
        add_suite(r, &r->recordings[i], b);
    junit_end(b);
}
