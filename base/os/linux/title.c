#include "base/os/title.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define TITLE_MAX 256 /* bytes of a title, including the NUL */

static char *area; /* the arguments' memory; NULL: not known */
static size_t area_n;
/* Owned until the process exits. No code reads this pointer; leak checkers find the block through
 * it. */
__attribute__((used)) static char **copies;

/* Returns the number of strings in `v`. For one string after the other: if it begins at *end, moves
 * *end to the byte after its NUL. */
static size_t count_adjacent_strings(char **v, char **end)
{
    size_t n = 0;
    for (; v[n] != NULL; n++)
        if (v[n] == *end)
            *end += strlen(v[n]) + 1;
    return n;
}

/* Copies the pointers of `from`, shifted by the distance between the old strings and their copies.
 * Pointers to other memory (there are none after execve(2)) are copied unchanged. */
static void copy_string_pointers(char **to, char **from, size_t n, char *strings)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] >= area && from[i] < area + area_n ? strings + (from[i] - area) : from[i];
    to[n] = NULL;
}

char **title_open(int argc, char **argv)
{
    if (argc < 1 || argv[0] == NULL)
        return argv;
    char *end = argv[0];
    size_t arguments_n = count_adjacent_strings(argv, &end),
           environment_n = count_adjacent_strings(environ, &end);
    size_t strings = (size_t)(end - argv[0]);
    char **arguments = malloc((arguments_n + environment_n + 2) * sizeof *arguments + strings);
    if (arguments == NULL)
        return argv;
    area = argv[0];
    area_n = strings;
    char **environment = arguments + arguments_n + 1;
    char *text = (char *)(environment + environment_n + 1);
    memcpy(text, area, area_n);
    copy_string_pointers(arguments, argv, arguments_n, text);
    copy_string_pointers(environment, environ, environment_n, text);
    environ = environment;
    copies = arguments;
    return arguments;
}

void title_set(const char *short_name, const char *fmt, ...)
{
    prctl(PR_SET_NAME, short_name);
    if (area == NULL)
        return;
    char text[TITLE_MAX];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    for (char *p = text; *p != '\0'; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
    /* If the last byte of the arguments is not NUL, the kernel shows a text that continues into the
     * environment, up to the first NUL. Otherwise the kernel shows all arguments. To be safe in
     * both cases, all of this memory is cleared first. */
    size_t used = size_min(strlen(text), area_n - 1);
    memset(area, 0, area_n);
    memcpy(area, text, used);
}
