#include "cli/check.h"

#include "base/room.h"
#include "base/text.h"
#include "cli/check_inner.h"

#include <stdlib.h>

void check_open(struct check_report *r)
{
    *r = (struct check_report){.of_client = true, .of_server = true};
}

void check_close(struct check_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->source[i].found);
    free(r->source);
    buf_close(&r->text);
}

/* The words of a list, one a call. False: there are no more. */
static bool next_word(struct slice *list, struct slice *ret)
{
    while (list->n > 0 && (*list->p == ',' || *list->p == ' '))
        *list = (struct slice){list->p + 1, list->n - 1};
    if (list->n == 0)
        return false;
    const char *comma = memchr(list->p, ',', list->n);
    *ret = (struct slice){list->p, comma != NULL ? (size_t)(comma - list->p) : list->n};
    *list = (struct slice){ret->p + ret->n, list->n - ret->n};
    return true;
}

static int severity_of(struct slice word)
{
    for (int s = SEVERITY_NOTE; s <= SEVERITY_ERROR; s++)
        if (slice_is(word, severity_name((enum severity)s)))
            return s;
    return -1;
}

bool check_fail_on(struct check_report *r, const char *list, struct buf *error)
{
    struct slice word, rest = slice_of(list);
    struct finding_info info;
    while (next_word(&rest, &word)) {
        int s = severity_of(word);
        if (s >= 0) {
            for (; s <= SEVERITY_ERROR; s++) /* what is worse fails as well */
                r->fail_severity[s] = true;
        } else if (finding_look(word, &info)) {
            r->fail_findings |= info.finding;
            r->fail_rules |= info.rule;
        } else if (!slice_is(word, "none")) {
            buf_printf(error, "'%.*s' is no finding; docs/findings.md lists them", (int)word.n,
                       word.p);
            return false;
        }
    }
    return true;
}

bool check_ignore(struct check_report *r, const char *list, struct buf *error)
{
    struct slice word, rest = slice_of(list);
    struct finding_info info;
    while (next_word(&rest, &word)) {
        if (!finding_look(word, &info)) {
            buf_printf(error, "'%.*s' is no finding; docs/findings.md lists them", (int)word.n,
                       word.p);
            return false;
        }
        r->left_findings |= info.finding;
        r->left_rules |= info.rule;
    }
    return true;
}

static size_t keep(struct check_report *r, struct slice s)
{
    size_t at = r->text.n;
    buf_slice_add(&r->text, s);
    return at;
}

void check_begin(struct check_report *r, const char *name, bool is_file)
{
    struct check_source *more = realloc(r->source, (r->n + 1) * sizeof *more);
    if (more == NULL) {
        r->failed = true;
        return;
    }
    r->source = more;
    r->source[r->n++] = (struct check_source){
        .name_at = keep(r, slice_of(name)), .name_n = strlen(name), .is_file = is_file};
}

void check_begin_session(struct check_report *r, const struct query_session *s)
{
    struct check_source *x = r->n > 0 ? &r->source[r->n - 1] : NULL;
    if (x == NULL)
        return;
    x->server_at = keep(r, s->name);
    x->server_n = s->name.n;
}

/* A message, and who knows more of it. */
struct subject {
    const struct query_message *m;
    check_why_fn why;
    void *ctx;
};

static bool list(struct check_report *r, struct check_source *x, const struct subject *s,
                 const struct finding_info *info, bool fails)
{
    const struct query_message *m = s->m;
    if (x->n == CHECK_MAX) {
        x->more++;
        return true;
    }
    if (!ROOM(x->found, x->n, x->cap))
        return false;
    struct slice method = m->method.p != NULL ? m->method : m->request_method;
    struct slice target = m->method.p != NULL ? m->target : m->request_target;
    x->found[x->n++] = (struct check_found){
        .name = info->name,
        .meaning = info->meaning,
        .severity = info->severity,
        .seq = m->seq,
        .from_client = slice_is(m->direction, "c2s"),
        .fails = fails,
        .method_at = keep(r, method),
        .method_n = method.n,
        .target_at = keep(r, target),
        .target_n = target.n,
        .why_at = r->text.n,
    };
    s->why(s->ctx, info, &r->text);
    x->found[x->n - 1].why_n = r->text.n - x->found[x->n - 1].why_at;
    return !r->text.failed;
}

static bool add(struct check_report *r, const struct subject *s, struct slice name)
{
    struct check_source *x = &r->source[r->n - 1];
    struct finding_info info;
    if (!finding_look(name, &info))
        return true; /* of a newer version: nothing is known of it */
    if ((r->left_findings & info.finding) != 0 || (r->left_rules & info.rule) != 0)
        return true;
    bool fails = (r->fail_findings & info.finding) != 0 || (r->fail_rules & info.rule) != 0 ||
                 r->fail_severity[info.severity];
    x->count[info.severity]++;
    x->failing += fails;
    r->failing += fails;
    return list(r, x, s, &info, fails);
}

static bool has(struct slice names, const char *name)
{
    struct slice word;
    while (next_word(&names, &word))
        if (slice_is(word, name))
            return true;
    return false;
}

bool check_add(struct check_report *r, const struct query_message *m, breaches broken,
               check_why_fn why, void *ctx)
{
    const struct subject s = {m, why, ctx};
    struct slice word, names = m->finding;
    if (r->n == 0 || r->failed)
        return false;
    r->source[r->n - 1].messages++;
    if (slice_is(m->direction, "c2s") ? !r->of_client : !r->of_server)
        return true;
    while (next_word(&names, &word))
        if (!slice_is(word, "own-request") && !add(r, &s, word))
            return false;
    for (int i = 0; broken >> i != 0; i++) {
        const char *name = rule_name((enum rule)i);
        if ((broken & RULE(i)) != 0 && !has(m->finding, name) && !add(r, &s, slice_of(name)))
            return false;
        if (i + 1 == RULE_COUNT)
            break;
    }
    return true;
}

struct slice check_name(const struct check_report *r, const struct check_source *x)
{
    return (struct slice){r->text.p + x->name_at, x->name_n};
}

void check_sentence(const struct check_report *r, const struct check_found *f, struct buf *b)
{
    if (f->why_n == 0) {
        buf_adds(b, f->meaning);
        return;
    }
    buf_add(b, f->meaning, strlen(f->meaning) - 1); /* without its full stop */
    buf_adds(b, ": ");
    buf_slice_add(b, (struct slice){r->text.p + f->why_at, f->why_n});
}

struct slice check_subject(const struct check_report *r, const struct check_found *f, struct buf *b)
{
    buf_clear(b);
    if (f->method_n > 0) {
        text_visible(b, (struct slice){r->text.p + f->method_at, f->method_n});
        if (f->target_n > 0) {
            buf_addc(b, ' ');
            text_visible(b, text_head((struct slice){r->text.p + f->target_at, f->target_n}, 200));
        }
    }
    return buf_slice(b);
}
