/* walk.c - the walk over JSON: which values are replaced, and which are searched. */
#include "redact/walk.h"
#include "redact/member_value.h"
#include "redact/option.h"
#include "redact/read.h"

#include "wire/json/text.h"

#include <stdlib.h>

#define FRAMES (JSON_MAX_DEPTH + 2) /* maximum number of frames; a deeper value is replaced */
#define FRAMES_NEAR 32              /* number of frames that need no allocation */
#define KEY_TEXT_MAX 256            /* maximum bytes of a key whose escapes are decoded */
#define FLUSH_AT 4096               /* edits of the input are written when there are this many */
#define PENDING_AT 65536 /* most edits that wait until an object's `name` explains its `value` */

/* The value that is read next. */
struct child {
    enum zone zone;
    enum role role;
    unsigned flags;
    bool content;                 /* the value is sensitive content */
    bool hit;                     /* a pointer of the user matches this value */
    const struct key_rule *rule;  /* set if the value's key is the name of a secret */
    const struct key_rule *inner; /* the value is a schema whose defaults are secret */
    pointer_set pointers;         /* the user's pointers that may match inside the value */
};

/* An open object or array. */
struct frame {
    bool object, want_key, call_known, is_call;
    bool content; /* the strings in this array are sensitive content */
    enum zone zone;
    enum role role; /* role of the member that is being walked */
    unsigned flags;
    size_t index;                  /* index of the current element in an array */
    pointer_set pointers;          /* the user's pointers that may match inside the container */
    const char *at;                /* the opening bracket */
    const struct key_rule *inner;  /* the container is a schema whose defaults are secret */
    const struct key_rule *name;   /* if set, the member `name` says that `value` is a secret */
    const struct key_rule *option; /* rule for the element after --password or a header's name */
    bool header;                   /* the previous element is an option such as --header */
    size_t value_from, value_to;   /* range of a `value` whose `name` may follow; from 0: none */
};

struct pass {
    struct redact *r;
    const char *text, *end;
    size_t first; /* index of the first edit that this walk adds */
    int level;
    unsigned pointer_depth; /* number of tokens of the JSON pointer to the root of this text */
    int depth;              /* frames in use; frame[0] contains the root value */
    int frames;             /* frames allocated */
    bool odd;               /* the string read last has an escape for an ordinary letter */
    struct slice last;      /* the value read last, with quotes; {NULL, 0} if it is no string */
    struct frame *frame;    /* the frames: `near` or `owned`; only push_frame() changes this */
    struct frame *owned;    /* allocated frames; NULL: not needed yet */
    struct frame near[FRAMES_NEAR];
};

static size_t walk_offset(const struct pass *s, const char *p)
{
    return (size_t)(p - s->text);
}

static struct frame *top_frame(struct pass *s)
{
    return &s->frame[s->depth - 1];
}

/* Returns the unescaped key; an empty text if the key is too long to be a known name. */
static struct slice unescape_key(struct slice raw, bool odd, char *place)
{
    size_t n;
    if (!odd && memchr(raw.p, '\\', raw.n) == NULL)
        return raw;
    if (raw.n > KEY_TEXT_MAX || !string_has_valid_escapes(raw) ||
        json_unescape_to(raw, place, KEY_TEXT_MAX, &n) < 0)
        return (struct slice){raw.p, 0};
    return (struct slice){place, n};
}

/* ---- is this message a tools/call? --------------------------------------------------------- */

/* Searches all members of the message for its method, but only once. */
static bool message_is_call(struct pass *s, struct frame *message)
{
    struct slice key, value;
    if (!message->call_known) {
        struct read_members m = {message->at + 1, s->end};
        message->call_known = true;
        while (read_member(&m, &key, &value))
            if (json_key_is(key, "method"))
                message->is_call =
                    value.n > 2 && value.p[0] == '"' &&
                    json_key_is(read_quoted_text(value.p, value.p + value.n, s->end), "tools/call");
    }
    return message->is_call;
}

static bool key_is_tool_arguments(struct pass *s, struct slice key)
{
    struct frame *f = top_frame(s);
    return s->r->how == REDACT_CONTENT && f->zone == ZONE_PARAMS && slice_is(key, "arguments") &&
           s->depth >= 2 && message_is_call(s, &s->frame[s->depth - 2]);
}

static void follow_pointers(const struct pass *s, const struct frame *f, struct slice key,
                            struct child *c)
{
    const struct pointers *p = &s->r->pointers;
    size_t at = s->pointer_depth + (size_t)s->depth - 2;
    c->pointers = f->object ? pointers_select_below_member(p, f->pointers, at, key)
                            : pointers_select_below_index(p, f->pointers, at, f->index);
    c->hit = pointers_any_ends_at_depth(p, c->pointers, at + 1);
}

/* ---- values to replace ----------------------------------------------------------------------- */

static void mark_whole_value(struct pass *s, const char *p, const char *behind, const char *rule)
{
    if (*p != '"') {
        add_mark(s->r, walk_offset(s, p), walk_offset(s, behind), rule, true);
        return;
    }
    struct slice raw = read_quoted_text(p, behind, s->end);
    if (get_redaction_mark_len(raw) != raw.n || raw.n == 0)
        add_mark(s->r, walk_offset(s, raw.p), walk_offset(s, raw.p) + raw.n, rule, false);
}

static bool number_is_secret(const struct key_rule *rule, char first)
{
    return (first == '-' || (first >= '0' && first <= '9')) && !(rule->flags & KEY_NO_NUMBER);
}

/* ---- pairs: {"name": …, "value": …} --------------------------------------------------------- */
static void replace_value_before_name(struct pass *s, struct frame *f)
{
    if (f->value_from == 0 || f->name == NULL)
        return;
    const char *p = s->text + f->value_from, *behind = s->text + f->value_to;
    size_t from = f->value_from, to = f->value_to;
    f->value_from = 0;
    if (*p == '"') {
        struct slice raw = read_quoted_text(p, behind, s->end);
        if (redact_is_secret(s->r, f->name, raw))
            edit_insert_mark(s->r, s->first, from + 1, from + 1 + raw.n, f->name->rule, false);
    } else if (*p == '{' || *p == '[' || number_is_secret(f->name, *p)) {
        edit_insert_mark(s->r, s->first, from, to, f->name->rule, true);
    }
}

/* ---- strings ------------------------------------------------------------------------------ */

/* Handles NAME=VALUE, or NAME: VALUE among headers. Returns true if the value was replaced. */
static bool replace_assigned_value(struct pass *s, const struct frame *f, struct slice raw)
{
    char mark = f->zone == ZONE_HEADERS ? ':' : '=';
    const char *at = memchr(raw.p, mark, size_min(raw.n, REDACT_NAME_LOOK));
    if (at == NULL)
        return false;
    struct slice name = {raw.p, (size_t)(at - raw.p)};
    for (size_t i = 0; i < name.n; i++) {
        char c = (char)(name.p[i] | 0x20);
        if ((c < 'a' || c > 'z') && (name.p[i] < '0' || name.p[i] > '9') && name.p[i] != '_' &&
            name.p[i] != '-' && name.p[i] != '.')
            return false;
    }
    const struct key_rule *rule = key_find_rule(&s->r->keys, name);
    struct slice value = {at + 1, raw.n - name.n - 1};
    while (value.n > 0 && value.p[0] == ' ') {
        value.p++;
        value.n--;
    }
    if (rule == NULL || !redact_is_secret(s->r, rule, value))
        return false;
    add_mark(s->r, walk_offset(s, value.p), walk_offset(s, value.p) + value.n, rule->rule, false);
    return true;
}

/* Handles NAME: VALUE after an option such as --header. Returns true if the value was replaced. */
static bool replace_header_value(struct pass *s, struct slice line)
{
    struct slice v;
    const struct key_rule *rule = option_find_header_rule(&s->r->keys, line, &v);
    if (rule == NULL || !redact_is_secret(s->r, rule, v))
        return false;
    add_mark(s->r, walk_offset(s, v.p), walk_offset(s, v.p) + v.n, rule->rule, false);
    return true;
}

/* Handles a string in an array. Returns true if the string or a value in it was replaced. */
static bool walk_array_string(struct pass *s, struct frame *f, struct slice raw)
{
    const struct key_rule *rule = f->option;
    struct slice here;
    bool takes = option_takes_header(raw, &here);
    struct slice line = takes ? here : f->header ? raw : (struct slice){0};
    f->header = takes && here.p == NULL;
    f->option = option_find_rule(&s->r->keys, raw);
    if (rule != NULL && f->option == NULL && redact_is_secret(s->r, rule, raw) &&
        !(raw.n > 1 && raw.p[0] == '-' && raw.p[1] == '-')) {
        add_mark(s->r, walk_offset(s, raw.p), walk_offset(s, raw.p) + raw.n, rule->rule, false);
        return true;
    }
    /* [["Authorization", "Bearer …"], …] */
    if (f->zone == ZONE_HEADERS && s->depth >= 2 && !s->frame[s->depth - 2].object &&
        s->frame[s->depth - 2].zone == ZONE_HEADERS && f->index == 0)
        f->option = key_find_rule(&s->r->keys, raw);
    return (line.n > 0 && replace_header_value(s, line)) || replace_assigned_value(s, f, raw);
}

static void walk_string(struct pass *s, const struct child *c, const char *p, const char *behind)
{
    struct frame *f = top_frame(s);
    struct slice raw = read_quoted_text(p, behind, s->end);
    size_t from = walk_offset(s, raw.p);
    char place[KEY_TEXT_MAX];
    const struct key_rule *rule = c->rule;
    if (c->role == ROLE_KEPT)
        return;
    if (c->role == ROLE_VALUE && rule == NULL)
        rule = f->name;
    if (c->hit) {
        mark_whole_value(s, p, behind, "pointer");
        return;
    }
    if (rule != NULL && redact_is_secret(s->r, rule, raw)) {
        add_mark(s->r, from, from + raw.n, rule->rule, false);
        return;
    }
    if (!f->object && s->depth > 1 && walk_array_string(s, f, raw))
        return;
    if (c->role == ROLE_NAME) {
        f->name = key_find_rule(&s->r->keys, unescape_key(raw, s->odd, place));
        replace_value_before_name(s, f);
    }
    if (c->content && (c->role != ROLE_NONE || !f->object))
        s->r->again = true; /* search again: the truncated text may be the name of a secret */
    enum string_kind kind = c->content                                         ? STRING_TRUNCATE
                            : c->role == ROLE_BLOB && redact_blob_is_text(raw) ? STRING_BLOB
                                                                               : STRING_ANY;
    redact_string(s->r, raw, from, s->odd, s->level, kind);
}

/* ---- values ------------------------------------------------------------------------------- */

static bool grow_frames(struct pass *s)
{
    size_t now = size_min(4 * (size_t)s->frames, FRAMES);
    struct frame *more = realloc(s->owned, now * sizeof *more);
    if (more == NULL) {
        s->r->failed = true;
        return false;
    }
    if (s->owned == NULL)
        memcpy(more, s->near, sizeof s->near);
    s->frame = s->owned = more;
    s->frames = (int)now;
    return true;
}

static bool push_frame(struct pass *s, const struct child *c, const char *p)
{
    if (s->depth == FRAMES || (s->depth == s->frames && !grow_frames(s)))
        return false;
    struct frame *f = &s->frame[s->depth++];
    *f = (struct frame){
        .object = *p == '{',
        .want_key = *p == '{',
        .zone = c->zone,
        .flags = c->flags,
        .content = c->content && *p == '[',
        .at = p,
        .pointers = c->pointers,
        .inner = c->inner,
    };
    if (f->zone == ZONE_TOP && f->object)
        f->zone = ZONE_MESSAGE;
    else if (f->zone == ZONE_TOP)
        s->pointer_depth--; /* in a batch, pointers are relative to each message */
    return true;
}

static void walk_note_value(struct pass *s, enum role role, const char *p, const char *behind)
{
    struct frame *f = top_frame(s);
    if (role != ROLE_VALUE || (s->level == 0 && walk_offset(s, p) < s->r->done))
        return; /* the member is not `value`, or its start has already been output */
    f->value_from = walk_offset(s, p);
    f->value_to = walk_offset(s, behind);
    if (f->name != NULL && *p != '"') /* strings are handled separately */
        replace_value_before_name(s, f);
}

/* Handles any value. Returns where the walk continues: inside a container, or after the value. */
static const char *walk_value(struct pass *s, struct child *c, const char *p)
{
    const char *behind;
    if (*p == '"') {
        s->odd = false;
        behind = read_string(p, s->end, &s->odd);
        s->last = (struct slice){p, (size_t)(behind - p)};
        walk_string(s, c, p, behind);
        walk_note_value(s, c->role, p, behind);
        return behind;
    }
    bool container = *p == '{' || *p == '[';
    bool schema = container && *p == '{' && c->rule != NULL &&
                  member_value_is_json_schema(p, s->end, top_frame(s)->zone == ZONE_PROPERTIES);
    bool asks = container && *p == '{' && c->rule != NULL && top_frame(s)->zone == ZONE_INPUTS &&
                member_value_is_input_request(p, s->end);
    bool goes = c->hit || (c->rule != NULL && !schema && !asks &&
                           (container ? redact_container_is_secret(s->r, c->rule, p, s->end)
                                      : number_is_secret(c->rule, *p)));
    if (goes) {
        behind = read_value(p, s->end);
        mark_whole_value(s, p, behind, c->hit ? "pointer" : c->rule->rule);
        return behind;
    }
    if (schema)
        c->inner = c->rule;
    bool walks = container && c->role != ROLE_KEPT;
    if (walks && push_frame(s, c, p)) {
        s->frame[s->depth - 2].role = c->role;
        return p + 1;
    }
    behind = read_value(p, s->end);
    if (walks)
        mark_whole_value(s, p, behind, "too-deep");
    else
        walk_note_value(s, c->role, p, behind);
    return behind;
}

/* Writes the text up to p with its edits, unless they wait for a `name` (see PENDING_AT). */
static void walk_write_edits(struct pass *s, const char *p)
{
    struct redact *r = s->r;
    bool waits = false;
    for (int i = 0; i < s->depth; i++)
        waits |= s->frame[i].value_from != 0;
    if (waits && r->edit_n < PENDING_AT)
        return;
    for (int i = 0; i < s->depth; i++)
        s->frame[i].value_from = 0;
    for (size_t i = 0; i < r->edit_n; i++) { /* offsets count from the start of the text */
        r->edit[i].from -= r->done;
        r->edit[i].to -= r->done;
    }
    struct slice part = {s->text + r->done, walk_offset(s, p) - r->done};
    edit_apply(r, 0, part, r->out);
    r->count += r->edit_n;
    r->edit_n = 0;
    r->texts.n = 0;
    r->done = walk_offset(s, p);
}

static void pop_frame(struct pass *s, const char *p)
{
    if (s->depth == 1)
        return;
    const char *at = top_frame(s)->at;
    s->depth--;
    walk_note_value(s, top_frame(s)->role, at, p + 1);
}

static struct child make_child_of_frame(const struct frame *f)
{
    struct child c = {.flags = f->flags, .inner = f->inner};
    if (f->zone == ZONE_TOP || f->zone == ZONE_TASK || f->zone == ZONE_HEADERS)
        c.zone = f->zone;
    return c;
}

/* Handles a key and its value. If the value is a container, handles only the opening bracket. */
static const char *walk_member(struct pass *s, const char *p)
{
    struct frame *f = top_frame(s);
    char place[KEY_TEXT_MAX];
    struct child c = {.flags = f->flags, .inner = f->inner};
    f->want_key = false;
    s->odd = false;
    const char *behind = read_string(p, s->end, &s->odd);
    struct slice raw = read_quoted_text(p, behind, s->end);
    struct slice key = unescape_key(raw, s->odd, place);
    c.role = member_value_is_never_replaced(f->zone, key) ? ROLE_KEPT : member_value_get_role(key);
    size_t at = walk_offset(s, raw.p);
    if (c.role != ROLE_KEPT && (s->odd || s->level > 0 || !no_shape_matches(s->r, at, at + raw.n)))
        redact_string(s->r, raw, at, s->odd, s->level, STRING_ANY);
    c.zone = member_value_get_zone(f->zone, key);
    c.rule = c.role == ROLE_KEPT ? NULL : key_find_rule(&s->r->keys, key);
    if (c.rule == NULL && f->inner != NULL && member_value_is_schema_literal(key))
        c.rule = f->inner;
    if (key_is_tool_arguments(s, key))
        c.flags |= IN_ARGUMENTS;
    else if (f->flags & IN_ARGUMENTS)
        c.content = key_is_content(&s->r->keys, key);
    if (f->pointers != 0)
        follow_pointers(s, f, key, &c);
    p = redact_skip_space(behind, s->end);
    if (p < s->end && *p == ':')
        p = redact_skip_space(p + 1, s->end);
    return p < s->end ? walk_value(s, &c, p) : p;
}

static const char *walk_element(struct pass *s, const char *p)
{
    struct frame *f = top_frame(s);
    struct child c = make_child_of_frame(f);
    c.content = f->content;
    if (s->depth == 1 || f->zone == ZONE_TOP) /* p is at the root, or at a member of a batch */
        c.pointers = f->pointers;
    else if (f->pointers != 0)
        follow_pointers(s, f, (struct slice){0}, &c);
    return walk_value(s, &c, p);
}

/* Handles a colon after a value, which is invalid JSON: `"a":"password":"…"`. The value before the
 * colon is treated as a key. */
static const char *walk_value_after_colon(struct pass *s, const char *p)
{
    struct child c = make_child_of_frame(top_frame(s));
    char place[KEY_TEXT_MAX];
    if (s->last.p != NULL) {
        struct slice raw = read_quoted_text(s->last.p, s->last.p + s->last.n, s->end);
        c.rule = key_find_rule(&s->r->keys, unescape_key(raw, true, place));
    }
    p = redact_skip_space(p + 1, s->end);
    return p < s->end ? walk_value(s, &c, p) : p;
}

static void walk_text(struct pass *s)
{
    const char *p = s->text;
    while (p < s->end) {
        struct frame *f = top_frame(s);
        switch (*p) {
        case ' ':
        case '\n':
        case '\t':
        case '\r':
            p++;
            break;
        case ':':
            p = walk_value_after_colon(s, p);
            break;
        case ',':
            f->want_key = f->object;
            f->index++;
            p++;
            break;
        case '}':
        case ']':
            pop_frame(s, p);
            p++;
            break;
        case '"':
            p = f->want_key ? walk_member(s, p) : walk_element(s, p);
            break;
        default:
            p = walk_element(s, p);
            break;
        }
        if (s->level == 0 && s->r->edit_n >= FLUSH_AT)
            walk_write_edits(s, p);
    }
}

/* Returns the user's pointers that match the first `depth` tokens of /params/arguments. */
static pointer_set find_pointers_to_arguments(const struct pointers *p, unsigned depth)
{
    static const char *const way[] = {"params", "arguments"};
    pointer_set set = pointers_select_at_root(p);
    for (unsigned i = 0; i < depth && i < MI_COUNT(way); i++)
        set = pointers_select_below_member(p, set, i, slice_of(way[i]));
    return set;
}

void redact_json(struct redact *r, struct slice json, int level, enum zone zone, unsigned flags,
                 unsigned pointer_depth)
{
    struct pass s; /* `s` is not zeroed, because each frame is written before it is read */
    s.r = r;
    s.text = json.p;
    s.end = json.p + json.n;
    s.first = r->edit_n;
    s.level = level;
    s.pointer_depth = pointer_depth;
    s.depth = 1;
    s.odd = false;
    s.last = (struct slice){0};
    s.frame = s.near, s.owned = NULL;
    s.frames = FRAMES_NEAR;
    s.frame[0] = (struct frame){.zone = zone, .flags = flags, .at = json.p};
    if (level == 0 && r->pointers.n > 0)
        s.frame[0].pointers = find_pointers_to_arguments(&r->pointers, pointer_depth);
    walk_text(&s);
    free(s.owned);
}
