#include "replay/source/marks.h"

enum marks marks_find_in_text(struct slice raw)
{
    /* The ellipsis in the mark may be written as a JSON escape. */
    static const char *const truncated[] = {MARKS_TRUNCATED, "\\u2026 [+"};
    if (raw.p == NULL)
        return MARKS_NONE;
    if (memmem(raw.p, raw.n, MARKS_REDACTED, sizeof MARKS_REDACTED - 1) != NULL)
        return MARKS_SECRET;
    for (size_t i = 0; i < MI_COUNT(truncated); i++) {
        const char *cut = memmem(raw.p, raw.n, truncated[i], strlen(truncated[i]));
        if (cut != NULL && memmem(cut, raw.n - (size_t)(cut - raw.p), " chars]", 7) != NULL)
            return MARKS_CUT;
    }
    return MARKS_NONE;
}
