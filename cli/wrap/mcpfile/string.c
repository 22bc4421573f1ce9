#include "cli/wrap/mcpfile/string.h"

#include "base/text.h"
#include "cli/wrap/mcpfile/yaml_string.h"
#include "wire/json/text.h"

#include <ctype.h>

/* p is after the backslash; returns the position after the escape. */
static const char *unescape(struct buf *b, const char *p, const char *end)
{
    static const char plain[256] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r',
                                    ['t'] = '\t', ['"'] = '"',  ['\\'] = '\\', ['e'] = '\x1b'};
    if (isspace((unsigned char)*p)) { /* line continuation */
        while (p < end && isspace((unsigned char)*p))
            p++;
        return p;
    }
    size_t hex = *p == 'u' ? 4 : *p == 'U' ? 8 : *p == 'x' ? 2 : 0;
    if (hex == 0) {
        buf_addc(b, plain[(unsigned char)*p]);
        return p + 1;
    }
    uint32_t c = 0;
    p++;
    for (size_t i = 0; i < hex; i++, p++)
        c = c << 4 | (uint32_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 0x20) - 'a' + 10);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) /* not a character: as in JSON */
        c = 0xFFFD;
    char utf8[4];
    buf_add(b, utf8, text_utf8_put(c, utf8));
    return p;
}

static void toml_string(struct slice token, struct buf *b)
{
    char quote = token.n > 0 ? token.p[0] : '\0';
    if (quote != '"' && quote != '\'') {
        buf_slice_add(b, token); /* a bare key */
        return;
    }
    bool many = token.n >= 6 && token.p[1] == quote && token.p[2] == quote;
    const char *p = token.p + (many ? 3 : 1);
    const char *end = token.p + token.n - (many ? 3 : 1);
    if (many && p < end && *p == '\r')
        p++;
    if (many && p < end && *p == '\n')
        p++;
    while (p < end) {
        if (*p != '\\' || quote == '\'')
            buf_addc(b, *p++);
        else
            p = unescape(b, p + 1, end);
    }
}

void mcpfile_string(const struct mcpfile *f, struct span token, struct buf *b)
{
    struct slice raw = {f->text.p + token.at, token.n};
    if (f->format == MCPFILE_TOML)
        toml_string(raw, b);
    else if (f->format == MCPFILE_YAML && raw.n > 0)
        mcpfile_yaml_string(raw, b);
    else if (raw.n >= 2)
        json_unescape(b, (struct slice){raw.p + 1, raw.n - 2});
}
