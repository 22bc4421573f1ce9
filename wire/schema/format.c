/* format.c - the formats that are checked: date-time and date (RFC 3339), uri (RFC 3986), email
 * (RFC 5321, without quoted local parts), uuid (RFC 4122). */
#include "base/chars.h"
#include "wire/schema/node.h"

#include "wire/json/text.h"

#include <arpa/inet.h>

/* Reads the n digits at the start of s and removes them. Returns -1 if there are fewer digits. */
static int consume_number(struct slice *s, int n)
{
    int v = 0;
    for (; n > 0; n--) {
        if (s->n == 0 || !char_is_digit(*s->p))
            return -1;
        v = v * 10 + (*s->p - '0');
        s->p++;
        s->n--;
    }
    return v;
}

/* Removes the first character of `s` if `any_of` contains it. Returns whether a character was
 * removed. */
static bool consume_char(struct slice *s, const char *any_of)
{
    if (s->n == 0 || *s->p == '\0' || strchr(any_of, *s->p) == NULL)
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool consume_date(struct slice *s)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y = consume_number(s, 4);
    if (y < 0 || !consume_char(s, "-"))
        return false;
    int m = consume_number(s, 2);
    if (m < 1 || m > 12 || !consume_char(s, "-"))
        return false;
    int d = consume_number(s, 2);
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return d >= 1 && d <= days[m - 1] + (m == 2 && leap);
}

static bool consume_time(struct slice *s)
{
    int h = consume_number(s, 2);
    if (h < 0 || h > 23 || !consume_char(s, ":"))
        return false;
    int m = consume_number(s, 2);
    if (m < 0 || m > 59 || !consume_char(s, ":"))
        return false;
    int sec = consume_number(s, 2), off_h = 0, off_m = 0, sign = 1;
    if (sec < 0 || sec > 60)
        return false;
    if (consume_char(s, ".")) {
        if (consume_number(s, 1) < 0)
            return false;
        while (s->n > 0 && char_is_digit(*s->p))
            (void)consume_number(s, 1);
    }
    if (!consume_char(s, "Zz")) {
        sign = s->n > 0 && *s->p == '-' ? -1 : 1;
        if (!consume_char(s, "+-"))
            return false;
        off_h = consume_number(s, 2);
        if (off_h < 0 || off_h > 23 || !consume_char(s, ":"))
            return false;
        off_m = consume_number(s, 2);
        if (off_m < 0 || off_m > 59)
            return false;
    }
    /* a leap second is the last second of a day in UTC */
    int utc = ((h * 60 + m - sign * (off_h * 60 + off_m)) % 1440 + 1440) % 1440;
    return sec < 60 || utc == 23 * 60 + 59;
}

static bool text_is_date(struct slice s)
{
    return consume_date(&s) && s.n == 0;
}

static bool text_is_date_time(struct slice s)
{
    return consume_date(&s) && consume_char(&s, "Tt") && consume_time(&s) && s.n == 0;
}

static bool text_is_uuid(struct slice s)
{
    if (s.n != 36)
        return false;
    for (size_t i = 0; i < 36; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? s.p[i] != '-'
                                                    : char_hex_digit_value(s.p[i]) < 0)
            return false;
    return true;
}

/* Whether the text is an IP address of this family, AF_INET or AF_INET6. */
static bool text_is_ip_address(struct slice s, int family)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char binary[sizeof(struct in6_addr)];
    if (s.n >= sizeof text)
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    return inet_pton(family, text, binary) == 1;
}

/* Whether s is the authority of a URI, [USER@]HOST[:PORT]. text_is_uri() has checked its
 * characters. */
static bool text_is_authority(struct slice s)
{
    const char *at = s.n > 0 ? slice_find_last(s, '@') : NULL;
    if (at != NULL) {
        size_t n = (size_t)(at - s.p);
        if (memchr(s.p, '[', n) != NULL || memchr(s.p, ']', n) != NULL)
            return false;
        s = (struct slice){at + 1, s.n - n - 1};
    }
    const char *port = s.n > 0 ? memchr(s.p, ':', s.n) : NULL;
    if (s.n > 0 && *s.p == '[') {
        const char *end = memchr(s.p, ']', s.n);
        if (end == NULL ||
            (s.n > 1 && (s.p[1] | 0x20) != 'v' &&
             !text_is_ip_address((struct slice){s.p + 1, (size_t)(end - s.p) - 1}, AF_INET6)))
            return false;
        port = end + 1 < s.p + s.n ? end + 1 : NULL;
    }
    for (const char *p = port; p != NULL && p < s.p + s.n; p++)
        if (p == port ? *p != ':' : !char_is_digit(*p))
            return false;
    return true;
}

/* Whether the text is a scheme, followed by characters that RFC 3986 allows. */
static bool text_is_uri(struct slice s)
{
    size_t i = 0;
    bool fragment = false;
    if (s.n == 0 || !char_is_letter(s.p[0]))
        return false;
    while (i < s.n &&
           (char_is_letter(s.p[i]) || char_is_digit(s.p[i]) || strchr("+-.", s.p[i]) != NULL))
        i++;
    if (i == s.n || s.p[i] != ':')
        return false;
    /* the authority of the URI is between the offsets `host` and `end`; end 0: there is none */
    size_t host = i + 3, end = 0;
    if (slice_begins((struct slice){s.p + i, s.n - i}, "://"))
        for (end = host; end < s.n && strchr("/?#", s.p[end]) == NULL;)
            end++;
    for (i++; i < s.n; i++) {
        char c = s.p[i];
        if (c == '#' && fragment)
            return false;
        fragment = fragment || c == '#';
        if (c == '%' ? i + 2 >= s.n || char_hex_digit_value(s.p[i + 1]) < 0 ||
                           char_hex_digit_value(s.p[i + 2]) < 0
                     : !char_is_letter(c) && !char_is_digit(c) &&
                           (c == '\0' || strchr("-._~:/?#@!$&'()*+,;=", c) == NULL) &&
                           !(i < end && (c == '[' || c == ']')))
            return false;
    }
    return end == 0 || text_is_authority((struct slice){s.p + host, end - host});
}

static bool text_is_host(struct slice s)
{
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
        struct slice address = {s.p + 1, s.n - 2};
        return slice_begins(address, "IPv6:")
                   ? text_is_ip_address((struct slice){address.p + 5, address.n - 5}, AF_INET6)
                   : text_is_ip_address(address, AF_INET);
    }
    size_t label = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' ? label == 0 || s.p[i - 1] == '-'
                          : !char_is_letter(s.p[i]) && !char_is_digit(s.p[i]) &&
                                (s.p[i] != '-' || label == 0))
            return false;
        label = s.p[i] == '.' ? 0 : label + 1;
    }
    return label > 0 && s.p[s.n - 1] != '-';
}

static bool text_is_email(struct slice s)
{
    const char *at = slice_find_last(s, '@');
    if (at == NULL || at == s.p)
        return false;
    size_t n = (size_t)(at - s.p);
    if (s.p[0] == '"' && n > 2 && at[-1] == '"')
        return text_is_host((struct slice){at + 1, s.n - n - 1});
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '.' ? i == 0 || i == n - 1 || s.p[i - 1] == '.'
                     : c < 0x80 && !char_is_letter((char)c) && !char_is_digit((char)c) &&
                           (c == '\0' || strchr("!#$%&'*+-/=?^_`{|}~", c) == NULL))
            return false;
    }
    return text_is_host((struct slice){at + 1, s.n - n - 1});
}

static const struct {
    const char *name, *words;
    bool (*fits)(struct slice s);
} formats[] = {
    {"date-time", "a date and time as in RFC 3339", text_is_date_time},
    {"date", "a date as in RFC 3339", text_is_date},
    {"uri", "a URI", text_is_uri},
    {"email", "an e-mail address", text_is_email},
    {"uuid", "a UUID", text_is_uuid},
};

bool schema_text_has_format(struct slice format, struct slice text)
{
    for (size_t i = 0; i < MI_COUNT(formats); i++)
        if (json_key_is(format, formats[i].name))
            return formats[i].fits(text);
    return true;
}

const char *schema_describe_format(struct slice format)
{
    for (size_t i = 0; i < MI_COUNT(formats); i++)
        if (json_key_is(format, formats[i].name))
            return formats[i].words;
    return NULL;
}
