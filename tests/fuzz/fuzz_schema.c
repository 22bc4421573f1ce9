/* A schema and a value, one per line: compiling and checking end within bounded time and memory, and
 * give the same result twice. */
#include "base/clock.h"
#include "tests/fuzz/fuzz.h"
#include "wire/json/scan.h"
#include "wire/schema/compile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json_scan scan;
    struct schema *s;
    struct schema_limits limits = {.cpu_us = 0};
    struct buf why = {0};
    int64_t from = clock_thread_us();
    const char *nl = n > 0 ? memchr(data, '\n', n) : NULL;
    if (nl == NULL)
        return 0;
    struct slice schema = {(const char *)data, (size_t)(nl - (const char *)data)};
    struct slice value = {nl + 1, n - schema.n - 1};
    if (json_scan(schema, NULL, NULL, &scan) == 0 && json_scan(value, NULL, NULL, &scan) == 0 &&
        schema_open(&s, schema, &limits, &why) == 0) {
        struct schema_fault fault = {{0}, {0}};
        enum schema_result first = schema_check(s, value, &fault);
        MUST((first == SCHEMA_FAILS) == (fault.reason.n > 0) || first == SCHEMA_UNKNOWN);
        MUST(schema_check(s, value, NULL) == first);
        schema_fault_close(&fault);
        MUST(limits.memory.used <= SCHEMA_BYTES_MAX);
        schema_close(s);
    }
    MUST(limits.memory.used == 0);
    MUST(clock_thread_us() - from <
         1000000); /* two checks: 10 ms, and 30 times that with sanitizers */
    buf_close(&why);
    return 0;
}
