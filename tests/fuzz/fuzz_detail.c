/* Any bytes as a message of the detail pane, and any actions: only printable text is drawn, and the lines do not depend on
 * how they are found. */
#include "tests/fuzz/fuzz.h"

#define WALK_MUST(condition) MUST(condition)
#include "tests/support/detail_walk.h"

#define ACTIONS 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum row_kind kinds[] = {KIND_REQUEST, KIND_RESULT, KIND_NOISE, KIND_STDERR};
    uint32_t action[ACTIONS + 1] = {0};
    struct detail *d;
    if (size < sizeof action)
        return 0;
    memcpy(action, data, sizeof action);
    struct slice body = {(const char *)data + sizeof action, size - sizeof action};
    size_t pointer = size_min(body.n, action[0] >> 24);
    struct detail_note note = {0, {body.p + body.n - pointer, pointer}, body, SEVERITY_ERROR};
    struct detail_line line = {-5, body};
    struct detail_message m = {.kind = kinds[action[0] % 4],
                               .method = body,
                               .target = body,
                               .id = body,
                               .finding = body,
                               .body = body};
    struct detail_subject s = {.is_call = action[0] % 8 < 4,
                               .message = &m,
                               .messages_n = 1,
                               .note = &note,
                               .notes_n = 1,
                               .post_mortem_title = body,
                               .post_mortem = body,
                               .stderr_line = &line,
                               .stderr_n = 1};
    if (body.n > 4096)
        return 0;
    MUST(detail_open(&d, &s) == 0);
    for (size_t i = 1; i <= ACTIONS; i++) {
        walk_lines(d, action[i] % 16, action[i] % 64);
        walk_step(d, body, action[i]);
        walk_again(d, action[i] % 80, action[i] % 2 == 0);
    }
    detail_close(d);
    return 0;
}
