/* judge - does the schema validator decide cases rightly?
 *
 * Reads a case a line from stdin: {"name":…,"schema":…,"data":…,"valid":true|false,"unknown":true|false}, where
 * "unknown": no result is right, too. Prints the cases that are decided otherwise and, last, `N passed, N failed`. Exit status 0 when nothing failed. */
#include "wire/json/text.h"
#include "wire/schema/compile.h"

#include <stdio.h>
#include <stdlib.h>

static int passed, failed;

static void judge(struct slice line)
{
    struct json_scan scan;
    struct schema *s = NULL;
    struct buf why = {0};
    struct schema_fault fault = {{0}, {0}};
    if (json_scan(line, NULL, NULL, &scan) < 0) {
        printf("not ok - no JSON: %.*s\n", (int)size_min(line.n, 200), line.p);
        failed++;
        return;
    }
    struct json_value v = {JSON_OBJECT, scan.root};
    struct slice name = json_get(v, "name").text;
    bool want = json_get(v, "valid").type == JSON_TRUE;
    bool unknown = json_get(v, "unknown").type == JSON_TRUE;
    enum schema_result got = SCHEMA_UNKNOWN;
    if (schema_open(&s, json_get(v, "schema").text, NULL, &why) == 0)
        got = schema_check(s, json_get(v, "data").text, &fault);
    bool right = got == (want ? SCHEMA_FITS : SCHEMA_FAILS) || (unknown && got == SCHEMA_UNKNOWN);
    right = right && (fault.reason.n > 0) == (got != SCHEMA_FITS);
    if (right) {
        passed++;
    } else {
        failed++;
        printf("not ok - %.*s: %s, wanted %s; %s %s%s\n", (int)name.n, name.p,
               got == SCHEMA_FITS    ? "fits"
               : got == SCHEMA_FAILS ? "fails"
                                     : "unknown",
               want ? "fits" : "fails", buf_str(&fault.pointer), buf_str(&fault.reason),
               buf_str(&why));
    }
    schema_close(s);
    buf_close(&why);
    schema_fault_close(&fault);
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        /* a block that ends with the text, so that a sanitizer sees what goes past it */
        char *copy = malloc((size_t)n);
        if (copy == NULL)
            return 1;
        memcpy(copy, line, (size_t)n);
        judge((struct slice){copy, (size_t)n});
        free(copy);
    }
    free(line);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
