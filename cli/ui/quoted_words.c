#include "cli/ui/quoted_words.h"

bool split_quoted_words(const char *line, char *out, char **words, size_t max)
{
    size_t n = 0;
    char quote = '\0';
    bool in = false;
    for (const char *p = line; *p != '\0'; p++) {
        bool opens = !in && (*p == '\'' || *p == '"');
        bool ends = quote != '\0' ? *p == quote : *p == ' ';
        if (ends && in)
            *out++ = '\0';
        if (ends) {
            in = false;
            quote = '\0';
            continue;
        }
        if (!in && n + 1 == max)
            return false;
        if (!in)
            words[n++] = out;
        in = true;
        if (opens)
            quote = *p;
        else
            *out++ = *p;
    }
    *out = '\0';
    words[n] = NULL;
    return true;
}
