/* check.h - the findings of recordings, gathered and written as text, JSON, JUnit XML or SARIF.
 *
 * Owns      all that was added; check_close() frees it. Of each recording CHECK_MAX findings are listed, all
 *           are counted.
 * Errors    want of memory: check_add() says false, check_write() leaves the buffer failed.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_H
#define MI_CLI_CHECK_H

#include "vault/query.h"
#include "wire/rule.h"

#define CHECK_MAX 10000

struct check_found {
    const char *name; /* static, or of a newer version: then in the text */
    const char *meaning;
    enum severity severity;
    int64_t seq;
    bool from_client, fails;
    size_t method_at, method_n, target_at, target_n, why_at, why_n; /* in the text */
};

struct check_source {
    size_t name_at, name_n; /* in the text: a file, or the uid of a session */
    size_t server_at, server_n;
    bool is_file;
    struct check_found *found; /* owned */
    size_t n, cap, more;
    size_t count[3], failing; /* by severity */
    int64_t messages;
};

struct check_report {
    struct check_source *source; /* owned */
    size_t n;
    struct buf text;        /* owned */
    findings fail_findings; /* what fails: by name … */
    breaches fail_rules;
    bool fail_severity[3];  /* … or by severity */
    findings left_findings; /* what is left out */
    breaches left_rules;
    bool of_client, of_server; /* whose findings count */
    size_t failing;
    bool failed; /* no memory */
};

void check_open(struct check_report *r);
void check_close(struct check_report *r);
/* "error,bom": names, severities, or none. False: a word is neither, with a sentence in error. */
bool check_fail_on(struct check_report *r, const char *list, struct buf *error);
/* "crlf,unknown-method": names of findings that are left out. The same. */
bool check_ignore(struct check_report *r, const char *list, struct buf *error);
/* A recording begins; then its header is known. */
void check_begin(struct check_report *r, const char *name, bool is_file);
void check_begin_session(struct check_report *r, const struct query_session *s);
/* What more there is to say of a finding of the message at hand, as people may see it: appended. */
typedef void (*check_why_fn)(void *ctx, const struct finding_info *info, struct buf *b);
/* A message of it: what it was found to be when it passed, and what is found now. */
MI_MUST bool check_add(struct check_report *r, const struct query_message *m, breaches broken,
                       check_why_fn why, void *ctx);
/* "text", "json", "junit" or "sarif". */
void check_write(const struct check_report *r, const char *format, struct buf *b);

#endif
