#include "report/report.h"

#include <stdlib.h>

void report_close(struct report *r)
{
    buf_close(&r->draft.name);
    buf_close(&r->draft.message);
    buf_close(&r->draft.detail);
    buf_close(&r->suites);
    buf_close(&r->cases);
    buf_close(&r->name);
    buf_close(&r->results);
    free(r->rules);
    *r = (struct report){0};
}

struct report_case *report_begin_case(struct report *r)
{
    struct report_case *c = &r->draft;
    struct buf name = c->name, message = c->message, detail = c->detail;
    r->failed = report_is_out_of_memory(r);
    buf_clear(&name);
    buf_clear(&message);
    buf_clear(&detail);
    *c =
        (struct report_case){.group = r->group, .name = name, .message = message, .detail = detail};
    return c;
}

void report_add_case(struct report *r)
{
    report_add_junit(r);
    report_add_sarif(r);
}
