#include "report/report.h"

#include <stdlib.h>

void report_close(struct report *r)
{
    buf_close(&r->suites);
    buf_close(&r->cases);
    buf_close(&r->name);
    buf_close(&r->results);
    free(r->rules);
    *r = (struct report){0};
}

void report_case(struct report *r, const struct report_case *c)
{
    report_junit_case(r, c);
    report_sarif_case(r, c);
}
