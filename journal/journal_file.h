/* journal_file.h - the files of journals, in memory.
 *
 * A journal has messages as they were received, so it must never be written to a disk. Its
 * directory is used only if it is in memory (on tmpfs), belongs to the user, has mode 0700 and is
 * not a symbolic link. The default directory is /dev/shm/mcp-interposer-UID, which is made if it is
 * missing. A file has mode 0600, and its name is the uid of the session. If the directory cannot be
 * used, or has less room than JOURNAL_FILE_ROOM, the journal is a file without a name
 * (memory_file()). Such a journal is lost if both processes are killed.
 *
 * Locks     each side holds a lock on its own open file description (F_OFD_SETLK): byte 0 for the
 *           writer, byte 1 for the reader. The kernel releases a lock when the last descriptor and
 *           the last mapping of its description are gone. So a child process of the writer must
 *           neither keep the writer's descriptor nor a mapping of the file (ring.h).
 * Source    fcntl(2), "Open file description locks", which POSIX has since 2024; base/os/memory.h.
 * Owns      the descriptor.
 * Errors    MI_EIO: see errno. MI_ENOENT: there is no such journal.
 * Blocks    never. */
#ifndef MI_JOURNAL_JOURNAL_FILE_H
#define MI_JOURNAL_JOURNAL_FILE_H

#include "base/buf.h"
#include "journal/uid.h"

#define JOURNAL_FILE_ROOM ((size_t)8 << 20) /* bytes that must be free in the directory */

struct journal_file {
    int fd;                /* -1: closed */
    char uid[UID_LEN + 1]; /* uid of the session */
    /* true: the file has a name; false: the file was made by memory_file() */
    bool has_name;
};

enum journal_side { JOURNAL_WRITER, JOURNAL_READER };

/* Sets the directory that contains journals; NULL: the default. A relative path is relative to the
 * working directory at the time of this call. The path is copied. For --journal-dir. */
void journal_file_set_dir(const char *path);
/* Appends the path of the journal directory, even if the directory cannot be used. */
void journal_file_append_dir(struct buf *b);
/* Opens the directory with file_open_dir(). Returns -1 if it is missing or cannot be used. */
MI_MUST int journal_file_open_dir(void);
/* Appends the reason why this process cannot give a journal a name, such as "/mnt/x is not on
 * tmpfs". Appends nothing if this process can give a journal a name. To find out, creates and
 * removes a file. Used by the command `doctor`. */
void journal_file_find_problem(struct buf *b);

/* Makes an empty file and locks it for the writer. If the file gets no name in the directory, *why
 * has the reason; `why` may be NULL. Returns 0 or MI_EIO. */
MI_MUST int journal_file_create(struct journal_file *f, const char *uid, struct buf *why);
/* Makes a journal in a file without a name. Used when the file system of the journal directory has
 * become full. */
MI_MUST int journal_file_create_unnamed(struct journal_file *f, const char *uid);
/* Opens a journal with a name for the reader, as an open file description of its own, and locks it
 * for the reader. Returns 0, MI_ENOENT (the file is missing or was just removed), MI_EFULL (another
 * description holds the lock) or MI_EIO. */
MI_MUST int journal_file_open(struct journal_file *f, const char *uid);
/* Opens once more, for the reader, the file that `of` has open, even if the file no longer has a
 * name. If of->fd is -1, opens the file by its name. `of` stays open. A process that inherited `of`
 * must close it; otherwise the writer's lock outlives the writer. */
MI_MUST int journal_file_reopen(struct journal_file *f, const struct journal_file *of);
/* Returns whether the lock of `side` is held by an open file description other than that of `f`. */
bool journal_file_is_locked(const struct journal_file *f, enum journal_side side);
/* Removes the file's name if the name still belongs to this file. */
void journal_file_remove(const struct journal_file *f);
void journal_file_close(struct journal_file *f); /* safe to call twice */

/* Returns how many bytes of memory the journals with a name use, except the journal of session
 * `except_uid`. */
uint64_t journal_file_sum_sizes(const char *except_uid);

/* Calls `call` for each journal with a name, oldest first, until `call` returns false. While `call`
 * runs, the file is open and not locked; afterwards the file is closed. Files that a dead process
 * has left empty are removed. If the directory does not exist, `call` is not called. Returns 0 or
 * MI_EIO. */
MI_MUST int journal_file_visit_all(bool (*call)(void *ctx, const struct journal_file *f),
                                   void *ctx);

#endif
