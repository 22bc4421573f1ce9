#include "cli/frame/input.h"

#include "base/log.h"
#include "base/read_all.h"
#include "cli/settings/command.h"

#include <errno.h>
#include <unistd.h>

#define KEY_FILE_MAX 4096

int input_read_path(const char *path, size_t max, struct buf *b)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int e = is_stdin ? read_all(STDIN_FILENO, max, b) : read_all_of_file(path, max, b);
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
    int status = input_read_path(key, KEY_FILE_MAX, &b);
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
