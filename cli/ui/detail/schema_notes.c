#include "cli/ui/detail/schema_notes.h"

#include "wire/json/text.h"

void schema_notes_close(struct schema_notes *f)
{
    schema_fault_close(&f->of_call);
    schema_fault_close(&f->of_result);
    buf_close(&f->pointer[0]);
    buf_close(&f->pointer[1]);
    *f = (struct schema_notes){0};
}

static bool schema_notes_read_message(const struct detail_message *m, struct rpc *ret)
{
    return m->body.p != NULL && m->body.n <= SCHEMA_NOTES_BODY_MAX && rpc_read(m->body, ret) == 0;
}

/* Adds a note about a violation of a schema. value: the JSON Pointer of the value that was checked.
 * fault->pointer is relative to this value. */
static void schema_notes_add(struct schema_notes *f, size_t message, const char *value,
                             const struct schema_fault *fault)
{
    struct buf *pointer = &f->pointer[f->n];
    buf_adds(pointer, value);
    buf_slice_add(pointer, buf_slice(&fault->pointer));
    if (pointer->failed || fault->pointer.failed || fault->reason.failed)
        return;
    f->note[f->n++] = (struct detail_note){
        .message = message,
        .pointer = buf_slice(pointer),
        .text = buf_slice(&fault->reason),
        .severity = SEVERITY_ERROR,
    };
}

void schema_notes_find(struct schema_notes *f, struct tools *t, const struct detail_message *m,
                       size_t n)
{
    struct rpc call, answer;
    struct tool *tool;
    schema_notes_close(f);
    if (n == 0 || m[0].kind != KIND_REQUEST || !slice_is(m[0].method, "tools/call") ||
        !schema_notes_read_message(&m[0], &call) || call.kind != RPC_REQUEST)
        return;
    if ((tools_check_call(t, &call, &tool, &f->of_call) & RULE(RULE_INVALID_ARGUMENTS)) != 0)
        schema_notes_add(f, 0, call.arguments.type != JSON_NONE ? "/params/arguments" : "/params",
                         &f->of_call);
    for (size_t i = 1; tool != NULL && i < n; i++) {
        if (m[i].kind != KIND_RESULT || m[i].from_client == m[0].from_client ||
            !schema_notes_read_message(&m[i], &answer))
            continue;
        if ((tools_check_result(t, json_string_raw(call.name), &answer, &tool, &f->of_result) &
             RULE(RULE_INVALID_STRUCTURED_CONTENT)) != 0)
            schema_notes_add(
                f, i, answer.structured.type != JSON_NONE ? "/result/structuredContent" : "/result",
                &f->of_result);
        return;
    }
}
