/* log_directory.h - the log directory: one JSON line for each finished invocation, a file for each
 * UTC day.
 *
 * The files are VAULT/Logs/MCP_Actions/YYYY-MM-DD.jsonl, opened with O_APPEND. After a transaction
 * its lines are written in one call, and only whole lines; docs/vault.md describes their fields. If
 * the directory cannot be written, lines are dropped and one warning is logged: everything in them
 * is also in the database.
 *
 * Texts from messages are sanitized, as in the database. The arguments of a call are taken from the
 * ring `kept` if they are still there; otherwise they are sanitized again, with the same result.
 *
 * Owns      the buffered lines, the descriptor of the day's file, and sanitized arguments of the
 *           last requests, at most LOG_DIRECTORY_KEPT bytes. Unused pages take no memory.
 * Blocks    on the disk only. */
#ifndef MI_RECORD_PROCESS_LOG_DIRECTORY_H
#define MI_RECORD_PROCESS_LOG_DIRECTORY_H

#include "journal/entry.h"
#include "vault/store/sanitize.h"

/* number of characters of a truncated result, or of truncated arguments */
#define LOG_DIRECTORY_TEXT_MAX 50
/* maximum number of requests whose sanitized arguments are kept */
#define LOG_DIRECTORY_REQUESTS 1024
#define LOG_DIRECTORY_KEPT ((size_t)256 << 10) /* maximum bytes of all arguments that are kept */
/* maximum bytes of the arguments of one request; longer arguments are not kept */
#define LOG_DIRECTORY_KEPT_MAX ((size_t)4 << 10)

/* The sanitized arguments of a request. */
struct kept_arguments {
    uint64_t seq; /* seq of the request; 0: the slot is free */
    /* Number of bytes that were written to log_directory.kept before these arguments. The arguments
     * are overwritten when more than LOG_DIRECTORY_KEPT bytes, counted from `at`, have been
     * written. */
    uint64_t at;
    uint32_t n;
    bool as_received; /* the sanitizer did not change the request */
};

struct log_directory {
    enum record_level level;          /* RECORD_MINIMAL: no arguments, results or error messages */
    struct buf clean;                 /* owned: scratch */
    struct buf who;                   /* owned: JSON of the members session and server */
    struct clean_name method, target; /* the method and target that were sanitized last */
    /* Arguments of recent requests. The index is the request's seq modulo the array's size. */
    struct kept_arguments request[LOG_DIRECTORY_REQUESTS];
    char *kept;        /* owned: a ring of LOG_DIRECTORY_KEPT bytes; NULL: none yet */
    uint64_t kept_n;   /* number of bytes that were ever written to `kept` */
    struct buf lines;  /* owned: complete lines that are not written yet */
    int fd;            /* the day's file; -1: not open */
    char day[32];      /* the UTC day of fd's file */
    int64_t looked_us; /* time of the last check whether the day's file was removed */
    int64_t second;    /* the time in second_text, since the Unix epoch */
    char second_text[32];
    bool failing; /* the last write to the day's file failed */
    bool torn;    /* the day's file ends in the middle of a line */
};

/* session: uid of the session. Both texts are copied. */
void log_directory_open(struct log_directory *a, const char *session, const char *server);
void log_directory_close(struct log_directory *a);
/* Keeps the arguments of a request for its log line. body: as it was stored, sanitized.
 * as_received: the sanitizer did not change the body. Do not call this function for a body that is
 * not JSON, or in which an object has a key twice. */
void log_directory_keep_arguments(struct log_directory *a, uint64_t seq, struct slice body,
                                  bool as_received);
/* Adds a line to the buffer. */
void log_directory_add_call(struct log_directory *a, const struct invocation *x);
/* Forgets the buffered lines. */
void log_directory_discard_lines(struct log_directory *a);
/* Removes the buffered lines that an earlier process has written to the files. That process was
 * killed before it released the entries. Reads the files from the day of the first line until
 * today. */
void log_directory_resume(struct log_directory *a, int vault_fd);
/* Writes the buffered lines. vault_fd: the vault's directory; -1: the vault is not open. */
void log_directory_flush(struct log_directory *a, int vault_fd);

#endif
