/* token.c - rules that need more than a form: PEM, JWT, AWS, URLs. */
#include "redact/shape/shape_table.h"

#include <strings.h>

/* ---- decoding base64 ---- */

static int base64_digit_value(char c)
{
    if (char_is_upper(c))
        return c - 'A';
    if (char_is_lower(c))
        return c - 'a' + 26;
    if (char_is_digit(c))
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Decodes up to `max` bytes. Returns their number. */
static size_t decode_base64_head(struct slice s, char *ret, size_t max)
{
    unsigned bits = 0, held = 0;
    size_t n = 0;
    for (size_t i = 0; i < s.n && n < max; i++) {
        int v = base64_digit_value(s.p[i]);
        if (v < 0)
            break;
        held = held << 6 | (unsigned)v;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            ret[n++] = (char)(held >> bits & 0xFF);
        }
    }
    shape_work += n;
    return n;
}

static const char *find_text_and_count_bytes(const char *p, const char *end, const char *what)
{
    const char *at = memmem(p, (size_t)(end - p), what, strlen(what));
    shape_work += (uint64_t)((at != NULL ? at : end) - p);
    return at;
}

/* ---- private keys ---- */

#define PEM_MAX (128u << 10) /* maximum bytes from the first to the last line of a private key */
#define PEM_BODY_MIN 24      /* minimum number of base64 characters in a private key */
#define PEM_GAP_MAX 1024     /* maximum bytes of headers before the base64 of a private key */

/* Returns the length of one white space character, plain or escaped; 0: there is none. */
static size_t count_space_char_bytes(const char *p, const char *end)
{
    if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
        return 1;
    size_t n = 0;
    while (p + n < end && p[n] == '\\' && n < 8)
        n++;
    return n > 0 && p + n < end && (p[n] == 'n' || p[n] == 'r' || p[n] == 't') ? n + 1 : 0;
}

/* Returns the end of the body of a private key: base64 after headers such as `DEK-Info:
 * AES-256-CBC,0A…`. *ret_n is the number of base64 characters. */
static const char *find_key_body_end(const char *p, const char *end, size_t *ret_n)
{
    const char *last = p, *begin = p;
    bool header = false;
    *ret_n = 0;
    while (p < end && p - last < PEM_GAP_MAX) {
        size_t n = count_space_char_bytes(p, end);
        if (n > 0) {
            header = header && *p != '\n' && n == 1;
            p += n;
            continue;
        }
        const char *word = p;
        while (p < end && (shape_is_base64(*p) || *p == '=') && count_space_char_bytes(p, end) == 0)
            p++;
        size_t run = (size_t)(p - word);
        if (p < end && *p == ':' && run >= 4 && run < 32) { /* the word is the name of a header */
            header = true;
            p++;
        } else if (header) {
            while (p < end && (unsigned char)*p > ' ' && *p != '\\' && *p != '[')
                p++;
            if (p == word)
                break;
        } else if (run >= 16 ||
                   (run > 0 && *ret_n >= PEM_BODY_MIN && (run % 4 == 0 || *word == '='))) {
            *ret_n += run;
            last = p;
        } else {
            break;
        }
    }
    shape_work += (uint64_t)(p - begin);
    return last;
}

/* Returns the end of the last line of the private key, and in *ret_last the start of that line.
 * Returns NULL if this line does not come within PEM_MAX bytes, or if another key begins first. */
static const char *find_key_end(const char *p, const char *end, const char **ret_last)
{
    const char *q;
    if ((size_t)(end - p) > PEM_MAX)
        end = p + PEM_MAX;
    while ((q = find_text_and_count_bytes(p, end, "----")) != NULL) {
        *ret_last = q;
        while (q < end && (*q == '-' || *q == ' '))
            q++;
        if (end - q >= 4 && memcmp(q, "END ", 4) == 0) {
            while (q < end && *q != '-' && *q != '\n' && *q != '\\')
                q++;
            while (q < end && *q == '-')
                q++;
            return q;
        }
        if (end - q >= 6 && memcmp(q, "BEGIN ", 6) == 0)
            return NULL;
        p = q;
    }
    return NULL;
}

/* Whether [p, end) has at least PEM_BODY_MIN characters of base64, of which at least 16 are in a
 * row. The character '-' does not count. */
static bool range_is_private_key_base64(const char *p, const char *end)
{
    size_t all = 0, now = 0, longest = 0;
    shape_work += (uint64_t)(end - p);
    for (; p < end; p++) {
        now = shape_is_base64(*p) && *p != '-' ? now + 1 : 0;
        all += now > 0;
        longest = now > longest ? now : longest;
    }
    return all >= PEM_BODY_MIN && longest >= 16;
}

/* Matches a private key from its first line, which begins at `from`, to its last line. If the last
 * line is missing, the match ends with the base64. body: the end of the first line. */
static bool match_pem_key(struct slice text, size_t from, const char *body, struct shape_hit *ret)
{
    const char *end = text.p + text.n, *last, *to = find_key_end(body, end, &last);
    if (to == NULL || find_text_and_count_bytes(body, to, SHAPE_MARK) != NULL) {
        size_t letters;
        last = to = find_key_body_end(body, end, &letters);
    }
    ret->from = from;
    ret->n = (size_t)(to - text.p) - from;
    return range_is_private_key_base64(body, last);
}

bool shape_match_pem(struct slice text, size_t at, struct shape_hit *ret)
{
    const char *p = text.p + at, *end = text.p + text.n;
    if (*p == 'P') { /* a PuTTY key: everything up to its checksum */
        const char *body =
            find_text_and_count_bytes(p, p + size_min((size_t)(end - p), 2048), "Private-Lines: ");
        if (body == NULL)
            return false;
        size_t letters;
        body += strlen("Private-Lines: ");
        while (body < end && char_is_digit(*body))
            body++;
        const char *to = find_key_body_end(body, end, &letters);
        ret->from = (size_t)(body - text.p);
        ret->n = (size_t)(to - body);
        return letters >= PEM_BODY_MIN;
    }
    size_t dashes = 0, from = at;
    while (from > 0 && (text.p[from - 1] == '-' || text.p[from - 1] == ' ') && dashes < 6)
        from--, dashes++;
    p += strlen("BEGIN ");
    const char *label = p;
    while (p < end && p - label < 64 && (char_is_upper(*p) || char_is_digit(*p) || *p == ' '))
        p++;
    if (dashes < 4 || find_text_and_count_bytes(label, p, "PRIVATE KEY") == NULL)
        return false;
    while (p < end && (*p == '-' || *p == ' '))
        p++;
    while (text.p[from] == ' ')
        from++;
    return match_pem_key(text, from, p, ret);
}

bool shape_match_pem_base64(struct slice text, size_t at, struct shape_hit *ret)
{
    char head[96];
    if (!shape_token_may_begin_at(text, at))
        return false;
    size_t n = decode_base64_head((struct slice){text.p + at, text.n - at}, head, sizeof head);
    if (memmem(head, n, "PRIVATE KEY", 11) == NULL)
        return false;
    ret->from = at;
    size_t i = at;
    while (i < text.n && shape_is_base64(text.p[i]))
        i++;
    shape_work += i - at;
    ret->n = i - at;
    while (at + ret->n < text.n && text.p[at + ret->n] == '=')
        ret->n++;
    return ret->n > 120;
}

/* ---- JSON Web Tokens ---- */

/* Returns the length of the base64url text at text[at]. A JSON Web Token consists of such texts,
 * with dots between them. */
static size_t read_jwt_part(struct slice text, size_t at)
{
    size_t i = at;
    while (i < text.n && (shape_is_alnum(text.p[i]) || text.p[i] == '-' || text.p[i] == '_'))
        i++;
    shape_work += i - at;
    return i - at;
}

bool shape_match_jwt(struct slice text, size_t at, struct shape_hit *ret)
{
    char head[768];
    /* A match that begins inside a file name, which has the same characters, is not a token. */
    if (!shape_token_may_begin_at(text, at) || (at > 0 && strchr("-_", text.p[at - 1]) != NULL))
        return false;
    struct slice part = {text.p + at, read_jwt_part(text, at)};
    size_t end = at + part.n, parts = 1;
    if (part.n < 12 || end + 1 >= text.n || text.p[end] != '.')
        return false;
    size_t n = decode_base64_head(part, head, sizeof head);
    if (memmem(head, n, "\"alg\"", 5) == NULL && memmem(head, n, "\"enc\"", 5) == NULL)
        return false;
    while (parts < 5 && end < text.n && text.p[end] == '.') {
        end += 1 + read_jwt_part(text, end + 1);
        parts++;
    }
    while (end > at && text.p[end - 1] == '.')
        end--;
    ret->from = at;
    ret->n = end - at;
    return ret->n > part.n + 8;
}

/* ---- AWS ---- */

/* An AWS secret key has no prefix. It is recognized by its length of 40 characters and by a key id
 * near it. */
bool shape_match_aws_secret(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t i = at + 20, stop = size_min(text.n, i + 256);
    if (at + 20 > text.n || !shape_token_may_begin_at(text, at))
        return false;
    for (size_t k = at + 4; k < at + 20; k++)
        if (!char_is_upper(text.p[k]) && !char_is_digit(text.p[k]))
            return false;
    while (i < stop) {
        if (shape_find_end_of_redaction_mark(text, i) != 0)
            return false;
        size_t n = 0;
        unsigned kinds = 0;
        for (; i + n < text.n && n <= 40; n++) {
            char c = text.p[i + n];
            if (!shape_is_alnum(c) && c != '/' && c != '+')
                break;
            kinds |= char_is_digit(c) ? 1u : char_is_lower(c) ? 2u : char_is_upper(c) ? 4u : 0u;
        }
        shape_work += n + 1;
        struct slice run = {text.p + i, n};
        if (n == 40 && kinds == 7 && !shape_text_is_example(run)) {
            ret->from = i;
            ret->n = n;
            return true;
        }
        i += n + 1;
    }
    return false;
}

/* ---- URLs ---- */

#define URL_USER_MAX 1024

static bool char_ends_url(char c)
{
    switch (c) {
    case '"':
    case '\'':
    case '<':
    case '>':
    case '`':
    case '\\':
    case '|':
    case '[':
    case ']':
    case '{':
    case '}':
    case '^':
        return true;
    default:
        return (unsigned char)c <= ' ';
    }
}

static bool url_password_is_secret(struct slice pass)
{
    return pass.n > 0 && !shape_is_template(pass) &&
           !shape_word_is_in_list(pass,
                                  "password passwd pass pwd pw secret yourpassword your_password "
                                  "your-password changeme token") &&
           !(pass.p[0] == ':') && !shape_contains_listed_word(pass, "placeholder");
}

bool shape_match_url(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t from = at + 3, stop = size_min(text.n, from + URL_USER_MAX);
    size_t colon = 0, host = 0, slash = 0;
    if (at == 0 || !shape_is_alnum(text.p[at - 1]))
        return false;
    for (size_t i = from; i < stop && !char_ends_url(text.p[i]); i++) {
        char c = text.p[i];
        if (c == ':' && text.n - i > 2 && text.p[i + 1] == '/' && text.p[i + 2] == '/')
            break; /* another URL begins */
        if (c == ':' && colon == 0)
            colon = i;
        else if (c == '@' && (slash == 0 || host == 0))
            host = i;
        else if ((c == '/' || c == '?' || c == '#') && slash == 0)
            slash = i;
        if (slash != 0 && host != 0)
            break;
        shape_work++;
    }
    if (host == 0)
        return false;
    if (colon == 0 || colon > host) { /* the URL has a token in place of the user name */
        struct slice user = {text.p + from, host - from};
        ret->from = from;
        ret->n = user.n;
        return (slash == 0 || slash > host) && user.n >= 20 && shape_has_varied_characters(user) &&
               !shape_text_is_example(user) && memchr(user.p, '.', user.n) == NULL;
    }
    struct slice pass = {text.p + colon + 1, host - colon - 1};
    /* Either this is host:port/path@x, without a password, or the '/' is in the password. */
    if (slash != 0 && slash < host) {
        size_t port = colon + 1;
        while (port < slash && char_is_digit(text.p[port]))
            port++;
        if (port == slash || slash < colon)
            return false;
    }
    ret->from = colon + 1;
    ret->n = pass.n;
    return url_password_is_secret(pass);
}

/* Finds user%3Apass%40 after %3A%2F%2F: credentials in a URL that is a parameter of another URL. */
bool shape_match_url_encoded(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t i = at + 9, colon = 0;
    size_t stop = size_min(text.n, i + URL_USER_MAX);
    for (; i + 3 <= stop && !char_ends_url(text.p[i]) && text.p[i] != '&'; i++) {
        shape_work++;
        if (text.p[i] != '%')
            continue;
        if (strncasecmp(text.p + i, "%2f", 3) == 0)
            return false;
        if (colon == 0 && strncasecmp(text.p + i, "%3a", 3) == 0)
            colon = i + 3;
        if (colon != 0 && strncasecmp(text.p + i, "%40", 3) == 0) {
            ret->from = colon;
            ret->n = i - colon;
            return i > colon && url_password_is_secret((struct slice){text.p + colon, i - colon});
        }
    }
    return false;
}
