/* dlopen.c - a dlopen() for libsqlite3.a that loads nothing. Linked with --wrap=dlopen.
 *
 * SQLite calls dlopen() to load an extension, which this program never enables. The dlopen() of
 * libc.a would load the machine's shared libc into a program that already contains a libc, so the
 * linker warns of it. */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
    (void)file, (void)mode;
    return NULL;
}
