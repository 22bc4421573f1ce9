/* puppet.c - a server that is controlled by the test.
 *
 *   puppet SOCKET [ignore-term]
 *
 * Sends its stdin, stdout and stderr with its process id over the unix socket and closes its own
 * copies: only the test has the descriptors, and can close them. Then it executes lines: `exit N`,
 * `kill N` (itself, by signal N). It exits when the socket is closed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int meet(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n >= sizeof to.sun_path)
        return -1;
    memcpy(to.sun_path, path, n + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    return -1;
}

static int hand_over(int sock)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    struct iovec io = {.iov_base = text, .iov_len = (size_t)n};
    union {
        struct cmsghdr align;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1};
    msg.msg_control = control.room;
    msg.msg_controllen = sizeof control.room;
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(3 * sizeof(int));
    memcpy(CMSG_DATA(c), (int[3]){0, 1, 2}, 3 * sizeof(int));
    return sendmsg(sock, &msg, MSG_NOSIGNAL) == n ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 99;
    if (argc > 2 && strcmp(argv[2], "ignore-term") == 0)
        signal(SIGTERM, SIG_IGN);
    int sock = meet(argv[1]);
    if (sock < 0 || hand_over(sock) < 0)
        return 98;
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    FILE *orders = fdopen(sock, "r");
    char line[64];
    int n;
    while (orders != NULL && fgets(line, sizeof line, orders) != NULL) {
        if (sscanf(line, "exit %d", &n) == 1)
            _exit(n);
        if (sscanf(line, "kill %d", &n) == 1) {
            signal(n, SIG_DFL);
            kill(getpid(), n);
        }
    }
    _exit(0);
}
