/* connect.c - passes stdin to a Unix socket and what comes back to stdout: a server whose work another process does.
 *
 *   connect PATH
 *
 * The end of stdin is passed on; ends with status 0 when the other side has ended. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Passes some bytes on; false at the end, or if nobody takes them. */
static bool pass(int from, int to)
{
    static char bytes[1 << 16];
    ssize_t n = read(from, bytes, sizeof bytes);
    for (ssize_t done = 0, put; done < n; done += put)
        if ((put = write(to, bytes + done, (size_t)(n - done))) <= 0)
            return false;
    return n > 0;
}

int main(int argc, char **argv)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (argc != 2 || strlen(argv[1]) >= sizeof at.sun_path) {
        fprintf(stderr, "usage: connect PATH\n");
        return 2;
    }
    strcpy(at.sun_path, argv[1]);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    if (s < 0 || connect(s, (struct sockaddr *)&at, sizeof at) != 0) {
        perror(argv[1]);
        return 1;
    }
    struct pollfd fds[] = {{.fd = s, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    while (poll(fds, 2, -1) > 0) {
        if (fds[0].revents != 0 && !pass(s, STDOUT_FILENO))
            return 0;
        if (fds[1].revents != 0 && !pass(STDIN_FILENO, s)) {
            shutdown(s, SHUT_WR);
            fds[1].fd = -1;
        }
    }
    return 1;
}
