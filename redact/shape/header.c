/* header.c - rules for credentials of HTTP and its tools: Authorization, Cookie, signatures,
 * curl. */
#include "redact/shape/shape_table.h"

#include <strings.h>

#define LINE_MAX_LEN 4096 /* maximum bytes that are read of a header's value */
#define JUDGED 192        /* maximum bytes of a token that are examined */

static bool is_token68_char(char c)
{
    return shape_is_base64(c) || c == '.' || c == '~' || c == '=';
}

static size_t skip_chars(struct slice text, size_t i, const char *chars)
{
    size_t most = size_min(text.n, i + 32);
    while (i < most && strchr(chars, text.p[i]) != NULL && text.p[i] != '\0')
        i++;
    return i;
}

/* Returns the end of a token, without dots at the end. */
static size_t find_end_of_token(struct slice text, size_t i, size_t most)
{
    size_t from = i;
    while (i < text.n && i - from < most && is_token68_char(text.p[i]))
        i++;
    shape_work += i - from;
    while (i > from && text.p[i - 1] == '.')
        i--;
    return i;
}

/* Returns the end of a header's value: the end of its line or string, or the beginning of a
 * redaction mark. */
static size_t find_end_of_header_value(struct slice text, size_t i, char quote)
{
    size_t from = i, stop = size_min(text.n, i + LINE_MAX_LEN);
    for (; i < stop; i++) {
        char c = text.p[i];
        if (c == '\n' || c == '\r' || (quote != 0 && c == quote))
            break;
        if (c == '\\' && i + 1 < text.n && strchr("nr\"'", text.p[i + 1]) != NULL)
            break;
        if (c == '[' && shape_find_end_of_redaction_mark(text, i) != 0)
            break;
    }
    shape_work += i - from;
    while (i > from && shape_is_blank(text.p[i - 1]))
        i--;
    return i;
}

static bool set_shape_hit(struct shape_hit *ret, size_t from, size_t end)
{
    ret->from = from;
    ret->n = end - from;
    return end > from;
}

static struct slice slice_of_range(struct slice text, size_t from, size_t end)
{
    return (struct slice){text.p + from, end - from};
}

static bool slice_has_digit(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (char_is_digit(s.p[i]))
            return true;
    return false;
}

/* ---- the schemes bearer, basic and digest, in any text ---- */

bool shape_match_bearer(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t from = skip_chars(text, at + 6, " \t:");
    if (from == at + 6 || !shape_token_may_begin_at(text, at))
        return false;
    size_t end = find_end_of_token(text, from, SIZE_MAX);
    struct slice v = slice_of_range(text, from, end);
    return v.n >= 16 && shape_has_varied_characters(v) && !shape_text_is_example(v) &&
           set_shape_hit(ret, from, end);
}

static bool base64_has_user_and_password(struct slice s)
{
    unsigned bits = 0, held = 0;
    bool colon = false;
    size_t n = 0;
    for (size_t i = 0; i < s.n && s.p[i] != '='; i++) {
        char c = s.p[i];
        unsigned v = char_is_upper(c)       ? (unsigned)(c - 'A')
                     : char_is_lower(c)     ? (unsigned)(c - 'a') + 26
                     : char_is_digit(c)     ? (unsigned)(c - '0') + 52
                     : c == '+' || c == '-' ? 62u
                                            : 63u;
        held = held << 6 | v;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        unsigned char byte = (unsigned char)(held >> bits & 0xFF);
        if (byte < ' ' || byte >= 0x7F)
            return false;
        colon = colon || byte == ':';
        n++;
    }
    shape_work += s.n;
    return colon && n >= 3;
}

bool shape_match_basic_auth(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t from = skip_chars(text, at + 5, " \t:");
    if (from == at + 5 || !shape_token_may_begin_at(text, at))
        return false;
    size_t end = find_end_of_token(text, from, SIZE_MAX);
    struct slice v = slice_of_range(text, from, end);
    return v.n >= 4 && memchr(v.p, '.', v.n) == NULL && base64_has_user_and_password(v) &&
           set_shape_hit(ret, from, end);
}

bool shape_match_digest(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t from = skip_chars(text, at + 6, " \t");
    if (from == at + 6 || !slice_begins(slice_of_range(text, from, text.n), "username="))
        return false;
    struct slice v = slice_of_range(text, from, find_end_of_header_value(text, from, 0));
    return memmem(v.p, v.n, "%s", 2) == NULL && set_shape_hit(ret, from, from + v.n);
}

/* ---- headers ---- */

/* Finds the value of `NAME: value` or NAME=value, where NAME ends at text[i]. */
static bool find_header_value(struct slice text, size_t i, const char *seps, size_t *ret_from,
                              char *ret_quote)
{
    i = skip_chars(text, i, "\\\"'`] \t");
    if (i >= text.n || strchr(seps, text.p[i]) == NULL || text.p[i] == '\0')
        return false;
    i = skip_chars(text, i + 1, " \t>");
    size_t k = skip_chars(text, i, "\\");
    *ret_quote = 0;
    if (k < text.n && strchr("\"'`", text.p[k]) != NULL) {
        *ret_quote = text.p[k];
        i = k + 1;
    } else if (i >= 2) { /* -H "Authorization: …": the value is quoted */
        size_t b = i;
        for (size_t n = 0; b > 0 && n < 48 && text.p[b - 1] != '\n'; b--, n++)
            if (strchr("\"'`", text.p[b - 1]) != NULL) {
                *ret_quote = text.p[b - 1];
                break;
            }
    }
    *ret_from = i;
    return i < text.n;
}

bool shape_match_authorization(struct slice text, size_t at, struct shape_hit *ret)
{
    static const char known[] =
        "bearer basic token apikey api-key key ntlm negotiate hawk ssws splunk "
        "bot jwt genie-key sso-key digest oauth hmac aws4-hmac-sha256 "
        "sharedkey sharedkeylite goog4-rsa-sha256 signature";
    static const char of_pairs[] =
        "digest oauth hmac aws4-hmac-sha256 goog4-rsa-sha256 signature hawk";
    size_t from;
    char quote;
    if (!find_header_value(text, at + 13, ":=", &from, &quote))
        return false;
    size_t word = from;
    while (word < text.n && word - from < 32 &&
           (shape_is_alnum(text.p[word]) || text.p[word] == '-'))
        word++;
    struct slice scheme = slice_of_range(text, from, word);
    size_t next = skip_chars(text, word, " \t");
    bool scheme_known = next > word && shape_word_is_in_list(scheme, known);
    if (scheme_known && shape_word_is_in_list(scheme, of_pairs)) {
        struct slice v = slice_of_range(
            text, next, find_end_of_header_value(text, next, quote == '"' ? 0 : quote));
        return memchr(v.p, '=', v.n) != NULL && set_shape_hit(ret, next, next + v.n);
    }
    if (scheme_known)
        from = next;
    size_t end = find_end_of_token(text, from, JUDGED);
    while (end < text.n && end - from < JUDGED && text.p[end] == ':') /* id:secret */
        end = find_end_of_token(text, end + 1, JUDGED);
    struct slice v = slice_of_range(text, from, end);
    if (shape_is_template(v) ||
        shape_word_is_in_list(v, "token required missing invalid none null true false"))
        return false;
    if (memmem(v.p, v.n, "://", 3) != NULL || (end < text.n && text.p[end] == '('))
        return false;
    if (v.n < (scheme_known ? 4 : 8) || shape_text_is_example(v))
        return false;
    if (!scheme_known && !(shape_has_varied_characters(v) && slice_has_digit(v)))
        return false;
    return set_shape_hit(ret, from, find_end_of_token(text, end, SIZE_MAX));
}

bool shape_match_cookie(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t from;
    char quote;
    if (!find_header_value(text, at + 6, ":", &from, &quote))
        return false;
    size_t name = from; /* a NAME= and a few more bytes are required: prose rarely has them */
    while (name < text.n && name - from < 128 &&
           (shape_is_alnum(text.p[name]) || memchr("_-.!#$%&'*+^`|~", text.p[name], 15) != NULL))
        name++;
    if (name == from || name == text.n || text.p[name] != '=')
        return false;
    size_t end = find_end_of_header_value(text, from, quote);
    return end > name + 4 && set_shape_hit(ret, from, end);
}

/* Matches signatures in URLs: sig=…, X-Amz-Signature=… */
bool shape_match_signature(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t i = at + 3;
    struct slice rest = slice_of_range(text, i, text.n);
    if (rest.n > 6 && strncasecmp(rest.p, "nature", 6) == 0)
        i += 6;
    else if (at == 0 || strchr("?&;", text.p[at - 1]) == NULL)
        return false;
    if (i >= text.n || text.p[i] != '=')
        return false;
    size_t from = ++i;
    while (i < text.n && (is_token68_char(text.p[i]) || text.p[i] == '%'))
        i++;
    shape_work += i - from;
    struct slice v = slice_of_range(text, from, i);
    return v.n >= 20 && shape_has_varied_characters(v) && !shape_text_is_example(v) &&
           set_shape_hit(ret, from, i);
}

/* ---- curl -u user:pass ---- */

bool shape_match_curl(struct slice text, size_t at, struct shape_hit *ret)
{
    size_t stop = size_min(text.n, at + 512);
    if (!shape_token_may_begin_at(text, at))
        return false;
    for (size_t i = at + 4; i + 4 < stop && text.p[i] != '\n'; i++) {
        size_t k = i + 3;
        shape_work++;
        if (memcmp(text.p + i, "curl", 4) == 0 && shape_token_may_begin_at(text, i))
            break; /* another curl command begins */
        if (strncmp(text.p + i, " -u", 3) != 0) {
            if (i + 9 >= stop || strncmp(text.p + i, " --user", 7) != 0)
                continue;
            k = i + 7;
        }
        k = skip_chars(text, k, " =\"'\\");
        size_t colon = k;
        while (colon < stop &&
               (shape_is_alnum(text.p[colon]) || strchr("_.@+-", text.p[colon]) != NULL))
            colon++;
        if (colon >= stop || text.p[colon] != ':')
            continue;
        size_t end = colon + 1;
        while (end < text.n && end - colon < 256 && (unsigned char)text.p[end] > ' ' &&
               strchr("\"'`\\[", text.p[end]) == NULL)
            end++;
        struct slice v = slice_of_range(text, colon + 1, end);
        return v.n >= 3 && !shape_is_template(v) && !shape_word_is_in_list(v, "password pass") &&
               set_shape_hit(ret, colon + 1, end);
    }
    return false;
}
