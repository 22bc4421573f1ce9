#include "cli/frame/input.h"

#include "base/log.h"
#include "cli/settings/command.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define KEY_FILE_MAX 4096

int input_read_fd(int fd, size_t max, struct buf *b)
{
    for (ssize_t n = 1; n != 0;) {
        if (b->n > max)
            return EFBIG;
        if (!buf_reserve(b, (size_t)64 << 10))
            return ENOMEM;
        n = read(fd, b->p + b->n, (size_t)64 << 10);
        if (n < 0 && errno != EINTR)
            return errno;
        b->n += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

int input_read_file(const char *path, size_t max, struct buf *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int e = fd < 0 ? errno : input_read_fd(fd, max, b);
    if (fd >= 0)
        close(fd);
    return e;
}

int input_read(const char *path, size_t max, struct buf *b)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int e = is_stdin ? input_read_fd(STDIN_FILENO, max, b) : input_read_file(path, max, b);
    if (e != 0)
        log_error("cannot read %s: %s", is_stdin ? "stdin" : path, strerror(e));
    return e == 0 ? EXIT_FINE : EXIT_TROUBLE;
}

int input_read_public_key(const char *key, struct public_key *ret)
{
    struct buf b = {0};
    if (key_read_public(slice_of(key), ret) == 0)
        return EXIT_FINE;
    if (access(key, F_OK) != 0 && (errno == ENOENT || errno == ENAMETOOLONG)) {
        /* the value is not printed, because it may be the private key */
        log_error("--key: %s is neither a file nor a verifier key (NAME+HASH+BASE64)",
                  strchr(key, '+') == NULL ? key : "its value");
        return EXIT_USAGE;
    }
    int status = input_read(key, KEY_FILE_MAX, &b);
    struct slice text = buf_slice(&b); /* the key without the white space around it */
    while (text.n > 0 && memchr(" \t\r\n", text.p[0], 4) != NULL)
        text = (struct slice){text.p + 1, text.n - 1};
    while (text.n > 0 && memchr(" \t\r\n", text.p[text.n - 1], 4) != NULL)
        text.n--;
    if (status == EXIT_FINE && key_read_public(text, ret) < 0) {
        log_error("--key: %s does not contain exactly one verifier key (NAME+HASH+BASE64)", key);
        status = EXIT_USAGE;
    }
    buf_close(&b);
    return status;
}
