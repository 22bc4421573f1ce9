/* findings.h - the findings of recordings, collected for one report.
 *
 * Owns      all recordings and findings; check_report_close() frees them. All findings are counted,
 *           but only the first CHECK_MAX of a recording are listed.
 * Errors    if memory runs out, `failed` or `text.failed` is true. check_report_has_failed() tests
 *           both.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_FINDINGS_H
#define MI_CLI_CHECK_FINDINGS_H

#include "vault/query/reader.h"
#include "wire/mcp/rule.h"

#define CHECK_MAX 10000

struct check_text { /* range of a text in check_report.text */
    size_t at, n;
};

struct check_finding {
    const char *name, *meaning, *remedy; /* static texts */
    enum severity severity;
    int64_t seq;
    bool from_client;
    bool fails; /* --fail-on names this finding, its severity, or a finding that it covers */
    /* method and target of the message (if it has no method, of its request), and details of the
     * finding; each may be empty */
    struct check_text method, target, detail;
};

struct check_recording {
    struct check_text name; /* the path of a file, or the uid of a session */
    struct check_text server;
    int64_t session_id;             /* id of the session; 0: the recording is a file */
    size_t uid_shown;               /* the number of characters of the uid that are printed */
    struct check_finding *findings; /* owned */
    size_t n, cap;
    size_t not_listed; /* number of findings after the first CHECK_MAX */
    size_t count[3];   /* number of findings, by severity */
    size_t failing;    /* number of findings that make the check fail */
    int64_t messages;  /* number of messages that the filter selects */
};

struct check_report {
    struct check_recording *recordings; /* owned */
    size_t n;
    struct buf text;        /* owned */
    findings fail_findings; /* names of findings that make the check fail */
    breaches fail_rules;
    bool fail_severity[3];     /* severities whose findings make the check fail */
    findings ignored_findings; /* findings that are neither listed nor counted */
    breaches ignored_rules;
    /* of_client: findings about messages of the client are reported; of_server: findings about
     * messages of the server are reported */
    bool of_client, of_server;
    int64_t large_result; /* an answer with more tokens than this has the finding large-result */
    /* number of tokens of the current message; -1: unknown: then large-result cannot be checked
     * again, and the recorded finding is reported */
    int64_t tokens;
    bool several;   /* several vaults are read, so a number does not identify a session */
    size_t failing; /* number of findings that make the check fail */
    bool failed;    /* memory has run out */
};

void check_report_open(struct check_report *r);
void check_report_close(struct check_report *r);
/* Reads a list like "error,bom": names of findings, severities, or "none". Returns false if a word
 * is unknown; error then names the word. */
bool check_set_failing_findings(struct check_report *r, const char *list, struct buf *error);
/* Reads a list like "crlf,unknown-method": the names of findings to ignore. Returns false if a word
 * is unknown; error then names the word. */
bool check_set_ignored_findings(struct check_report *r, const char *list, struct buf *error);
/* Adds a recording, to which check_report_add_message() then adds messages. The name of the server
 * is set later, when the header has been read. */
void check_report_add_recording(struct check_report *r, struct slice name, int64_t session_id,
                                size_t uid_shown);
void check_report_set_server(struct check_report *r, struct slice name);
/* Appends details about a finding of the current message as printable text. */
typedef void (*check_detail_fn)(void *ctx, const struct finding_info *info, struct buf *b);
/* Adds a message: the findings recorded with the message, and the rules that the message breaks.
 * Returns false if memory runs out. */
MI_MUST bool check_report_add_message(struct check_report *r, const struct query_message *m,
                                      breaches broken, check_detail_fn detail, void *ctx);

/* ---- for writing the report ---- */

bool check_report_has_failed(const struct check_report *r);
struct slice check_report_get_text(const struct check_report *r, struct check_text t);
/* Appends `before`, the method and target of the message, such as "tools/call echo", as printable
 * text, and `after`. If the message has no method, appends nothing. */
void check_report_append_message_name(const struct check_report *r, const struct check_finding *f,
                                      const char *before, const char *after, struct buf *b);
/* Appends the meaning of the finding, then its details. */
void check_report_append_sentence(const struct check_report *r, const struct check_finding *f,
                                  struct buf *b);
const char *finding_sender_name(const struct check_finding *f); /* returns "client" or "server" */

#endif
