#include "journal/entry_form.h"

#include "journal/message_entry.h"
#include "journal/uid.h"

#include <limits.h>

/* ---- numbers of 8 bytes, and texts ---- */

#define MISSING UINT64_MAX /* written in place of the length, if a text is missing */

struct out {
    char *p; /* address of the first byte; NULL: bytes are only counted */
    size_t n;
};

static void put_bytes(struct out *o, const void *p, size_t n)
{
    if (o->p != NULL && n > 0)
        memcpy(o->p + o->n, p, n);
    o->n += n;
}

static void put_uint(struct out *o, uint64_t v)
{
    put_bytes(o, &v, sizeof v);
}

static void put_int(struct out *o, int64_t v)
{
    put_bytes(o, &v, sizeof v);
}

static void put_text(struct out *o, struct slice s)
{
    put_uint(o, s.p != NULL ? s.n : MISSING);
    put_bytes(o, s.p, s.n);
}

/* Writes the string with its NUL. */
static void put_string(struct out *o, const char *s)
{
    put_text(o, s != NULL ? (struct slice){s, strlen(s) + 1} : (struct slice){0});
}

struct in {
    struct slice left;
    bool bad; /* the bytes are not a valid entry */
};

/* Returns the next n bytes and skips them. Returns NULL if fewer bytes are left. */
static const char *get_bytes(struct in *i, uint64_t n)
{
    if (i->bad || n > i->left.n) {
        i->bad = true;
        return NULL;
    }
    const char *p = i->left.p;
    i->left = (struct slice){p + n, i->left.n - n};
    return p;
}

static uint64_t get_uint(struct in *i)
{
    uint64_t v = 0;
    const char *p = get_bytes(i, sizeof v);
    if (p != NULL)
        memcpy(&v, p, sizeof v);
    return v;
}

static int64_t get_int(struct in *i)
{
    int64_t v = 0;
    const char *p = get_bytes(i, sizeof v);
    if (p != NULL)
        memcpy(&v, p, sizeof v);
    return v;
}

static int64_t get_int_between(struct in *i, int64_t min, int64_t max)
{
    int64_t v = get_int(i);
    if (v >= min && v <= max)
        return v;
    i->bad = true;
    return min;
}

static bool get_bool(struct in *i)
{
    return get_int_between(i, 0, 1) != 0;
}

static struct slice get_text(struct in *i)
{
    uint64_t n = get_uint(i);
    if (i->bad || n == MISSING)
        return (struct slice){0};
    const char *p = get_bytes(i, n);
    return p != NULL ? (struct slice){p, n} : (struct slice){0};
}

static const char *get_string(struct in *i)
{
    struct slice s = get_text(i);
    if (s.p != NULL && (s.n == 0 || memchr(s.p, '\0', s.n) != s.p + s.n - 1))
        i->bad = true;
    return i->bad ? NULL : s.p;
}

/* Returns 0 if all bytes were read and were valid, MI_EINVAL otherwise. */
static int check_end(const struct in *i)
{
    return i->bad || i->left.n != 0 ? MI_EINVAL : 0;
}

/* ---- events ---- */

static void put_event(struct out *o, const struct row *r)
{
    put_int(o, r->t_us);
    put_string(o, r->event);
    put_text(o, r->body);
}

static void get_event(struct in *i, struct row *r)
{
    r->t_us = get_int(i);
    r->event = get_string(i);
    r->body = get_text(i);
    i->bad = i->bad || r->event == NULL;
}

/* ---- session metadata ---- */

/* Writes the fields of an update as texts. A number is a text of 8 bytes; NULL is a missing
 * text. */
static void put_session_update(struct out *o, const struct session_update *u)
{
    for (size_t i = 0; i < fields_of_update.n; i++) {
        const struct record_field *f = &fields_of_update.list[i];
        struct cell c = field_get(f, u);
        if (c.type == CELL_INT)
            put_text(o, (struct slice){(const char *)&c.number, sizeof c.number});
        else
            put_text(o, c.text);
    }
}

static void get_session_update(struct in *i, struct session_update *u)
{
    for (size_t k = 0; k < fields_of_update.n; k++) {
        const struct record_field *f = &fields_of_update.list[k];
        struct slice bytes = get_text(i);
        struct cell c = {bytes.p != NULL ? CELL_TEXT : CELL_NULL, 0, bytes};
        if (bytes.p != NULL && !field_is_text(f)) {
            i->bad = i->bad || bytes.n != sizeof c.number;
            c = (struct cell){.type = CELL_INT};
            memcpy(&c.number, bytes.p, i->bad ? 0 : sizeof c.number);
        }
        field_set(f, u, c);
    }
}

/* ---- records whose fields are described in model/records.h ---- */

static void get_boot_id(struct in *i, char *to)
{
    const char *boot = get_string(i);
    size_t n = boot != NULL ? strlen(boot) : SIZE_MAX;
    if (n < PROCESS_BOOT_MAX)
        memcpy(to, boot, n + 1);
    else
        i->bad = true;
}

#define PUT_NUMBER(name) put_int(o, x->name);
#define PUT_TIME PUT_NUMBER
#define PUT_TOOK PUT_NUMBER
#define PUT_PID PUT_NUMBER
#define PUT_FLAG PUT_NUMBER
#define PUT_WORD(type, words) PUT_NUMBER
#define PUT_COUNT(name) put_uint(o, x->name);
#define PUT_SIZE PUT_COUNT
#define PUT_TICKS PUT_COUNT
#define PUT_TEXT(name) put_text(o, x->name);
#define PUT_JSON PUT_TEXT
#define PUT_STRING(name) put_string(o, x->name);
#define PUT_BOOT PUT_STRING
#define PUT(name, type, null) PUT_##type(name)

#define GET_NUMBER(name) x->name = get_int(i);
#define GET_TIME GET_NUMBER
#define GET_TOOK GET_NUMBER
#define GET_PID(name) x->name = (pid_t)get_int_between(i, 0, INT_MAX);
#define GET_FLAG(name) x->name = get_bool(i);
#define GET_WORD(type, words) GET_##type
#define GET_call_status(name) x->name = (enum call_status)get_int_between(i, 0, CALL_UNKNOWN - 1);
#define GET_escalation_cause(name)                                                                 \
    x->name = (enum escalation_cause)get_int_between(i, 0, ESCALATION_CAUSE_UNKNOWN - 1);
#define GET_COUNT(name) x->name = get_uint(i);
#define GET_SIZE GET_COUNT
#define GET_TICKS GET_COUNT
#define GET_TEXT(name) x->name = get_text(i);
#define GET_JSON GET_TEXT
#define GET_STRING(name) x->name = get_string(i);
#define GET_BOOT(name) get_boot_id(i, x->name);
#define GET(name, type, null) GET_##type(name)

static void put_running_processes(struct out *o, const struct running *x)
{
    RUNNING_FIELDS(PUT)
}

static void get_running_fields(struct in *i, struct running *x)
{
    RUNNING_FIELDS(GET)
}

static void put_invocation(struct out *o, const struct invocation *x)
{
    INVOCATION_FIELDS(PUT)
}

static void get_invocation(struct in *i, struct invocation *x)
{
    INVOCATION_FIELDS(GET)
    i->bad = i->bad || !invocation_is_valid(x);
}

static void put_escalation(struct out *o, const struct escalation *x, int64_t t_us)
{
    put_int(o, t_us);
    ESCALATION_FIELDS(PUT)
    size_t n = size_min(x->stderr_n, ESCALATION_LINES_MAX);
    put_uint(o, n);
    for (size_t k = x->stderr_n - n; k < x->stderr_n; k++)
        put_text(o, x->stderr_lines[k]);
}

static void get_escalation(struct in *i, struct entry *ret)
{
    struct escalation *x = &ret->escalation;
    ret->t_us = get_int(i);
    ESCALATION_FIELDS(GET)
    x->stderr_n = (size_t)get_int_between(i, 0, ESCALATION_LINES_MAX);
    for (size_t k = 0; k < x->stderr_n; k++)
        ret->lines[k] = get_text(i);
}

/* ---- lost messages ---- */

static void put_lost_messages(struct out *o, const struct lost_messages *l)
{
    put_uint(o, l->n);
    put_uint(o, l->first_seq);
    put_uint(o, l->last_seq);
    put_int(o, l->t_us);
}

static void get_lost_messages(struct in *i, struct lost_messages *l)
{
    l->n = get_uint(i);
    l->first_seq = get_uint(i);
    l->last_seq = get_uint(i);
    l->t_us = get_int(i);
}

/* ---- added rules ---- */

static void put_added_rules(struct out *o, const struct added_rules *a)
{
    put_uint(o, a->seq);
    put_uint(o, a->rules);
}

static void get_added_rules(struct in *i, struct added_rules *a)
{
    a->seq = get_uint(i);
    a->rules = get_uint(i);
    if (a->rules >= RULE(RULE_COUNT))
        i->bad = true;
}

/* ---- any entry ---- */

static void put_entry(struct out *o, const struct entry *e)
{
    switch (e->kind) {
    case ENTRY_EVENT:
        put_event(o, &e->row);
        break;
    case ENTRY_UPDATE:
        put_session_update(o, &e->update);
        break;
    case ENTRY_RUNNING:
        put_running_processes(o, &e->running);
        break;
    case ENTRY_INVOCATION:
        put_invocation(o, &e->invocation);
        break;
    case ENTRY_ESCALATION:
        put_escalation(o, &e->escalation, e->t_us);
        break;
    case ENTRY_LOST:
        put_lost_messages(o, &e->lost);
        break;
    case ENTRY_RULES:
        put_added_rules(o, &e->added);
        break;
    case ENTRY_MESSAGE:
    case ENTRY_TOOLS_WANTED:
        break;
    }
}

size_t form_size_of_entry(const struct entry *e)
{
    if (e->kind == ENTRY_MESSAGE)
        return message_written_size(&e->row, &e->invocation);
    struct out o = {0};
    put_entry(&o, e);
    return o.n;
}

void form_write_entry(const struct entry *e, char *to)
{
    if (e->kind == ENTRY_MESSAGE)
        message_write(&e->row, &e->invocation, to);
    else
        put_entry(&(struct out){.p = to}, e);
}

/* Reads every kind of entry except messages. */
static int form_read_non_message(enum entry_kind kind, struct slice bytes, struct entry *ret)
{
    struct in i = {.left = bytes};
    struct entry e = {.kind = kind};
    switch (kind) {
    case ENTRY_EVENT:
        get_event(&i, &e.row);
        break;
    case ENTRY_UPDATE:
        get_session_update(&i, &e.update);
        break;
    case ENTRY_RUNNING:
        get_running_fields(&i, &e.running);
        break;
    case ENTRY_INVOCATION:
        get_invocation(&i, &e.invocation);
        break;
    case ENTRY_ESCALATION:
        get_escalation(&i, &e);
        break;
    case ENTRY_LOST:
        get_lost_messages(&i, &e.lost);
        break;
    case ENTRY_RULES:
        get_added_rules(&i, &e.added);
        break;
    case ENTRY_TOOLS_WANTED:
        break;
    case ENTRY_MESSAGE:
    default:
        return MI_EINVAL;
    }
    int st = check_end(&i);
    if (st < 0)
        return st;
    *ret = e;
    if (kind == ENTRY_ESCALATION && e.escalation.stderr_n > 0)
        ret->escalation.stderr_lines = ret->lines;
    return 0;
}

int form_read_entry(enum entry_kind kind, struct slice bytes, struct entry *ret)
{
    if (kind != ENTRY_MESSAGE)
        return form_read_non_message(kind, bytes, ret);
    int st = message_read(bytes, &ret->row, &ret->invocation);
    if (st == 0)
        ret->kind = kind;
    return st;
}

/* ---- start of a session ---- */

static void put_session_start(struct out *o, const struct session_start *s)
{
    put_text(o, s->uid);
    put_text(o, s->vault);
    put_text(o, s->name);
    put_text(o, s->command);
    put_text(o, s->host);
    put_text(o, s->redact_rules);
    put_text(o, s->cwd);
    put_text(o, s->tools_rule);
    put_int(o, (int64_t)s->level);
    put_int(o, s->sync_full);
    put_int(o, s->stop_on_error);
    put_int(o, s->started_wall_us);
    put_int(o, s->pid);
}

void form_append_session_start(struct buf *b, const struct session_start *s)
{
    struct out size = {0};
    put_session_start(&size, s);
    if (!buf_reserve(b, size.n))
        return;
    put_session_start(&(struct out){.p = b->p + b->n}, s);
    b->n += size.n;
}

int form_read_session_start(struct slice bytes, struct session_start *ret)
{
    struct in i = {.left = bytes};
    struct session_start s;
    s.uid = get_text(&i);
    s.vault = get_text(&i);
    s.name = get_text(&i);
    s.command = get_text(&i);
    s.host = get_text(&i);
    s.redact_rules = get_text(&i);
    s.cwd = get_text(&i);
    s.tools_rule = get_text(&i);
    s.level = (enum record_level)get_int_between(&i, 0, RECORD_LEVEL_UNKNOWN - 1);
    s.sync_full = get_bool(&i);
    s.stop_on_error = get_bool(&i);
    s.started_wall_us = get_int(&i);
    s.pid = get_int(&i);
    int st = check_end(&i);
    bool is_absolute_path =
        s.vault.n > 0 && s.vault.p[0] == '/' && memchr(s.vault.p, '\0', s.vault.n) == NULL;
    if (st == 0 && (!uid_is_valid(s.uid) || !is_absolute_path))
        st = MI_EINVAL;
    if (st == 0)
        *ret = s;
    return st;
}
