/* changes.h - tells when files in a directory are written.
 *
 * Linux     inotify(7).
 * Owns      a descriptor, which the caller closes.
 * Blocks    never. */
#ifndef MI_BASE_OS_CHANGES_H
#define MI_BASE_OS_CHANGES_H

/* A descriptor that poll(2) reports as readable after a file in the directory was created or written. Writes through a
 * mapping are not reported, so the caller also looks now and then. -1: there is no such directory, or the system or the
 * file system cannot tell: the caller has to look often. */
int changes_open(const char *dir);
/* Forgets what was reported. */
void changes_forget(int fd);

#endif
