#include "cli/audit/escalate.h"

#include "base/buf.h"
#include "base/clock.h"
#include "record/process/escalation_files.h"
#include "vault/store/dir.h"

#include <fcntl.h>
#include <unistd.h>

#define SUFFIX "-evidence.md"

void escalate_evidence(const char *vault, const char *why)
{
    struct buf happened = {0};
    char recent[ESCALATION_FILE_MAX] = "", name[ESCALATION_FILE_MAX];
    buf_printf(&happened, "The log of this vault is not signed: %s.", why);
    struct escalation e = {.cause = ESCALATION_EVIDENCE,
                           .at_us = clock_wall_us(),
                           .server = "",
                           .session = "",
                           .action = "not signed",
                           .happened = buf_slice(&happened)};
    int fd = open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int dir = fd >= 0 ? vault_dir_sub(fd, VAULT_ESCALATIONS, true) : -1;
    if (dir >= 0 && escalation_lock(dir)) {
        escalation_scan(dir, SUFFIX, e.at_us, recent);
        if (recent[0] == '\0')
            (void)!escalation_make_file(dir, &e, SUFFIX, name);
    }
    if (dir >= 0)
        close(dir);
    if (fd >= 0)
        close(fd);
    buf_close(&happened);
}
