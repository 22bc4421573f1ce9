#include "base/json_out.h"

#include "base/text.h"

#include <assert.h>

/* Writes into the buffer directly, because this function runs several times for each message. */
void json_out_name(struct json_out *j, const char *name)
{
    struct buf *b = j->b;
    size_t n = name != NULL ? strlen(name) : 0;
    bool comma = j->comma;
    j->comma = true;
    if (!buf_reserve(b, n + sizeof ",\"\":" - 1))
        return;
    char *p = b->p + b->n;
    if (comma)
        *p++ = ',';
    if (name != NULL) {
        *p++ = '"';
        memcpy(p, name, n);
        p += n;
        *p++ = '"';
        *p++ = ':';
    }
    b->n = (size_t)(p - b->p);
}

static void json_out_begin_container(struct json_out *j, const char *name, bool array)
{
    assert(j->depth < JSON_OUT_MAX_DEPTH);
    json_out_name(j, name);
    buf_addc(j->b, array ? '[' : '{');
    j->arrays = j->arrays << 1 | array;
    j->depth++;
    j->comma = false;
}

void json_out_object(struct json_out *j, const char *name)
{
    json_out_begin_container(j, name, false);
}

void json_out_array(struct json_out *j, const char *name)
{
    json_out_begin_container(j, name, true);
}

void json_out_end(struct json_out *j)
{
    assert(j->depth > 0);
    buf_addc(j->b, (j->arrays & 1) != 0 ? ']' : '}');
    j->arrays >>= 1;
    j->depth--;
    j->comma = true;
}

static bool value_is_omitted(const struct json_out *j, const char *name, struct slice value)
{
    return j->max_text > 0 && name != NULL && value.p == NULL;
}

void json_out_text(struct json_out *j, const char *name, struct slice text)
{
    if (value_is_omitted(j, name, text))
        return;
    json_out_name(j, name);
    if (text.p == NULL) {
        buf_adds(j->b, "null");
    } else if (j->max_text > 0) {
        struct buf visible = {0};
        text_append_visible(&visible, text_prefix(text, j->max_text));
        if (text.n > j->max_text)
            buf_adds(&visible, "\xE2\x80\xA6");
        text_append_json(j->b, buf_slice(&visible));
        j->b->failed |= visible.failed;
        buf_close(&visible);
    } else {
        text_append_json(j->b, text);
    }
}

void json_out_str(struct json_out *j, const char *name, const char *text)
{
    json_out_text(j, name, text != NULL ? slice_of(text) : (struct slice){0});
}

void json_out_quoted(struct json_out *j, const char *name, struct slice raw)
{
    json_out_name(j, name);
    buf_addc(j->b, '"');
    buf_slice_add(j->b, raw);
    buf_addc(j->b, '"');
}

void json_out_int(struct json_out *j, const char *name, int64_t v)
{
    json_out_name(j, name);
    buf_int(j->b, v);
}

void json_out_uint(struct json_out *j, const char *name, uint64_t v)
{
    json_out_name(j, name);
    buf_add_uint(j->b, v);
}

void json_out_bool(struct json_out *j, const char *name, bool v)
{
    json_out_name(j, name);
    buf_adds(j->b, v ? "true" : "false");
}

void json_out_null(struct json_out *j, const char *name)
{
    json_out_raw(j, name, (struct slice){0});
}

void json_out_raw(struct json_out *j, const char *name, struct slice valid)
{
    if (value_is_omitted(j, name, valid))
        return;
    json_out_name(j, name);
    if (valid.p != NULL)
        buf_slice_add(j->b, valid);
    else
        buf_adds(j->b, "null");
}

void json_out_add_visible_json(struct json_out *j, const char *name, struct slice valid)
{
    if (j->max_text > 0) {
        json_out_text(j, name, valid);
        return;
    }
    json_out_name(j, name);
    if (valid.p != NULL)
        text_append_visible_json(j->b, valid);
    else
        buf_adds(j->b, "null");
}

void json_out_add_written_members(struct json_out *j, struct slice written)
{
    if (written.n == 0)
        return;
    json_out_name(j, NULL);
    buf_slice_add(j->b, written);
}

void json_out_add_whitespace(struct json_out *j, const char *space)
{
    if (j->comma)
        buf_addc(j->b, ',');
    j->comma = false;
    buf_adds(j->b, space);
}

void json_out_line(struct json_out *j)
{
    assert(j->depth == 0);
    buf_addc(j->b, '\n');
    j->comma = false;
}
