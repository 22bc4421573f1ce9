/* dlopen.c - dlopen() for libsqlite3.a: it loads nothing. Linked with --wrap=dlopen.
 *
 * SQLite calls dlopen() to load an extension, which this program never enables. libc.a's dlopen()
 * would load the shared libc of the machine into a program that contains another one; the linker
 * warns of it. */
#include <stddef.h>

void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
    (void)file, (void)mode;
    return NULL;
}
