#include "model/escalation_head.h"

#include "base/text.h"
#include "wire/json/text.h"

#define LIMIT "---\n"

static void escalation_head_add_value(struct buf *b, const struct record_field *f, struct cell v)
{
    if (v.type == CELL_INT)
        buf_int(b, v.number);
    else if (f->type == VALUE_WORD)
        buf_slice_add(b, v.text);
    else
        text_append_json_truncated(b, v.text, ESCALATION_HEAD_TEXT_MAX);
}

void escalation_head_append_fields(struct buf *b, const struct escalation_head *h)
{
    buf_adds(b, LIMIT);
    for (size_t i = 0; i < FIELDS_OF_ESCALATION_HEAD; i++) {
        const struct record_field *f = &fields_of_escalation_head.list[i];
        struct cell v = field_get(f, h);
        if (v.type == CELL_NULL || (f->null == VALUE_NO_TEXT && v.text.n == 0))
            continue;
        buf_printf(b, "%s: ", f->name);
        escalation_head_add_value(b, f, v);
        buf_addc(b, '\n');
    }
    buf_adds(b, LIMIT);
}

/* ---- reading ---- */

/* Returns the value of a field. Appends a text to `texts`, which must have room for the text. */
static struct cell read_escalation_head_value(const struct record_field *f, struct slice value,
                                              struct buf *texts)
{
    struct json_scan scan;
    bool valid = json_scan(value, NULL, NULL, &scan) == 0;
    if (f->type == VALUE_NUMBER) {
        struct cell n = {.type = CELL_INT};
        bool fits = valid && scan.type == JSON_NUMBER &&
                    json_int((struct json_value){JSON_NUMBER, scan.root}, &n.number);
        return fits ? n : (struct cell){.type = CELL_NULL};
    }
    size_t at = texts->n;
    if (valid && scan.type == JSON_STRING)
        json_unescape(texts, json_string_raw((struct json_value){JSON_STRING, scan.root}));
    else
        buf_slice_add(texts, value);
    struct slice text = {texts->p + at, texts->n - at};
    return (struct cell){text.n > 0 ? CELL_TEXT : CELL_NULL, 0, text};
}

/* Returns the field of a line, and its value in *ret_value; FIELDS_OF_ESCALATION_HEAD if there is
 * none. */
static size_t head_find_field_of_line(struct slice line, struct slice *ret_value)
{
    for (size_t i = 0; i < FIELDS_OF_ESCALATION_HEAD; i++) {
        const char *name = fields_of_escalation_head.list[i].name;
        size_t n = strlen(name);
        if (line.n < n + 2 || memcmp(line.p, name, n) != 0 || memcmp(line.p + n, ": ", 2) != 0)
            continue;
        *ret_value = (struct slice){line.p + n + 2, line.n - n - 2};
        return i;
    }
    return FIELDS_OF_ESCALATION_HEAD;
}

/* Returns the lines between the two `---` lines, or {NULL, 0} if the file has no head. */
static struct slice get_escalation_head_lines(struct slice file)
{
    const size_t n = sizeof LIMIT - 1;
    const char *end = slice_begins(file, LIMIT)
                          ? memmem(file.p + n - 1, file.n - n + 1, "\n" LIMIT, n + 1)
                          : NULL;
    return end != NULL ? (struct slice){file.p + n, (size_t)(end + 1 - (file.p + n))}
                       : (struct slice){0};
}

void escalation_head_read(struct slice file, struct buf *texts, struct escalation_head *ret)
{
    struct slice rest = get_escalation_head_lines(file);
    bool seen[FIELDS_OF_ESCALATION_HEAD + 1] = {false};
    *ret = (struct escalation_head){.cause = ESCALATION_CAUSE_UNKNOWN};
    buf_clear(texts);
    /* A value is at most as long as its line. So the buffer does not grow later, and its texts do
     * not move. */
    if (!buf_reserve(texts, rest.n))
        return;
    while (rest.n > 0) {
        struct slice value, line = slice_take_line(&rest);
        size_t i = head_find_field_of_line(line, &value);
        if (i < FIELDS_OF_ESCALATION_HEAD && !seen[i])
            field_set(&fields_of_escalation_head.list[i], ret,
                      read_escalation_head_value(&fields_of_escalation_head.list[i], value, texts));
        seen[i] = true;
    }
}

bool escalation_head_set_field(struct buf *file, size_t field, const struct escalation_head *h)
{
    const struct record_field *f = &fields_of_escalation_head.list[field];
    struct slice rest = get_escalation_head_lines(buf_slice(file)), value = {0};
    bool found = false;
    while (rest.n > 0 && !found) {
        struct slice line = slice_take_line(&rest);
        found = head_find_field_of_line(line, &value) == field;
    }
    if (!found)
        return false;
    struct buf changed = {0};
    buf_add(&changed, file->p, (size_t)(value.p - file->p));
    escalation_head_add_value(&changed, f, field_get(f, h));
    buf_add(&changed, value.p + value.n, (size_t)(file->p + file->n - (value.p + value.n)));
    buf_close(file);
    *file = changed;
    return true;
}
