/* findings.h - the findings of recordings, collected for one report.
 *
 * Owns      all recordings and findings; check_close() frees them. At most CHECK_MAX findings of a recording are
 *           listed; all are counted.
 * Errors    out of memory: `failed`, or `text.failed`, is true. check_failed() checks both.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_FINDINGS_H
#define MI_CLI_CHECK_FINDINGS_H

#include "vault/query/reader.h"
#include "wire/mcp/rule.h"

#define CHECK_MAX 10000

struct check_text { /* in check_report.text */
    size_t at, n;
};

struct check_finding {
    const char *name, *meaning, *remedy; /* static */
    enum severity severity;
    int64_t seq;
    bool from_client, fails;
    struct check_text method, target, detail; /* empty: none */
};

struct check_recording {
    struct check_text name; /* a file, or the uid of a session */
    struct check_text server;
    int64_t session_id;             /* 0: a file */
    size_t uid_shown;               /* characters of the uid that name the session */
    struct check_finding *findings; /* owned */
    size_t n, cap, not_listed;
    size_t count[3], failing; /* count: by severity */
    int64_t messages;
};

struct check_report {
    struct check_recording *recordings; /* owned */
    size_t n;
    struct buf text;        /* owned */
    findings fail_findings; /* these make the check fail: by name … */
    breaches fail_rules;
    bool fail_severity[3];     /* … or by severity */
    findings ignored_findings; /* neither listed nor counted */
    breaches ignored_rules;
    bool of_client, of_server; /* whose messages are checked */
    int64_t large_result;      /* tokens; answers with more have the finding large-result */
    int64_t tokens;            /* of the current message; -1: not known, then the recorded finding counts */
    bool several;              /* vaults are read: numbers do not name their sessions */
    size_t failing;
    bool failed; /* out of memory */
};

void check_open(struct check_report *r);
void check_close(struct check_report *r);
/* A list like "error,bom": names of findings, severities, or none. False: a word is unknown, and error names it. */
bool check_fail_on(struct check_report *r, const char *list, struct buf *error);
/* A list like "crlf,unknown-method": names of findings to ignore. False: as above. */
bool check_ignore(struct check_report *r, const char *list, struct buf *error);
/* Starts a recording. The server's name is set later, when the header has been read. */
void check_add_recording(struct check_report *r, struct slice name, int64_t session_id,
                         size_t uid_shown);
void check_set_server(struct check_report *r, struct slice name);
/* Appends details of a finding of the current message, as visible text. */
typedef void (*check_detail_fn)(void *ctx, const struct finding_info *info, struct buf *b);
/* Adds a message: the findings recorded with it, and the rules that it breaks. False: out of memory. */
MI_MUST bool check_add(struct check_report *r, const struct query_message *m, breaches broken,
                       check_detail_fn detail, void *ctx);

/* ---- for writing the report ---- */

bool check_failed(const struct check_report *r);
struct slice check_slice(const struct check_report *r, struct check_text t);
/* Appends the method and target, such as "tools/call echo", as visible text between two texts; nothing if the message has
 * no method. */
void check_subject(const struct check_report *r, const struct check_finding *f, const char *before,
                   const char *after, struct buf *b);
/* Appends the meaning of the finding, and its details. */
void check_sentence(const struct check_report *r, const struct check_finding *f, struct buf *b);
const char *check_sender(const struct check_finding *f); /* "client" or "server" */

#endif
