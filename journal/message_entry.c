#include "journal/message_entry.h"

/* Numbers that follow the fixed part, in this order. A number that is 0 is left out. */
enum {
    N_SIZE, /* row.size minus the bytes of row.body */
    N_REDACTIONS,
    N_REQUEST_SEQ,
    N_ERROR_CODE,
    N_BATCH_SEQ,
    N_FINDINGS,
    N_RULES,
    ROW_NUMBERS,
    N_WALL_US = ROW_NUMBERS,
    N_DURATION_US,
    N_SEQ, /* seq of the invocation minus request_seq of the row */
    N_ARGUMENTS_N,
    N_REQUEST_BYTES,
    N_RESPONSE_BYTES, /* response_bytes of the invocation minus size of the row */
    NUMBERS
};

/* The texts of an entry. Missing texts are not stored. The positions of the other texts (struct
 * place) follow the numbers, in the order of this list. */
enum {
    T_RPC_ID,
    T_METHOD,
    T_TARGET,
    ROW_TEXTS,
    T_CALL_METHOD = ROW_TEXTS,
    T_CALL_TARGET,
    T_ARGUMENTS,
    T_MESSAGE_CODE,
    T_MESSAGE,
    T_RESULT,
    TEXTS
};

/* Flags of a message. They say which numbers and texts follow, and other facts. */
#define HAS_NUMBER(i) (1u << (i))
#define HAS_TEXT(i) (1u << (NUMBERS + (i)))
#define HAS_BODY (1u << (NUMBERS + TEXTS))
#define NOT_JSON (HAS_BODY << 1)
#define HAS_ERROR_CODE (HAS_BODY << 2)
#define ENDS_INVOCATION (HAS_BODY << 3)
#define RESULT_ESCAPED (HAS_BODY << 4)
#define MAY_LINK (HAS_BODY << 5)
#define ALL_FLAGS ((HAS_BODY << 6) - 1)
#define ROW_FLAGS                                                                                  \
    ((HAS_NUMBER(ROW_NUMBERS) - 1) | (HAS_TEXT(ROW_TEXTS) - HAS_TEXT(0)) | HAS_BODY | NOT_JSON |   \
     HAS_ERROR_CODE | MAY_LINK)

struct fixed {
    uint64_t seq;
    int64_t t_us;
    uint32_t body_n, flags;
    uint8_t kind, direction, origin, action, status, zero[3];
};
_Static_assert(sizeof(struct fixed) == 32, "no padding");
_Static_assert(NUMBERS + TEXTS + 6 <= 32, "the flags are 32 bits");

struct place {
    /* offset of the text in the body; OUTSIDE: the text is stored after the body, in order */
    uint32_t at;
    uint32_t n;
};
#define OUTSIDE UINT32_MAX

/* ---- writing -------------------------------------------------------------------------------- */

struct parts {
    uint64_t number[NUMBERS];
    struct slice text[TEXTS];
    /* number of used elements in `number` and `text` */
    size_t numbers, texts;
};

static void message_fill_parts_from_row(const struct row *r, const struct invocation *x,
                                        struct parts *p)
{
    p->number[N_SIZE] = r->size - r->body.n;
    p->number[N_REDACTIONS] = r->redactions;
    p->number[N_REQUEST_SEQ] = r->request_seq;
    p->number[N_ERROR_CODE] = (uint64_t)r->error_code;
    p->number[N_BATCH_SEQ] = r->batch_seq;
    p->number[N_FINDINGS] = r->findings;
    p->number[N_RULES] = r->rules;
    p->text[T_RPC_ID] = r->rpc_id;
    p->text[T_METHOD] = r->method;
    p->text[T_TARGET] = r->target;
    p->numbers = ROW_NUMBERS;
    p->texts = ROW_TEXTS;
    if (!r->ends_invocation)
        return;
    p->number[N_WALL_US] = (uint64_t)x->wall_us;
    p->number[N_DURATION_US] = (uint64_t)x->duration_us;
    p->number[N_SEQ] = x->seq - r->request_seq;
    p->number[N_ARGUMENTS_N] = x->arguments_n;
    p->number[N_REQUEST_BYTES] = x->request_bytes;
    p->number[N_RESPONSE_BYTES] = x->response_bytes - r->size;
    p->text[T_CALL_METHOD] = x->method;
    p->text[T_CALL_TARGET] = x->target;
    p->text[T_ARGUMENTS] = x->arguments;
    p->text[T_MESSAGE_CODE] = x->error_code;
    p->text[T_MESSAGE] = x->error_message;
    p->text[T_RESULT] = x->result;
    p->numbers = NUMBERS;
    p->texts = TEXTS;
}

static bool slice_is_within_body(struct slice s, struct slice body)
{
    return body.p != NULL && s.n <= body.n && (uintptr_t)s.p - (uintptr_t)body.p <= body.n - s.n;
}

size_t message_written_size(const struct row *r, const struct invocation *x)
{
    struct parts p;
    message_fill_parts_from_row(r, x, &p);
    size_t n = sizeof(struct fixed) + r->body.n;
    for (size_t i = 0; i < p.numbers; i++)
        n += p.number[i] != 0 ? sizeof p.number[i] : 0;
    for (size_t i = 0; i < p.texts; i++)
        if (p.text[i].p != NULL)
            n +=
                sizeof(struct place) + (slice_is_within_body(p.text[i], r->body) ? 0 : p.text[i].n);
    return n;
}

static char *append_message_bytes(char *to, const void *p, size_t n)
{
    if (n > 0)
        memcpy(to, p, n);
    return to + n;
}

static char *message_put_numbers(char *to, const struct parts *p, uint32_t *flags)
{
    for (size_t i = 0; i < p->numbers; i++)
        if (p->number[i] != 0) {
            *flags |= HAS_NUMBER(i);
            to = append_message_bytes(to, &p->number[i], sizeof p->number[i]);
        }
    return to;
}

static char *message_put_text_positions(char *to, const struct parts *p, struct slice body,
                                        uint32_t *flags)
{
    for (size_t i = 0; i < p->texts; i++) {
        struct slice s = p->text[i];
        if (s.p == NULL)
            continue;
        struct place place = {slice_is_within_body(s, body) ? (uint32_t)(s.p - body.p) : OUTSIDE,
                              (uint32_t)s.n};
        *flags |= HAS_TEXT(i);
        to = append_message_bytes(to, &place, sizeof place);
    }
    return to;
}

void message_write(const struct row *r, const struct invocation *x, char *to)
{
    struct parts p;
    message_fill_parts_from_row(r, x, &p);
    struct fixed f = {
        .seq = r->seq,
        .t_us = r->t_us,
        .body_n = (uint32_t)r->body.n,
        .flags = (r->body.p != NULL ? HAS_BODY : 0) | (r->not_json ? NOT_JSON : 0) |
                 (r->has_error_code ? HAS_ERROR_CODE : 0) | (r->may_link ? MAY_LINK : 0),
        .kind = (uint8_t)r->kind,
        .direction = (uint8_t)r->direction,
        .origin = (uint8_t)r->origin,
        .action = (uint8_t)r->action,
    };
    if (r->ends_invocation) {
        f.flags |= ENDS_INVOCATION | (x->result_escaped ? RESULT_ESCAPED : 0);
        f.status = (uint8_t)x->status;
    }
    char *next = message_put_numbers(to + sizeof f, &p, &f.flags);
    next = message_put_text_positions(next, &p, r->body, &f.flags);
    next = append_message_bytes(next, r->body.p, r->body.n);
    for (size_t i = 0; i < p.texts; i++)
        if (p.text[i].p != NULL && !slice_is_within_body(p.text[i], r->body))
            next = append_message_bytes(next, p.text[i].p, p.text[i].n);
    memcpy(to, &f, sizeof f);
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool message_head_is_valid(const struct fixed *f)
{
    static const uint8_t zero[sizeof f->zero];
    uint32_t allowed = (f->flags & ENDS_INVOCATION) != 0 ? ALL_FLAGS : ROW_FLAGS;
    return (f->flags & ~allowed) == 0 && (f->body_n == 0 || (f->flags & HAS_BODY) != 0) &&
           f->kind < KIND_UNKNOWN && f->direction < ROW_DIRECTION_UNKNOWN &&
           f->origin < ROW_ORIGIN_UNKNOWN && f->action < ROW_ACTION_UNKNOWN &&
           f->status < CALL_UNKNOWN && memcmp(f->zero, zero, sizeof zero) == 0;
}

/* Returns the next n bytes of *left, and removes them from *left. Returns NULL if fewer bytes are
 * left. */
static const char *cut_message_bytes(struct slice *left, size_t n)
{
    const char *p = left->p;
    if (n > left->n)
        return NULL;
    *left = (struct slice){p + n, left->n - n};
    return p;
}

static bool read_message_numbers(struct slice *left, uint32_t flags, struct parts *p)
{
    memset(p->number, 0, sizeof p->number);
    for (flags &= HAS_NUMBER(NUMBERS) - 1; flags != 0; flags &= flags - 1) {
        int i = __builtin_ctz(flags);
        const char *at = cut_message_bytes(left, sizeof p->number[i]);
        if (at == NULL)
            return false;
        memcpy(&p->number[i], at, sizeof p->number[i]);
    }
    return p->number[N_FINDINGS] < FINDING(FIND_COUNT) && p->number[N_RULES] < RULE(RULE_COUNT);
}

/* Reads the positions of the texts, then the body, then the other texts. Returns false if the
 * lengths are wrong or bytes are left over. */
static bool get_message_texts(struct slice left, const struct fixed *f, struct slice *ret_body,
                              struct parts *p)
{
    struct place place[TEXTS];
    memset(p->text, 0, sizeof p->text);
    for (size_t i = 0; i < TEXTS; i++) {
        if ((f->flags & HAS_TEXT(i)) == 0)
            continue;
        const char *at = cut_message_bytes(&left, sizeof place[i]);
        if (at == NULL)
            return false;
        memcpy(&place[i], at, sizeof place[i]);
    }
    struct slice body = {cut_message_bytes(&left, f->body_n), f->body_n};
    if (body.p == NULL)
        return false;
    for (size_t i = 0; i < TEXTS; i++) {
        if ((f->flags & HAS_TEXT(i)) == 0)
            continue;
        bool outside = place[i].at == OUTSIDE;
        if (!outside && (place[i].at > body.n || place[i].n > body.n - place[i].at))
            return false;
        const char *at = outside ? cut_message_bytes(&left, place[i].n) : body.p + place[i].at;
        if (at == NULL)
            return false;
        p->text[i] = (struct slice){at, place[i].n};
    }
    *ret_body = (f->flags & HAS_BODY) != 0 ? body : (struct slice){0};
    return left.n == 0;
}

static struct row make_row_of_message(const struct fixed *f, const struct parts *p,
                                      struct slice body)
{
    return (struct row){
        .kind = f->kind,
        .seq = f->seq,
        .t_us = f->t_us,
        .direction = f->direction,
        .origin = f->origin,
        .action = f->action,
        .rpc_id = p->text[T_RPC_ID],
        .method = p->text[T_METHOD],
        .target = p->text[T_TARGET],
        .body = body,
        .not_json = (f->flags & NOT_JSON) != 0,
        .size = p->number[N_SIZE] + body.n,
        .redactions = p->number[N_REDACTIONS],
        .request_seq = p->number[N_REQUEST_SEQ],
        .has_error_code = (f->flags & HAS_ERROR_CODE) != 0,
        .may_link = (f->flags & MAY_LINK) != 0,
        .error_code = (int64_t)p->number[N_ERROR_CODE],
        .batch_seq = p->number[N_BATCH_SEQ],
        .findings = p->number[N_FINDINGS],
        .rules = p->number[N_RULES],
        .ends_invocation = (f->flags & ENDS_INVOCATION) != 0,
    };
}

static struct invocation make_invocation_of_message(const struct fixed *f, const struct parts *p,
                                                    const struct row *r)
{
    return (struct invocation){
        .wall_us = (int64_t)p->number[N_WALL_US],
        .seq = p->number[N_SEQ] + r->request_seq,
        .status = f->status,
        .method = p->text[T_CALL_METHOD],
        .target = p->text[T_CALL_TARGET],
        .arguments = p->text[T_ARGUMENTS],
        .arguments_n = p->number[N_ARGUMENTS_N],
        .error_code = p->text[T_MESSAGE_CODE],
        .error_message = p->text[T_MESSAGE],
        .duration_us = (int64_t)p->number[N_DURATION_US],
        .request_bytes = p->number[N_REQUEST_BYTES],
        .response_bytes = p->number[N_RESPONSE_BYTES] + r->size,
        .result = p->text[T_RESULT],
        .result_escaped = (f->flags & RESULT_ESCAPED) != 0,
    };
}

int message_read(struct slice bytes, struct row *ret, struct invocation *ret_x)
{
    struct fixed f;
    struct parts p;
    struct slice body;
    const char *at = cut_message_bytes(&bytes, sizeof f);
    if (at == NULL)
        return MI_EINVAL;
    memcpy(&f, at, sizeof f);
    if (!message_head_is_valid(&f) || !read_message_numbers(&bytes, f.flags, &p) ||
        !get_message_texts(bytes, &f, &body, &p))
        return MI_EINVAL;
    struct row r = make_row_of_message(&f, &p, body);
    if (r.ends_invocation) {
        *ret_x = make_invocation_of_message(&f, &p, &r);
        if (!invocation_is_valid(ret_x))
            return MI_EINVAL;
    }
    *ret = r;
    return 0;
}
