#include "vault/cassette/import.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "redact/form.h"
#include "redact/sanitizer.h"
#include "vault/query/reader.h"
#include "vault/store/writer.h"
#include "wire/json/text.h"
#include "wire/meta.h"
#include "wire/rpc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the digest of a recording --------------------------------------------------------------- */

/* The digest is FNV-1a with 64 bits, over the values of the session and of the messages, in order,
 * not over the bytes of the file. It recognizes a recording that is imported again; it does not
 * resist deliberate collisions. */
static uint64_t add_bytes_to_digest(uint64_t h, const void *bytes, size_t n)
{
    for (const unsigned char *p = bytes; n > 0; n--)
        h = (h ^ *p++) * 1099511628211u;
    return h;
}

static uint64_t add_int_to_digest(uint64_t h, int64_t v)
{
    return add_bytes_to_digest(h, &v, sizeof v);
}

/* Adds the length of a text and the text to the digest. A missing text gives another digest than
 * any text. */
static uint64_t add_text_to_digest(uint64_t h, struct slice s)
{
    h = add_int_to_digest(h, s.p != NULL ? (int64_t)s.n : -1);
    return s.p != NULL ? add_bytes_to_digest(h, s.p, s.n) : h;
}

/* Adds to the digest a text that older versions of the format do not have. If the text is missing,
 * the digest does not change. */
static uint64_t add_text_to_digest_if_present(uint64_t h, struct slice s)
{
    return s.p != NULL ? add_text_to_digest(h, s) : h;
}

static uint64_t import_digest_session(const struct query_session *s)
{
    uint64_t h = 14695981039346656037u;
    h = add_text_to_digest(h, s->name);
    h = add_text_to_digest(h, s->command);
    h = add_text_to_digest(h, s->end_reason);
    h = add_int_to_digest(h, s->started_at_us);
    h = add_int_to_digest(h, s->ended_at_us);
    return add_text_to_digest_if_present(h, s->tools_rule);
}

/* Adds a message to the digest. h: digest of everything before this message. */
static uint64_t import_digest_message(uint64_t h, const struct query_message *m)
{
    h = add_int_to_digest(h, m->seq);
    h = add_int_to_digest(h, m->t_us);
    h = add_int_to_digest(h, m->direction);
    h = add_int_to_digest(h, m->origin);
    h = add_int_to_digest(h, m->kind);
    h = add_int_to_digest(h, m->action);
    h = add_int_to_digest(h, m->size);
    h = add_int_to_digest(h, m->request_seq);
    h = add_text_to_digest(h, m->finding);
    h = add_text_to_digest(h, m->body);
    return add_text_to_digest_if_present(h, m->revision);
}

/* ---- the import ------------------------------------------------------------------------------ */

struct import {
    struct vault_dir dir;
    struct writer *writer; /* owned */
    char uid[UID_LEN + 1];
    uint64_t digest; /* digest of the records imported so far */
    int64_t id;      /* id of the session in the vault */
    int64_t started_us, last_t_us;
    int64_t messages;      /* number of messages imported so far */
    bool began, committed; /* `began`: the transaction was begun; `committed`: it was committed */
    /* true: another program made the recording, so its records are not sanitized yet */
    bool sanitizes;
    /* forms that the server asks the user to fill in; used only if the import sanitizes */
    struct forms forms;
    struct buf hidden; /* owned; the user's last answer to a form, with its secrets replaced */
    /* the fields of the session that are known so far; their texts are in `learnt` */
    struct session_update known;
    /* owned; the texts of `known`; an empty text: the field is not known yet */
    struct buf learnt[FIELDS_OF_UPDATE];
    struct buf method, target; /* owned; texts of the current message, as JSON with escapes */
    struct buf origin;         /* owned; result of import_set_event_members() */
    struct buf error;          /* owned */
};

static int import_fail(struct import *d, int st)
{
    buf_clear(&d->error);
    if (st == MI_ENOMEM)
        buf_adds(&d->error, "out of memory");
    else
        buf_printf(&d->error, "cannot write to %s/" VAULT_DB ": %s", d->dir.path,
                   writer_error(d->writer));
    return st;
}

const char *import_error_text(const struct import *d)
{
    return d->error.n > 0 && !d->error.failed ? d->error.p : "out of memory";
}

int import_open(struct import **ret, const char *vault, struct buf *error)
{
    struct import *d = calloc(1, sizeof *d);
    if (d == NULL)
        return MI_ENOMEM;
    int st = vault_dir_open(&d->dir, vault, true, error);
    if (st == 0)
        st = writer_open(&d->writer, &d->dir, false, error);
    if (st < 0) {
        import_close(d);
        return st == MI_EPROTO ? MI_ESTORE : st;
    }
    writer_make_lost_bodies_fatal(d->writer);
    *ret = d;
    return 0;
}

/* Removes the session's file of large bodies. A rollback does not remove it. */
static void import_remove_bodies(struct import *d)
{
    int dir = vault_dir_open_sub(d->dir.fd, VAULT_BODIES, false);
    if (dir < 0)
        return;
    (void)unlinkat(dir, d->uid, 0);
    close(dir);
}

void import_close(struct import *d)
{
    if (d == NULL)
        return;
    if (d->began && !d->committed) {
        writer_rollback(d->writer);
        import_remove_bodies(d);
    }
    writer_close(d->writer);
    vault_dir_close(&d->dir);
    for (int i = 0; i < FIELDS_OF_UPDATE; i++)
        buf_close(&d->learnt[i]);
    buf_close(&d->hidden);
    buf_close(&d->method);
    buf_close(&d->target);
    buf_close(&d->origin);
    buf_close(&d->error);
    free(d);
}

/* ---- the session ---- */

static void import_set_text_if_missing(struct import *d, int i, struct slice text)
{
    if (text.p != NULL && d->learnt[i].n == 0)
        buf_slice_add(&d->learnt[i], text);
}

#define LEARN(name, type, null, since, evidence, cassette, store, json, journal)                   \
    FIELD_IF(FIELD_UPDATE_##journal)                                                               \
    (FIELD_EITHER(FIELD_NUMBER_##type, d->known.name = s->name,                                    \
                  import_set_text_if_missing(d, UPDATE_AT_##name, s->name));)

int import_session(struct import *d, const struct query_session *s, const char *name)
{
    struct buf rules = {0};
    SESSION_FIELDS(LEARN)
    d->known.has_exit_status = s->has_exit_status && s->exit_status <= INT_MAX;
    d->started_us = s->started_at_us != 0 ? s->started_at_us : clock_wall_us();
    d->digest = import_digest_session(s);
    d->sanitizes = s->redact_rules.p == NULL && redact_get_current_sanitizer() != NULL;
    if (d->sanitizes)
        redact_write_rules(redact_get_current_sanitizer(), &rules);
    int st = uid_make(d->started_us, d->uid);
    struct session_record n = {
        .uid = slice_of(d->uid),
        .name = name != NULL ? slice_of(name) : s->name,
        .command = s->command,
        .host = slice_of(""),
        .record_level = s->record_level,
        .redact_rules = rules.n > 0 ? buf_slice(&rules) : s->redact_rules,
        .tools_rule = s->tools_rule,
        .started_at_us = d->started_us,
    };
    if (rules.failed)
        st = MI_ENOMEM;
    if (st == 0)
        st = writer_begin(d->writer, IMPORT_WAIT_US);
    d->began = st == 0;
    if (st == 0)
        st = writer_add_session(d->writer, &n, &d->id);
    buf_close(&rules);
    return st < 0 ? import_fail(d, st) : 0;
}

void import_set_event_members(struct import *d, struct slice members)
{
    buf_clear(&d->origin);
    buf_addc(&d->origin, ',');
    buf_slice_add(&d->origin, members);
}

/* Adds the event `imported`. Returns 1 if an earlier session has the same event. */
static int import_add_event(struct import *d, struct slice detail)
{
    int64_t id;
    char uid[UID_LEN + 1];
    int st = writer_find_session_of_event(d->writer, "imported", detail, &id, uid);
    if (st == 0) {
        writer_rollback(d->writer);
        import_remove_bodies(d);
        d->began = false;
        d->id = id;
        memcpy(d->uid, uid, sizeof uid);
        return 1;
    }
    struct row r = {.event = "imported", .body = detail};
    if (st == MI_ENOENT)
        st = writer_add_row(d->writer, d->id, d->uid, &r);
    return st < 0 ? import_fail(d, st) : 0;
}

int import_commit(struct import *d)
{
    struct buf detail = {0};
    buf_printf(&detail, "{\"digest\":\"%016llx\"", (unsigned long long)d->digest);
    buf_slice_add(&detail, buf_slice(&d->origin));
    buf_addc(&detail, '}');
    int found = detail.failed || d->origin.failed ? import_fail(d, MI_ENOMEM)
                                                  : import_add_event(d, buf_slice(&detail));
    buf_close(&detail);
    if (found != 0)
        return found;
    struct session_update u = d->known;
    for (int i = 0; i < FIELDS_OF_UPDATE; i++) {
        if (d->learnt[i].failed)
            return import_fail(d, MI_ENOMEM);
        if (d->learnt[i].n > 0)
            *field_get_text_in_record(&fields_of_update.list[i], &u) = buf_slice(&d->learnt[i]);
    }
    /* Start time plus duration may overflow, because a file may contain any numbers. */
    if (u.ended_at_us == 0 && __builtin_add_overflow(d->started_us, d->last_t_us, &u.ended_at_us))
        u.ended_at_us = d->started_us;
    int st = writer_update_session(d->writer, d->id, &u);
    if (st == 0)
        st = writer_commit(d->writer);
    if (st < 0)
        return import_fail(d, st);
    d->committed = true;
    /* Checkpoint now, because a long session makes the write-ahead log long. */
    if (writer_checkpoint_wal(d->writer) < 0)
        log_debug("checkpoint postponed: %s", writer_error(d->writer));
    return 0;
}

/* ---- messages ---- */

static void import_set_missing_text(struct import *d, int i, struct json_value v)
{
    if (v.type == JSON_STRING && d->learnt[i].n == 0)
        json_unescape(&d->learnt[i], json_string_raw(v));
}

/* Reads name and version of the client or server. name: index of the field for the name; the next
 * field is the version. */
static void import_read_name_version(struct import *d, int name, struct json_value info)
{
    import_set_missing_text(d, name, json_get(info, "name"));
    import_set_missing_text(d, name + 1, json_get(info, "version"));
}

/* Reads the names and versions of client and server, which the first messages contain (mcp-wire.md
 * 3.1 and 3.3). */
static void import_read_session_info(struct import *d, const struct query_message *m)
{
    struct rpc r;
    bool is_request = m->kind == KIND_REQUEST && m->direction == ROW_C2S;
    bool is_result = m->kind == KIND_RESULT && m->has_request;
    if ((!is_request && !is_result) ||
        (d->learnt[UPDATE_AT_client_name].n > 0 && d->learnt[UPDATE_AT_server_name].n > 0))
        return;
    if (m->body.p == NULL || rpc_read(m->body, &r) < 0)
        return;
    if (is_request && slice_is(m->method, "initialize")) {
        import_read_name_version(d, UPDATE_AT_client_name, json_get(r.params, "clientInfo"));
    } else if (is_request && rpc_is_modern(&r)) {
        import_read_name_version(d, UPDATE_AT_client_name, json_get(r.meta, META_CLIENT));
        import_set_missing_text(d, UPDATE_AT_protocol_version, json_get(r.meta, META_VERSION));
    } else if (is_result && slice_is(m->request_method, "initialize")) {
        import_read_name_version(d, UPDATE_AT_server_name, json_get(r.result, "serverInfo"));
        import_set_missing_text(d, UPDATE_AT_protocol_version,
                                json_get(r.result, "protocolVersion"));
    } else if (is_result && r.result_meta.type == JSON_OBJECT) {
        import_read_name_version(d, UPDATE_AT_server_name, json_get(r.result_meta, META_SERVER));
    }
}

/* Returns the text with JSON escapes; texts in rows have this form. */
static struct slice escape_as_json_text(struct buf *b, struct slice text)
{
    if (text.p == NULL || memchr(text.p, '\\', text.n) == NULL)
        return text;
    buf_clear(b);
    text_append_json(b, text);
    return b->n >= 2 ? (struct slice){b->p + 1, b->n - 2} : (struct slice){0};
}

/* Sets the findings and rules of a row from their names. Skips names that this version does not
 * know. */
static void import_read_findings(struct slice names, struct row *r)
{
    struct finding_info info;
    while (names.n > 0) {
        const char *comma = memchr(names.p, ',', names.n);
        size_t n = comma != NULL ? (size_t)(comma - names.p) : names.n;
        if (finding_by_name((struct slice){names.p, n}, &info)) {
            r->findings |= info.finding;
            r->rules |= info.rule;
        }
        n += comma != NULL;
        names = (struct slice){names.p + n, names.n - n};
    }
}

/* In a message of the server, stores which form the server asks the user to fill in. In a message
 * of the client, replaces the secrets in the answer to a form. */
static int import_hide_form_secrets(struct import *d, const struct query_message *m, struct row *r)
{
    struct rpc x;
    size_t n = 0;
    if (!d->sanitizes || m->body.p == NULL || m->kind == KIND_STDERR)
        return 0;
    bool from_client = m->direction == ROW_C2S;
    if (rpc_read(m->body, &x) == 0)
        (void)forms_read_rpc(&d->forms, redact_get_current_sanitizer(), &x, from_client);
    int st = from_client ? forms_hide_secrets(&d->forms, m->body, &d->hidden, &n) : 0;
    if (n > 0)
        r->body = buf_slice(&d->hidden);
    r->redactions += n;
    return st;
}

int import_message(struct import *d, const struct query_message *m)
{
    struct row r = {
        .kind = m->kind,
        .seq = (uint64_t)m->seq,
        .t_us = m->t_us,
        .direction = m->direction,
        .origin = m->origin,
        .action = m->action,
        .rpc_id = m->rpc_id,
        .method = escape_as_json_text(&d->method, m->method),
        .target = escape_as_json_text(&d->target, m->target),
        .body = m->body,
        .size = (size_t)m->size,
        .request_seq = (uint64_t)m->request_seq,
        .has_error_code = m->has_error_code,
        .error_code = m->error_code,
        .batch_seq = (uint64_t)m->batch_seq,
        .redactions = (uint64_t)m->redactions,
        .revision = m->revision,
        .may_link = true,
    };
    import_read_findings(m->finding, &r);
    struct json_scan scan;
    if (m->body.p != NULL && (m->kind == KIND_NOISE || m->kind == KIND_STDERR))
        r.not_json = json_scan(m->body, NULL, NULL, &scan) != 0;
    if (import_hide_form_secrets(d, m, &r) < 0 || d->method.failed || d->target.failed)
        return import_fail(d, MI_ENOMEM);
    import_read_session_info(d, m);
    d->digest = import_digest_message(d->digest, m);
    d->last_t_us = m->t_us;
    d->messages++;
    int st = writer_add_row(d->writer, d->id, d->uid, &r);
    return st < 0 ? import_fail(d, st) : 0;
}

int64_t import_get_session_id(const struct import *d)
{
    return d->id;
}

const char *import_get_session_uid(const struct import *d)
{
    return d->uid;
}

int64_t import_messages(const struct import *d)
{
    return d->messages;
}
