#include "cli/audit/escalate.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/write_all.h"
#include "vault/store/dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SUFFIX "-evidence.md"
#define AGAIN_S 3600

static bool was_escalated(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    bool found = false;
    struct stat st;
    for (const struct dirent *e; d != NULL && !found && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        found = n > sizeof SUFFIX && strcmp(e->d_name + n - (sizeof SUFFIX - 1), SUFFIX) == 0 &&
                fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                st.st_mtime > time(NULL) - AGAIN_S;
    }
    if (d != NULL)
        closedir(d);
    else if (copy >= 0)
        close(copy);
    return found;
}

static void add_text(struct buf *b, int64_t now_us, const char *vault, const char *why)
{
    char utc[CLOCK_TEXT_MAX];
    clock_utc_text(now_us, utc);
    buf_printf(b,
               "---\ncause: evidence\nserver: \"\"\nsession: \"\"\nfirst_at: \"%s\"\nlast_at: "
               "\"%s\"\ncount: 1\n"
               "action: \"not signed\"\ninterposer: \"" MI_VERSION "\"\n---\n\n# evidence\n\n"
               "The log of this vault is not signed: %s.\n\n"
               "What to check: who or what has written to %s since the last checkpoint; whether it "
               "was restored "
               "from a copy, or begun anew. `mcp-interposer audit verify`, with the checkpoints "
               "that were anchored, "
               "says what does not agree.\n",
               utc, utc, why, vault);
}

void escalate_evidence(const char *vault, const char *why)
{
    struct buf b = {0};
    char name[64] = "", second[32] = "";
    int64_t now_us = clock_wall_us();
    time_t s = (time_t)(now_us / 1000000);
    struct tm tm;
    int fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir = fd >= 0 ? vault_dir_sub(fd, VAULT_ESCALATIONS, true) : -1;
    if (gmtime_r(&s, &tm) != NULL && strftime(second, sizeof second, "%Y%m%dT%H%M%S", &tm) > 0)
        snprintf(name, sizeof name, "%s.%03dZ" SUFFIX, second, (int)(now_us / 1000 % 1000));
    add_text(&b, now_us, vault, why);
    if (dir >= 0 && name[0] != '\0' && !b.failed && !was_escalated(dir)) {
        int file = vault_dir_file(dir, name, O_WRONLY | O_CREAT | O_EXCL);
        if (file >= 0) {
            (void)!(write_all(file, buf_slice(&b)) == 0 && fsync(file) == 0);
            close(file);
        }
    }
    if (dir >= 0)
        close(dir);
    if (fd >= 0)
        close(fd);
    buf_close(&b);
}
