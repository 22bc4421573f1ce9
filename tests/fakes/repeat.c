/* repeat.c - a quick server that answers every request with the text in it.
 *
 *   repeat [WORD...]
 *
 * WORDs are ignored. It knows just enough JSON for its clients: in a request, `"id": ` comes before other members whose
 * names end so, and `"text": ` is a string; the answer has it as it is written there, or an empty one. Ends with status 0
 * at the end of stdin. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value after this member's name, as it is written; NULL: it has none. */
static const char *value_of(const char *line, const char *name, int *ret_n)
{
    const char *p = strstr(line, name);
    while (p != NULL && p > line && p[-1] == '\\') /* in a string */
        p = strstr(p + 1, name);
    if (p == NULL)
        return NULL;
    const char *value = p + strlen(name), *end = value + 1;
    while (*end != '\0' && (*value == '"' ? *end != '"' : *end != ',' && *end != '}'))
        end += *end == '\\' ? 2 : 1;
    *ret_n = (int)(end - value) + (*value == '"');
    return value;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        int id_n, text_n = 2;
        const char *id = value_of(line, "\"id\": ", &id_n);
        const char *text = value_of(line, "\"text\": ", &text_n);
        if (id == NULL)
            continue;
        printf(
            "{\"jsonrpc\": \"2.0\", \"id\": %.*s, \"result\": {\"content\": [{\"type\": \"text\", "
            "\"text\": %.*s}]}}\n",
            id_n, id, text_n, text != NULL ? text : "\"\"");
        fflush(stdout);
    }
    free(line);
    return 0;
}
