/* words.c - rules for values after the name of a secret in plain text: `password=…`. The name alone
 * is not enough, because prose, code and help texts often mention passwords: there must be a
 * separator, and a value that looks like a secret. */
#include "redact/shape/shape_table.h"

#include <strings.h>

/* ---- the name before a value ---- */

#define NAME_MAX_LEN 64 /* maximum bytes of a name before its anchor, and from its anchor on */

struct name {
    struct slice text;                /* the name as it is in the text */
    char plain[2 * NAME_MAX_LEN + 1]; /* the name in lower case, without separators */
    size_t plain_n;
    bool flag; /* the name is an option: -x or --x */
};

static bool is_name_char(char c)
{
    return shape_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static void read_name_around_offset(struct slice text, size_t at, struct name *ret)
{
    size_t from = at, end = at;
    while (from > 0 && at - from < NAME_MAX_LEN && is_name_char(text.p[from - 1]))
        from--;
    while (end < text.n && end - at < NAME_MAX_LEN && is_name_char(text.p[end]))
        end++;
    shape_work += end - from;
    /* Skip the `n` of an escape: \npassword= */
    if (from > 0 && text.p[from - 1] == '\\' && end - from > 1 &&
        strchr("nrt", text.p[from]) != NULL)
        from++;
    while (from < end && (text.p[from] == '-' || text.p[from] == '.')) {
        ret->flag = text.p[from] == '-';
        from++;
    }
    ret->text = (struct slice){text.p + from, end - from};
    for (size_t i = from; i < end; i++)
        if (shape_is_alnum(text.p[i]))
            ret->plain[ret->plain_n++] = shape_to_lower_case(text.p[i]);
    while (ret->plain_n > 0 && char_is_digit(ret->plain[ret->plain_n - 1]))
        ret->plain_n--;
    ret->plain[ret->plain_n] = '\0';
}

/* A word and its length. */
struct word {
    unsigned char n;
    const char *p;
};
#define W(text)                                                                                    \
    {                                                                                              \
        sizeof(text) - 1, (text)                                                                   \
    }

/* Names whose value is a secret. */
static const struct word strong[] = {
    W("password"),    W("passwd"),        W("passphrase"), W("passcode"),  W("passwort"),
    W("userpass"),    W("dbpass"),        W("rootpass"),   W("adminpass"), W("mysqlpwd"),
    W("dbpwd"),       W("userpwd"),       W("secret"),     W("secretkey"), W("secretaccesskey"),
    W("secrettoken"), W("secretkeybase"),
};
/* Names whose value is a secret only if the value looks like a secret. */
static const struct word weak[] = {
    W("token"),         W("apikey"),     W("accesskey"),  W("privatekey"),  W("signingkey"),
    W("encryptionkey"), W("masterkey"),  W("accountkey"), W("sharedkey"),   W("authkey"),
    W("servicekey"),    W("adminkey"),   W("storagekey"), W("hmackey"),     W("apisecretkey"),
    W("licensekey"),    W("webhookkey"), W("credential"), W("credentials"), W("appkey"),
};
/* Names whose value is not a secret. */
static const struct word not_secret[] = {
    W("pagetoken"),     W("nexttoken"),       W("continuationtoken"), W("continuetoken"),
    W("progresstoken"), W("synctoken"),       W("cancellationtoken"), W("canceltoken"),
    W("prompttoken"),   W("completiontoken"), W("unexpectedtoken"),   W("bostoken"),
    W("eostoken"),      W("padtoken"),        W("unktoken"),          W("septoken"),
    W("masktoken"),     W("clstoken"),        W("stoptoken"),         W("pagingtoken"),
    W("skiptoken"),     W("bypass"),          W("compass"),
};

static bool name_ends_with_word(const struct name *n, const struct word *list, size_t list_n)
{
    for (size_t i = 0; i < list_n; i++) {
        const struct word *w = &list[i];
        if (n->plain_n >= w->n && n->plain[n->plain_n - 1] == w->p[w->n - 1] &&
            memcmp(n->plain + n->plain_n - w->n, w->p, w->n) == 0)
            return true;
    }
    return false;
}

/* Whether the name ends with this short word, separated from the rest: DB_PASS, smtp.pass, ftpPwd,
 * pass. */
static bool name_ends_with_short_word(const struct name *n, const char *word)
{
    size_t len = strlen(word), at = n->text.n - len;
    if (n->plain_n < len || n->text.n < len || memcmp(n->plain + n->plain_n - len, word, len) != 0)
        return false;
    if (n->plain_n == len)
        return true;
    while (at > 0 && char_is_digit(n->text.p[at + len - 1])) /* DB_PASS2 */
        at--;
    return at > 0 && (!shape_is_alnum(n->text.p[at - 1]) ||
                      (char_is_lower(n->text.p[at - 1]) && char_is_upper(n->text.p[at])));
}

enum strength { NAME_NONE, NAME_WEAK, NAME_STRONG };

static enum strength rate_secrecy_of_name(const struct name *n)
{
    if (n->plain_n == 0 || name_ends_with_word(n, not_secret, MI_COUNT(not_secret)))
        return NAME_NONE;
    if (name_ends_with_word(n, strong, MI_COUNT(strong)) || name_ends_with_short_word(n, "pass"))
        return NAME_STRONG;
    if (name_ends_with_short_word(n, "pwd"))
        return slice_is(n->text, "OLDPWD") ? NAME_NONE : NAME_STRONG;
    return name_ends_with_word(n, weak, MI_COUNT(weak)) ? NAME_WEAK : NAME_NONE;
}

/* ---- between name and value ---- */

/* The text that separates the name of a secret from its value. */
enum sep {
    SEP_NONE,
    SEP_EQUALS, /* name=value, name := value, name => value, <name>value< */
    SEP_COLON,  /* name: value */
    SEP_FLAG,   /* --name value */
    SEP_IS,     /* NAME is VALUE, as in prose */
};

struct place {
    enum sep sep;
    size_t at;        /* offset of the first byte of the value, after its quote */
    char quote;       /* the quote around the value; 0: none */
    bool escaped;     /* the quote is preceded by a backslash */
    bool element;     /* an XML element: <name>value</name> */
    bool tight;       /* name=value, without blanks around the separator */
    bool line_begins; /* only blanks, dashes and quotes stand before the name on its line */
};

static size_t skip_blanks(struct slice text, size_t i)
{
    size_t most = size_min(text.n, i + 16);
    while (i < most && shape_is_blank(text.p[i]))
        i++;
    return i;
}

static bool is_quote_char(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static size_t skip_quote(struct slice text, size_t i, struct place *p)
{
    size_t k = i;
    while (k < text.n && text.p[k] == '\\' && k - i < 8)
        k++;
    if (k >= text.n || !is_quote_char(text.p[k]))
        return i;
    if (p != NULL) {
        p->quote = text.p[k];
        p->escaped = k > i;
    }
    return k + 1;
}

static bool name_begins_line(struct slice text, const char *name)
{
    const char *p = name;
    while (p > text.p && name - p < 40 &&
           (shape_is_blank(p[-1]) || p[-1] == '-' || is_quote_char(p[-1])))
        p--;
    return p == text.p || p[-1] == '\n' || p[-1] == '\r';
}

static bool word_is_at_offset(struct slice text, size_t i, const char *word)
{
    size_t n = strlen(word);
    return i + n < text.n && strncasecmp(text.p + i, word, n) == 0 &&
           (shape_is_blank(text.p[i + n]) || text.p[i + n] == ':');
}

static bool find_value_after_name(struct slice text, const struct name *n, struct place *ret)
{
    size_t end = (size_t)(n->text.p - text.p) + n->text.n;
    size_t i = skip_quote(text, end, NULL);
    *ret = (struct place){.line_begins = name_begins_line(text, n->text.p)};
    if (i < text.n && text.p[i] == ']')
        i++;
    size_t k = skip_blanks(text, i);
    if (k >= text.n)
        return false;
    char c = text.p[k], d = k + 1 < text.n ? text.p[k + 1] : '\0';
    if ((c == ':' || c == '=') && (d == '=' || d == '>') && !(c == '=' && d == '=')) {
        ret->sep = SEP_EQUALS;
        k += 2;
    } else if (c == '=' && d != '=' && d != '~') {
        ret->sep = SEP_EQUALS;
        k++;
    } else if (c == '%' && k + 2 < text.n && strncasecmp(text.p + k, "%3d", 3) == 0) {
        ret->sep = SEP_EQUALS;
        k += 3;
    } else if (c == '>' && n->text.p > text.p && n->text.p[-1] == '<') {
        ret->sep = SEP_EQUALS;
        ret->element = true;
        k++;
    } else if (c == ':' && d != ':') {
        ret->sep = SEP_COLON;
        k++;
    } else if (k > i && i == end && n->flag) {
        ret->sep = SEP_FLAG;
    } else if (k > i && (word_is_at_offset(text, k, "is") || word_is_at_offset(text, k, "was"))) {
        ret->sep = SEP_IS;
        k += text.p[k + 1] == 'a' || text.p[k + 1] == 'A' ? 3 : 2;
        k = skip_blanks(text, k);
        if (k < text.n && text.p[k] == ':')
            k++;
    } else {
        return false;
    }
    ret->tight = ret->sep == SEP_EQUALS && (k >= text.n || !shape_is_blank(text.p[k])) &&
                 !shape_is_blank(text.p[i]);
    ret->at = skip_quote(text, skip_blanks(text, k), ret);
    return ret->at < text.n;
}

/* ---- the value ---- */

#define VALUE_HEAD 256 /* bytes of a value that are examined */

static size_t find_end_of_quoted_value(struct slice text, const struct place *p, size_t stop)
{
    size_t i = p->at;
    for (; i < stop && text.p[i] != '\n'; i++) {
        bool slash = i > p->at && text.p[i - 1] == '\\';
        if (text.p[i] == p->quote && slash == p->escaped)
            break;
        if (text.p[i] == '[' && shape_find_end_of_redaction_mark(text, i) != 0)
            break;
    }
    shape_work += i - p->at;
    return i;
}

static size_t find_end_of_bare_value(struct slice text, const struct place *p, size_t stop)
{
    size_t i = p->at;
    for (; i < stop; i++) {
        char c = text.p[i];
        if ((unsigned char)c <= ' ' || strchr("\"'`<>;&", c) != NULL)
            break;
        if (c == '\\' && i + 1 < text.n && strchr("nrt\"'", text.p[i + 1]) != NULL)
            break; /* an escaped line break, tab or quote */
        if (c == '[' && shape_find_end_of_redaction_mark(text, i) != 0)
            break;
    }
    shape_work += i - p->at;
    return i;
}

/* Reads the value up to its closing quote, or to the end of an unquoted word; reads at most `most`
 * bytes. */
static struct slice read_value_at(struct slice text, struct place *p, size_t most)
{
    const char *v = text.p + p->at;
    size_t stop = p->at + size_min(text.n - p->at, most), i;
    if (p->quote != 0) {
        i = find_end_of_quoted_value(text, p, stop);
        if (i == stop && i < text.n)
            return (struct slice){v, i - p->at};
        if (i < stop && text.p[i] == p->quote) {
            while (p->escaped && i > p->at && text.p[i - 1] == '\\')
                i--;
            return (struct slice){v, i - p->at};
        }
        p->quote = 0; /* the value has no closing quote */
    }
    i = find_end_of_bare_value(text, p, stop);
    size_t n = i - p->at;
    if (i == stop && i < text.n)
        return (struct slice){v, n};
    bool open = memchr(v, '(', n) != NULL || memchr(v, '{', n) != NULL || memchr(v, '[', n) != NULL;
    while (n > 0 && strchr(open ? ",." : ",.)]}|:", v[n - 1]) != NULL)
        n--;
    return (struct slice){v, n};
}

static bool value_ends_line(struct slice text, struct slice v)
{
    const char *p = v.p + v.n, *end = text.p + text.n;
    while (p < end && (shape_is_blank(*p) || is_quote_char(*p) || *p == ','))
        p++;
    return p == end || *p == '\n' || *p == '\r';
}

/* Returns the length of the identifier of a programming language (conf.password, $self->pass,
 * std::string) at the start of v. */
static size_t identifier_len(struct slice v, bool *ret_digit, size_t *ret_joints)
{
    size_t i = 0;
    *ret_digit = false;
    *ret_joints = 0;
    for (; i < v.n; i++) {
        char c = v.p[i];
        if (char_is_digit(c))
            *ret_digit = true;
        else if (c == '.' || c == ':' || c == '>' || c == '?')
            ++*ret_joints;
        else if (!shape_is_alnum(c) && c != '_' && c != '$' && c != '-')
            break;
    }
    return i;
}

/* Whether the value ends with the name, or the name ends with the value. Compares only letters and
 * digits. */
static bool value_repeats_name(const struct name *n, struct slice v)
{
    size_t i = n->plain_n, k = v.n;
    while (i > 0 && k > 0) {
        if (!shape_is_alnum(v.p[k - 1])) {
            k--;
            continue;
        }
        if (shape_to_lower_case(v.p[--k]) != n->plain[--i])
            return false;
    }
    return true;
}

/* Whether the value is an expression in source code: password = self.read(x). */
static bool value_is_expression(struct slice text, const struct name *n, const struct place *p,
                                struct slice v)
{
    bool digit, upper = true;
    size_t joints, len = identifier_len(v, &digit, &joints);
    const char *next = v.p + v.n, *end = text.p + text.n;
    char c = next < end ? *next : '\0';
    if (len > 0 && len < v.n && strchr("([{", v.p[len]) != NULL)
        return true;
    if (memmem(v.p, v.n, "->", 2) != NULL || (v.n > 1 && v.p[0] == '(') || c == '(')
        return true;
    if (len < v.n || digit)
        return false;
    for (size_t i = 0; i < v.n; i++)
        upper = upper && !char_is_lower(v.p[i]);
    if (value_repeats_name(n, v) || (upper && memchr(v.p, '_', v.n) != NULL))
        return true;
    if (joints > 0)
        return !p->tight || !p->line_begins || c == ',' || c == ')';
    if (p->tight)
        return (c == ',' || c == ')') &&
               shape_contains_listed_word(v, "pass secret token key cred auth");
    return !p->line_begins || c == ',' || c == ';' || !value_ends_line(text, v);
}

static const char not_values[] =
    "true false null none nil undefined required optional string str text password passwd secret "
    "token "
    "hidden yes no on off invalid incorrect wrong expired missing empty unknown unset set changed "
    "updated reset ok failed failure success disabled enabled redacted masked char varchar bytes "
    "object any number "
    "boolean bool int not must your the an is are was and or for of to in from with key value pass "
    "redacted] protected default prompt file env environment basic bearer authentication length "
    "strength policy mismatch mandatory too short long weak strong field input type";

static bool has_only_digits(struct slice v)
{
    size_t i = 0;
    while (i < v.n && char_is_digit(v.p[i]))
        i++;
    return i == v.n;
}

/* Whether v has both letters and digits, or a symbol in the middle. Plain words have neither. */
static bool has_unusual_characters(struct slice v)
{
    bool letter = false, digit = false, sign = false;
    for (size_t i = 0; i < v.n; i++) {
        letter = letter || char_is_lower((char)(v.p[i] | 0x20));
        digit = digit || char_is_digit(v.p[i]);
        sign = sign || strchr("!@#$%^&*+=~", v.p[i]) != NULL;
    }
    return (letter && digit) || sign;
}

static bool value_is_path(struct slice v)
{
    return v.n == 0 || v.p[0] == '/' || v.p[0] == '~' || slice_begins(v, "./") ||
           slice_begins(v, "../") || memmem(v.p, v.n, "://", 3) != NULL ||
           shape_contains_listed_word(v, ".json .pem .txt .env .yaml .yml .key .crt .md");
}

/* Whether v is a secret. v is the value of the name `n`, whose values usually are secrets. */
static bool value_of_secret_name_is_secret(struct slice text, const struct name *n,
                                           const struct place *p, struct slice v)
{
    bool spaces = memchr(v.p, ' ', v.n) != NULL;
    if (v.n < 4 || shape_contains_listed_word(v, "placeholder changeme xxxxxx"))
        return false;
    if (v.n >= 16 && shape_contains_listed_word(v, "example"))
        return false;
    if (strcmp(n->plain, "pwd") == 0 && value_is_path(v))
        return false;
    if (spaces) /* a value with blanks: a passphrase, or prose */
        return p->sep != SEP_IS && v.n <= 200 &&
               !shape_contains_listed_word(
                   v, "password enter please must should your invalid incorrect "
                      "required cannot failed secret passphrase");
    if (strcmp(n->plain, "pass") == 0 && char_is_digit(v.p[0]) &&
        shape_contains_listed_word(v, "."))
        return false; /* a version number */
    if (has_only_digits(v))
        return p->sep == SEP_EQUALS || v.n >= 6;
    if (p->sep == SEP_EQUALS || p->quote != 0)
        return true;
    if (p->sep == SEP_COLON && p->line_begins && value_ends_line(text, v))
        return true;
    if (p->sep == SEP_IS)
        return v.n >= 6 && has_unusual_characters(v) &&
               !shape_contains_listed_word(
                   v, "base64 sha1 sha2 sha3 sha5 md5 utf8 utf-8 argon2 pbkdf2 oauth2");
    return v.n >= 6 && has_unusual_characters(v);
}

/* Whether v is a secret. v is the value of a name whose values often are not secrets. */
static bool value_of_weak_name_is_secret(const struct place *p, struct slice v)
{
    bool digit = false;
    for (size_t i = 0; i < v.n; i++) {
        digit = digit || char_is_digit(v.p[i]);
        if ((unsigned char)v.p[i] <= ' ')
            return false;
    }
    if (v.n < (p->sep == SEP_EQUALS || p->quote != 0 ? 8u : 12u) || value_is_path(v) ||
        has_only_digits(v))
        return false;
    return shape_has_varied_characters(v) && !shape_text_is_example(v) &&
           (digit || (v.n >= 20 && (p->quote != 0 || p->tight)));
}

bool shape_name_may_be_secret(struct slice text, size_t at)
{
    struct name n = {0};
    read_name_around_offset(text, at, &n);
    return rate_secrecy_of_name(&n) != NAME_NONE;
}

bool shape_match_assignment(struct slice text, size_t at, struct shape_hit *ret)
{
    struct name n = {0};
    struct place p;
    read_name_around_offset(text, at, &n);
    if (n.text.p - text.p >= 3 && memcmp(n.text.p - 3, "://", 3) == 0)
        return false; /* the name is a user name in a URL */
    if (!find_value_after_name(text, &n, &p))
        return false;
    enum strength strength = rate_secrecy_of_name(&n);
    if (strength == NAME_NONE)
        return false;
    struct slice v = read_value_at(text, &p, VALUE_HEAD);
    if (shape_is_template(v) || shape_find_end_of_redaction_mark(text, p.at) != 0 ||
        shape_word_is_in_list(v, not_values))
        return false;
    if (p.quote == 0 && p.sep != SEP_IS && p.sep != SEP_FLAG &&
        value_is_expression(text, &n, &p, v))
        return false;
    if (p.element &&
        !slice_begins((struct slice){v.p + v.n, (size_t)(text.p + text.n - v.p) - v.n}, "</"))
        return false;
    if (!(strength == NAME_STRONG ? value_of_secret_name_is_secret(text, &n, &p, v)
                                  : value_of_weak_name_is_secret(&p, v)))
        return false;
    if (v.n == VALUE_HEAD)
        v = read_value_at(text, &p, SIZE_MAX);
    ret->from = p.at;
    ret->n = v.n;
    return true;
}
