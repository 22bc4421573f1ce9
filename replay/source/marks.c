#include "replay/source/marks.h"

/* Whether the text contains "… [+N chars]"; the ellipsis may be written as an escape. */
static bool text_has_truncation(struct slice text)
{
    static const char *const dots[] = {MARKS_TRUNCATED, "\\u2026 [+"};
    for (size_t i = 0; i < MI_COUNT(dots); i++) {
        const char *cut = memmem(text.p, text.n, dots[i], strlen(dots[i]));
        if (cut != NULL && memmem(cut, text.n - (size_t)(cut - text.p), " chars]", 7) != NULL)
            return true;
    }
    return false;
}

enum marks marks_in_text(struct slice raw)
{
    if (raw.p == NULL)
        return MARKS_NONE;
    if (memmem(raw.p, raw.n, MARKS_REDACTED, sizeof MARKS_REDACTED - 1) != NULL)
        return MARKS_SECRET;
    return text_has_truncation(raw) ? MARKS_CUT : MARKS_NONE;
}
