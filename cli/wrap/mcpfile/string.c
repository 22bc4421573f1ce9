#include "cli/wrap/mcpfile/string.h"

#include "base/text.h"
#include "wire/json/text.h"

#include <ctype.h>
#include <yaml.h>

/* Appends the value of the first scalar of a YAML text. Returns false if memory ran out. */
static bool read_scalar(struct slice text, struct buf *b)
{
    yaml_parser_t parser;
    yaml_event_t event;
    bool done = false;
    if (yaml_parser_initialize(&parser) == 0)
        return false;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    while (!done && yaml_parser_parse(&parser, &event) != 0) {
        done = event.type == YAML_SCALAR_EVENT || event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT)
            buf_add(b, (const char *)event.data.scalar.value, event.data.scalar.length);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return done;
}

/* Appends the text of a scalar on one line, which the scan must have accepted. Sets b->failed if
 * memory ran out. */
static void append_yaml_string(struct slice token, struct buf *b)
{
    if (token.p[0] == '"' || token.p[0] == '\'')
        b->failed |= !read_scalar(token, b);
    else
        buf_slice_add(b, token); /* a plain scalar on one line has no escapes */
}

/* Appends the character of a TOML escape. p: the character after the backslash. Returns the
 * position after the escape. */
static const char *append_toml_escape(struct buf *b, const char *p, const char *end)
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
    /* an invalid code point is replaced, as in JSON */
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        c = 0xFFFD;
    char utf8[4];
    buf_add(b, utf8, text_put_utf8_char(c, utf8));
    return p;
}

/* Appends the character of an escape that only JSON5 has; copies any other escape, for
 * json_unescape(). Moves *p after the escape. */
static void append_json5_escape(struct buf *b, const char **p, const char *end)
{
    const char *c = *p + 1; /* the character after the backslash */
    if (strchr("\"\\/bfnrtu", *c) != NULL) {
        buf_add(b, *p, 2);
    } else if (*c == 'x') { /* \xHH: a character below 256 */
        buf_adds(b, "\\u00");
        buf_add(b, c + 1, 2);
        c += 2;
    } else if (*c == '\r' || *c == '\n') { /* the string continues in the next line */
        c += c[0] == '\r' && end - c > 1 && c[1] == '\n';
    } else if (slice_begins((struct slice){c, (size_t)(end - c)}, "\xE2\x80\xA8") ||
               slice_begins((struct slice){c, (size_t)(end - c)}, "\xE2\x80\xA9")) {
        c += 2;
    } else if (*c == 'v' || *c == '0') {
        buf_adds(b, *c == 'v' ? "\\u000b" : "\\u0000");
    } else {
        buf_addc(b, *c);
    }
    *p = c + 1;
}

static void append_json_string(struct slice token, struct buf *b)
{
    struct buf json = {0};
    const char *p = token.p, *end = token.p + token.n;
    bool quoted = token.n >= 2 && (*p == '"' || *p == '\'');
    if (quoted) {
        p++;
        end--;
    }
    while (p < end)
        if (quoted && *p == '\\')
            append_json5_escape(&json, &p, end);
        else
            buf_addc(&json, *p++);
    json_unescape(b, buf_slice(&json));
    b->failed |= json.failed;
    buf_close(&json);
}

static void append_toml_string(struct slice token, struct buf *b)
{
    char quote = token.n > 0 ? token.p[0] : '\0';
    if (quote != '"' && quote != '\'') {
        buf_slice_add(b, token); /* the token is a key without quotes */
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
            p = append_toml_escape(b, p + 1, end);
    }
}

void mcpfile_append_string(const struct mcpfile *f, struct span token, struct buf *b)
{
    struct slice raw = {f->text.p + token.at, token.n};
    if (f->format == MCPFILE_TOML)
        append_toml_string(raw, b);
    else if (f->format == MCPFILE_YAML && raw.n > 0)
        append_yaml_string(raw, b);
    else
        append_json_string(raw, b);
}
