/* changes.h - tells when files in a directory are written.
 *
 * Linux     inotify(7).
 * Owns      a descriptor, which the caller closes.
 * Blocks    never. */
#ifndef MI_BASE_OS_CHANGES_H
#define MI_BASE_OS_CHANGES_H

/* Returns a descriptor that poll(2) reports as readable after a file in the directory was created
 * or written. Writes through a mapping are not reported, so the caller must also check from time to
 * time. Returns -1 if the directory is missing, or if the system or file system cannot report
 * changes; then the caller must check often. */
int changes_watch_dir(const char *dir);
/* Discards the events reported so far. */
void changes_discard_events(int fd);

#endif
