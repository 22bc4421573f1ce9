#include "cli/check/findings.h"

#include "base/grow.h"
#include "base/text.h"
#include "cli/settings/paths.h"
#include "model/context.h"

#include <stdlib.h>

void check_report_open(struct check_report *r)
{
    *r = (struct check_report){
        .of_client = true, .of_server = true, .large_result = CONTEXT_LARGE_RESULT, .tokens = -1};
}

void check_report_close(struct check_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->recordings[i].findings);
    free(r->recordings);
    buf_close(&r->text);
}

static bool is_blank_char(char c)
{
    return c == ' ' || c == '\t';
}

/* Removes the first word from a list such as "error, bom", and returns the word in *ret. Returns
 * false at the end of the list. */
static bool cut_first_list_word(struct slice *list, struct slice *ret)
{
    while (list->n > 0 && (*list->p == ',' || is_blank_char(*list->p)))
        *list = (struct slice){list->p + 1, list->n - 1};
    if (list->n == 0)
        return false;
    const char *comma = memchr(list->p, ',', list->n);
    *ret = (struct slice){list->p, comma != NULL ? (size_t)(comma - list->p) : list->n};
    *list = (struct slice){ret->p + ret->n, list->n - ret->n};
    while (is_blank_char(ret->p[ret->n - 1]))
        ret->n--;
    return true;
}

static int severity_by_name(struct slice word)
{
    for (int s = SEVERITY_NOTE; s <= SEVERITY_ERROR; s++)
        if (slice_is(word, severity_name((enum severity)s)))
            return s;
    return -1;
}

static bool fail_unknown_finding(struct slice word, struct buf *error)
{
    char *list = path_find_document("findings.md");
    buf_printf(error, "unknown finding '%.*s'; %s lists them", (int)word.n, word.p,
               list != NULL ? list : "findings.md");
    free(list);
    return false;
}

bool check_set_failing_findings(struct check_report *r, const char *list, struct buf *error)
{
    struct slice word, rest = slice_of(list);
    struct finding_info info;
    while (cut_first_list_word(&rest, &word)) {
        int s = severity_by_name(word);
        if (s >= 0) {
            /* a severity in the list includes all higher severities */
            for (; s <= SEVERITY_ERROR; s++)
                r->fail_severity[s] = true;
        } else if (finding_by_name(word, &info)) {
            r->fail_findings |= info.finding;
            r->fail_rules |= info.rule;
        } else if (!slice_is(word, "none")) {
            return fail_unknown_finding(word, error);
        }
    }
    return true;
}

bool check_set_ignored_findings(struct check_report *r, const char *list, struct buf *error)
{
    struct slice word, rest = slice_of(list);
    struct finding_info info;
    while (cut_first_list_word(&rest, &word)) {
        if (!finding_by_name(word, &info)) {
            return fail_unknown_finding(word, error);
        }
        r->ignored_findings |= info.finding;
        r->ignored_rules |= info.rule;
    }
    return true;
}

static struct check_text store_report_text(struct check_report *r, struct slice s)
{
    struct check_text t = {r->text.n, s.n};
    buf_slice_add(&r->text, s);
    return t;
}

void check_report_add_recording(struct check_report *r, struct slice name, int64_t session_id,
                                size_t uid_shown)
{
    struct check_recording *more = realloc(r->recordings, (r->n + 1) * sizeof *more);
    if (more == NULL) {
        r->failed = true;
        return;
    }
    r->recordings = more;
    r->recordings[r->n++] = (struct check_recording){
        .name = store_report_text(r, name), .session_id = session_id, .uid_shown = uid_shown};
}

void check_report_set_server(struct check_report *r, struct slice name)
{
    if (r->n > 0)
        r->recordings[r->n - 1].server = store_report_text(r, name);
}

/* A message, and the caller's function that adds details. */
struct subject {
    const struct query_message *m;
    check_detail_fn detail;
    void *ctx;
};

static bool list_finding_of_message(struct check_report *r, struct check_recording *x,
                                    const struct subject *s, const struct finding_info *info,
                                    bool fails)
{
    const struct query_message *m = s->m;
    if (x->n == CHECK_MAX) {
        x->not_listed++;
        return true;
    }
    if (!GROW(x->findings, x->n, x->cap))
        return false;
    bool has_method = m->method.p != NULL;
    struct check_finding *f = &x->findings[x->n++];
    *f = (struct check_finding){
        .name = info->name,
        .meaning = info->meaning,
        .remedy = info->remedy,
        .severity = info->severity,
        .seq = m->seq,
        .from_client = m->direction == ROW_C2S,
        .fails = fails,
        .method = store_report_text(r, has_method ? m->method : m->request_method),
        .target = store_report_text(r, has_method ? m->target : m->request_target),
    };
    f->detail.at = r->text.n;
    s->detail(s->ctx, info, &r->text);
    f->detail.n = r->text.n - f->detail.at;
    return !r->text.failed;
}

/* Counts and lists a finding, unless it is ignored. also: other findings of the
 * message, which are not listed because this finding covers them; if --fail-on names one of them,
 * this finding makes the check fail. */
static bool add_finding(struct check_report *r, const struct subject *s, struct slice name,
                        findings also)
{
    struct check_recording *x = &r->recordings[r->n - 1];
    struct finding_info info;
    if (!finding_by_name(name, &info))
        return true; /* unknown finding: recorded by a newer version of this program */
    if ((r->ignored_findings & info.finding) != 0 || (r->ignored_rules & info.rule) != 0)
        return true;
    bool fails = (r->fail_findings & (info.finding | also)) != 0 ||
                 (r->fail_rules & info.rule) != 0 || r->fail_severity[info.severity];
    x->count[info.severity]++;
    x->failing += fails;
    r->failing += fails;
    return list_finding_of_message(r, x, s, &info, fails);
}

static bool list_has_word(struct slice names, const char *name)
{
    struct slice word;
    while (cut_first_list_word(&names, &word))
        if (slice_is(word, name))
            return true;
    return false;
}

bool check_report_add_message(struct check_report *r, const struct query_message *m,
                              breaches broken, check_detail_fn detail, void *ctx)
{
    const struct subject s = {m, detail, ctx};
    struct slice word, names = m->finding;
    if (r->n == 0 || r->failed)
        return false;
    r->recordings[r->n - 1].messages++;
    if (m->direction == ROW_C2S ? !r->of_client : !r->of_server)
        return true;
    /* cut-json, not-json and malformed-answer describe the same fault: only the first of these
     * findings that is recorded and not ignored is listed */
    bool cut = list_has_word(names, "cut-json") && !(r->ignored_findings & FINDING(FIND_CUT_JSON));
    bool not_json = cut || (list_has_word(names, "not-json") &&
                            !(r->ignored_findings & FINDING(FIND_NOT_JSON)));
    findings also = (cut ? FINDING(FIND_NOT_JSON) : 0) |
                    (list_has_word(names, "malformed-answer") ? FINDING(FIND_MALFORMED_ANSWER) : 0);
    while (cut_first_list_word(&names, &word)) {
        bool is_cut = slice_is(word, "cut-json"), is_not_json = slice_is(word, "not-json");
        if (slice_is(word, "own-request") || (is_not_json && cut) ||
            (not_json && slice_is(word, "malformed-answer")) ||
            (slice_is(word, "large-result") && r->tokens >= 0 && r->tokens <= r->large_result))
            continue;
        if (!add_finding(r, &s, word, is_cut || is_not_json ? also : 0))
            return false;
    }
    for (int i = 0; i < RULE_COUNT; i++) {
        if ((broken & RULE(i)) == 0)
            continue;
        const char *name = rule_name((enum rule)i);
        if (!list_has_word(m->finding, name) && !add_finding(r, &s, slice_of(name), 0))
            return false;
    }
    return true;
}

/* ---- for writing the report ---- */

bool check_report_has_failed(const struct check_report *r)
{
    return r->failed || r->text.failed;
}

struct slice check_report_get_text(const struct check_report *r, struct check_text t)
{
    return t.n > 0 ? (struct slice){r->text.p + t.at, t.n} : slice_of("");
}

const char *finding_sender_name(const struct check_finding *f)
{
    return f->from_client ? "client" : "server";
}

void check_report_append_sentence(const struct check_report *r, const struct check_finding *f,
                                  struct buf *b)
{
    if (f->detail.n == 0) {
        buf_adds(b, f->meaning);
        return;
    }
    /* the meaning of the finding, without its full stop */
    buf_add(b, f->meaning, strlen(f->meaning) - 1);
    buf_adds(b, ": ");
    buf_slice_add(b, check_report_get_text(r, f->detail));
}

void check_report_append_message_name(const struct check_report *r, const struct check_finding *f,
                                      const char *before, const char *after, struct buf *b)
{
    if (f->method.n == 0)
        return;
    buf_adds(b, before);
    text_append_visible(b, check_report_get_text(r, f->method));
    buf_adds(b, f->target.n > 0 ? " " : "");
    text_append_visible(b, text_prefix(check_report_get_text(r, f->target), 200));
    buf_adds(b, after);
}
