/* line.c - sanitizes the lines of a stream, where a private key may span lines. */
#include "base/chars.h"
#include "redact/sanitizer.h"

#include "base/text.h"

#define WHOLE_BODY 16 /* characters of base64 in a line of a key; its last line may be shorter */
#define MARK "[redacted:private-key]"

static const char *find_text_in_line(const char *from, const char *end, const char *what)
{
    return from < end ? memmem(from, (size_t)(end - from), what, strlen(what)) : NULL;
}

/* Whether a private key begins in this line and does not end there. */
static bool line_opens_private_key(struct slice line)
{
    const char *end = line.p + line.n, *open = NULL;
    if (find_text_in_line(line.p, end, "Private-Lines: ") != NULL) /* PuTTY's */
        return true;
    for (const char *p = line.p; (p = find_text_in_line(p, end, "-----BEGIN ")) != NULL; p++)
        open = p;
    if (open == NULL)
        return false;
    const char *label = find_text_in_line(open, end, "PRIVATE KEY");
    return label != NULL && label - open < 64 && find_text_in_line(open, end, "-----END ") == NULL;
}

static bool is_key_body_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '=';
}

/* Returns the last word of the line, without quotes and separators. This word may be a line of a
 * private key. */
static struct slice get_last_word_of_key_line(struct slice line)
{
    while (line.n > 0 && !is_key_body_char(line.p[line.n - 1]))
        line.n--;
    if (line.n > 1 && line.p[line.n - 2] == '\\' && char_is_letter(line.p[line.n - 1]))
        line.n -= 2; /* removes an escaped line break */
    size_t from = line.n;
    while (from > 0 && is_key_body_char(line.p[from - 1]))
        from--;
    return (struct slice){line.p + from, line.n - from};
}

/* Handles a line inside a private key: *hidden gets the part to replace. Returns false if the line
 * does not belong to the key. */
static bool redact_key_line(struct redact_lines *l, struct slice line, struct slice *hidden)
{
    const char *stop = find_text_in_line(line.p, line.p + line.n, "-----END ");
    l->in_key--;
    if (stop != NULL) {
        const char *behind = find_text_in_line(stop + 9, line.p + line.n, "-----");
        l->in_key = 0;
        *hidden = (struct slice){
            line.p, (size_t)((behind != NULL ? behind + 5 : line.p + line.n) - line.p)};
        return true;
    }
    *hidden = get_last_word_of_key_line(line);
    if (hidden->n >= WHOLE_BODY)
        return true; /* a line of base64, or the value of DEK-Info */
    if (line.n == 0 || find_text_in_line(line.p, line.p + line.n, "Proc-Type:") != NULL ||
        find_text_in_line(line.p, line.p + line.n, "DEK-Info:") != NULL)
        return false; /* a header of the key, or the empty line after the headers */
    l->in_key = 0;
    return hidden->n > 0 && hidden->n % 4 == 0;
}

int redact_line(struct redact *r, struct redact_lines *l, struct slice line, struct buf *out,
                size_t *ret_n)
{
    struct slice hidden;
    /* this private key may begin inside an earlier one whose last line is missing */
    if (line_opens_private_key(line)) {
        l->in_key = REDACT_PEM_LINES;
        return redact_text(r, line, out, ret_n);
    }
    if (l->in_key == 0 || !redact_key_line(l, line, &hidden))
        return redact_text(r, line, out, ret_n);
    struct buf rest = {0};
    size_t n = (size_t)(hidden.p - line.p), more = 0;
    buf_add(&rest, line.p, n);
    buf_adds(&rest, MARK);
    buf_add(&rest, line.p + n + hidden.n, line.n - n - hidden.n);
    int st = rest.failed ? MI_ENOMEM : redact_text(r, buf_slice(&rest), out, &more);
    if (st == 0 && more == 0)
        buf_slice_add(out, buf_slice(&rest));
    if (st == 0 && out->failed)
        st = MI_ENOMEM;
    if (st == 0)
        *ret_n = more + 1;
    buf_close(&rest);
    return st;
}

/* Whether a secret may continue after this byte. */
static bool secret_may_continue_after(char c)
{
    return char_is_letter(c) || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80 ||
           memchr("_-./+=%~@:\\\"'&?", c, 16) != NULL;
}

size_t find_end_of_whole_words(struct slice text, size_t max_word)
{
    size_t n = text.n;
    while (n > 0 && secret_may_continue_after(text.p[n - 1]))
        n--;
    return text.n - n > max_word ? text.n : n;
}

struct slice redact_shorten_name(struct slice name, size_t max)
{
    struct slice head = text_prefix(name, max);
    if (head.n < name.n)
        head.n = find_end_of_whole_words(head, REDACT_CUT_WORD);
    return head;
}
