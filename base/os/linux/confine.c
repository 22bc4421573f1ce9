#include "base/os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calls and constants are part of the kernel's stable interface. They are defined here because
 * libc has no functions for them, and headers are often older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { CREATE_RULESET_VERSION = 1, RULE_PATH_BENEATH = 1 };

enum file_right {
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REGULAR = 1 << 8,
    /* the right to move and link files between directories; exists since Landlock version 2 */
    REFER = 1 << 13,
    /* the right to truncate files; exists since Landlock version 3 */
    TRUNCATE = 1 << 14,
};

/* Rights in the directories that are passed to confine_self(). No other right (execute, special
 * files, symbolic links, ioctl on devices) is ever granted. */
#define RIGHTS_OWN                                                                                 \
    (WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REGULAR |      \
     REFER | TRUNCATE)

enum { TCP_BIND = 1 << 0, TCP_CONNECT = 1 << 1 };
enum { SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0 };

/* What each version of Landlock can restrict. `size` is the size of struct ruleset in that
 * version. */
static const struct version {
    int since;
    uint64_t files, tcp, scoped;
    size_t size;
} versions[] = {
    {6, (1 << 16) - 1, TCP_BIND | TCP_CONNECT, SCOPE_ABSTRACT_UNIX_SOCKET, 24},
    {5, (1 << 16) - 1, TCP_BIND | TCP_CONNECT, 0, 16},
    {4, (1 << 15) - 1, TCP_BIND | TCP_CONNECT, 0, 16},
    {3, (1 << 15) - 1, 0, 0, 8},
    {2, (1 << 14) - 1, 0, 0, 8},
    {1, (1 << 13) - 1, 0, 0, 8},
};

struct ruleset {
    uint64_t files, tcp, scoped;
};

struct path_beneath {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

static const struct {
    const char *path;
    uint64_t rights;
} shared_paths[] = {
    {"/proc", READ_FILE | READ_DIR},
    {"/dev/urandom", READ_FILE},
    {"/dev/null", READ_FILE | WRITE_FILE},
};

int confine_detect_kernel_support(const char **ret_text)
{
    long v = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, CREATE_RULESET_VERSION);
    if (v > 0) {
        *ret_text = "Landlock";
        return (int)v;
    }
    switch (errno) {
    case ENOSYS:
        *ret_text = "the kernel has no Landlock";
        break;
    case EOPNOTSUPP:
        *ret_text = "Landlock is disabled; enable it with the kernel parameter lsm=landlock,…";
        break;
    default: /* EPERM: a filter of system calls denies the call, for example in a container */
        *ret_text = "Landlock is not permitted here";
        break;
    }
    return 0;
}

static int landlock_allow_fd(int ruleset, int fd, uint64_t rights)
{
    struct path_beneath rule = {rights, fd};
    return (int)syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0u);
}

static int landlock_allow_all_paths(int ruleset, const struct version *v, const int *dir, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (landlock_allow_fd(ruleset, dir[i], RIGHTS_OWN & v->files) != 0)
            return -1;
    for (size_t i = 0; i < MI_COUNT(shared_paths); i++) {
        int fd = open(shared_paths[i].path, O_PATH | O_CLOEXEC);
        if (fd < 0)
            continue; /* a missing file is skipped */
        int rc = landlock_allow_fd(ruleset, fd, shared_paths[i].rights);
        close(fd);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int confine_self(const int *dir, size_t n)
{
    const char *why;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 0; /* Landlock requires PR_SET_NO_NEW_PRIVS */
    int kernel = confine_detect_kernel_support(&why);
    if (kernel == 0)
        return 0;
    const struct version *v = versions;
    while (v->since > kernel)
        v++;
    const struct ruleset handled = {v->files, v->tcp, v->scoped};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, v->size, 0u);
    if (ruleset < 0)
        return 0;
    bool done = landlock_allow_all_paths(ruleset, v, dir, n) == 0 &&
                syscall(SYS_landlock_restrict_self, ruleset, 0u) == 0;
    int error = errno;
    close(ruleset);
    errno = error;
    return done ? kernel : 0;
}
