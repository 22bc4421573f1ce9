#include "wire/schema/tools_diff.h"

#include "wire/json/text.h"

const char *tools_get_change_name(enum tools_change c)
{
    static const char *const names[] = {
        [TOOLS_NEW] = "new", [TOOLS_CHANGED] = "changed", [TOOLS_GONE] = "gone"};
    return names[c];
}

static bool tools_have_equal_json(const struct tool *a, const struct tool *b)
{
    return json_equal((struct json_value){JSON_OBJECT, a->text},
                      (struct json_value){JSON_OBJECT, b->text});
}

size_t tools_list_differences(const struct tools *before, const struct tools *now,
                              tools_equal_fn equal, tools_change_fn fn, void *ctx)
{
    size_t i = 0, k = 0, n = 0;
    if (equal == NULL)
        equal = tools_have_equal_json;
    while (i < before->n || k < now->n) {
        const struct tool *a = i < before->n ? &before->tool[i] : NULL;
        const struct tool *b = k < now->n ? &now->tool[k] : NULL;
        int c = a != NULL && b != NULL ? slice_cmp(a->name, b->name) : 0;
        enum tools_change change = TOOLS_CHANGED;
        if (b == NULL || c < 0) {
            change = TOOLS_GONE;
            b = NULL;
        } else if (a == NULL || c > 0) {
            change = TOOLS_NEW;
            a = NULL;
        }
        i += a != NULL;
        k += b != NULL;
        if (a != NULL && b != NULL && equal(a, b))
            continue;
        n++;
        if (fn != NULL)
            fn(ctx, change, b != NULL ? b->name : a != NULL ? a->name : (struct slice){0}, a, b);
    }
    return n;
}
