#include "cli/frame/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "record/process/orphans.h"
#include "vault/store/running.h"
#include "vault/store/running_lock.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

bool session_is_of_this_host(const struct query_session *s)
{
    return running_session_is_on_this_host(s->host);
}

enum session_state session_determine_state(struct query *q, const struct query_session *s)
{
    struct running_session x = {.id = s->id,
                                .started_at_us = s->started_at_us,
                                .ended = s->ended_at_us != 0,
                                .host = s->host,
                                .r.pid = s->pid > 0 && s->pid <= INT_MAX ? (pid_t)s->pid : 0};
    int lock = -1;
    if (!x.ended && !query_is_store(q)) {
        struct running r;
        lock = running_lock_open_existing(query_dir_fd(q));
        if (query_read_running_processes(q, s->id, &r) == 0)
            x.r = r;
    }
    enum session_state state = get_running_session_state(&x, lock);
    if (lock >= 0)
        close(lock);
    return state;
}

bool session_is_running(struct query *q, const struct query_session *s)
{
    return session_determine_state(q, s) == SESSION_LIVE;
}

/* How a command reads a vault. */
struct reading {
    int (*query)(struct query **ret, const char *vault, struct buf *error);
    bool closes; /* true: the sessions of killed proxies are closed before the vault is read */
};
static const struct reading with_closing = {query_open, true};

static int open_query_at_path(const struct reading *how, const struct settings *s, const char *path,
                              struct query **ret, struct buf *error)
{
    orphans_store_all(path, NULL,
                      NULL); /* stores the messages that killed sessions left in journals */
    int st = how->query(ret, path, error);
    if (st == 0 && how->closes && query_has_running_session(*ret))
        /* dead sessions cannot be closed if the vault is not writable; this is not an error */
        (void)running_list_close_dead_sessions(path);
    bool named = opt_get_source(&s->set, "vault") == OPT_FLAG;
    if (st == MI_ENOENT && (!named || access(path, F_OK) == 0))
        st = query_open_empty_vault(ret, path);
    return st < 0 && st != MI_ENOMEM ? MI_EIO : st;
}

int session_vault_open_at_path(const struct settings *s, const char *path, struct query **ret,
                               struct buf *error)
{
    return open_query_at_path(&with_closing, s, path, ret, error);
}

static session_store_fn open_store;
static struct session_wait store_wait;

static bool setting_is_set_by_flag(const struct settings *s, const char *name)
{
    return opt_get_source(&s->set, name) == OPT_FLAG;
}

const char *session_get_store_url(const struct settings *s)
{
    if (!settings_has_option(s, "from") ||
        (setting_is_set_by_flag(s, "vault") && !setting_is_set_by_flag(s, "from")))
        return NULL;
    return settings_get_text(s, "from");
}

/* Whether --host or --user is given without a store. If the flag --vault overrides a URL of the
 * environment, --host and --user of the environment belong to that URL and are ignored. */
static bool option_lacks_its_store(const struct settings *s, const char *name)
{
    return settings_get_text(s, name) != NULL &&
           (settings_get_text(s, "from") == NULL || setting_is_set_by_flag(s, name));
}

void session_set_store(session_store_fn open)
{
    open_store = open;
}

void session_set_store_wait_hooks(struct session_wait w)
{
    store_wait = w;
}

struct session_wait session_get_store_wait_hooks(void)
{
    return store_wait;
}

static int open_configured_vault(const struct reading *how, const struct settings *s,
                                 struct query **ret)
{
    char *path = settings_get_vault_path(s);
    if (path == NULL)
        return EXIT_TROUBLE;
    struct buf error = {0};
    int st = open_query_at_path(how, s, path, ret, &error);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    buf_close(&error);
    free(path);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

int session_vault_open(const struct settings *s, struct query **ret)
{
    if (session_get_store_url(s) != NULL && open_store != NULL)
        return open_store(s, ret);
    if (settings_has_option(s, "from") &&
        (option_lacks_its_store(s, "host") || option_lacks_its_store(s, "user")))
        return settings_fail_usage(s, "--host and --user need --from");
    return open_configured_vault(&with_closing, s, ret);
}

int session_vault_open_without_reaping(const struct settings *s, struct query **ret)
{
    return open_configured_vault(&(struct reading){query_open, false}, s, ret);
}

int session_vault_open_for_verify(const struct settings *s, struct query **ret)
{
    return open_configured_vault(&(struct reading){query_open_any_schema, false}, s, ret);
}

bool session_vault_is_empty(struct query *q)
{
    int64_t newest = 0;
    return query_newest_session(q, &newest) == 0 && newest == 0;
}

void session_warn_empty_list(struct query *q, const char *what)
{
    if (session_vault_is_empty(q))
        log_warn(query_is_store(q) ? QUERY_NOTHING_IN_STORE : QUERY_NOTHING_YET, query_vault(q));
    else
        log_warn("%s in %s", what, query_vault(q));
}

int session_run_command(const struct settings *s, session_work_fn work)
{
    struct query *q;
    int status = session_vault_open(s, &q);
    if (status != EXIT_FINE)
        return status;
    status = work(q, s);
    query_close(q);
    return status;
}

int session_report_query_error(struct query *q, int status)
{
    log_error("%s", status == MI_ENOMEM ? "out of memory" : query_error(q));
    return EXIT_TROUBLE;
}

int session_read_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
                      struct buf *b, struct slice *ret, const char **ret_error)
{
    *ret = m->body;
    *ret_error = NULL;
    if (!m->is_large)
        return 0;
    buf_clear(b);
    int st = query_body(q, uid, m, max, b);
    *ret = st == 0 ? buf_slice(b) : (struct slice){0};
    if (st != MI_EIO)
        return st;
    *ret_error = query_error(q);
    return 0;
}

struct slice session_get_uid_prefix(const struct query_session *s, size_t min)
{
    size_t n = s->uid_unique > min ? s->uid_unique : min;
    return text_prefix(s->uid, n);
}

int session_read_view(struct query *q, const struct query_session *s, bool lines,
                      struct session_view *ret)
{
    struct session_view v = {.state = session_determine_state(q, s)};
    int st = query_session_is_made_by_send(q, s->id, &v.sent);
    if (st == 0)
        st = query_summary(q, s->id, lines, &v.summary);
    if (st == 0 && lines)
        st = operation_list_read(&v.operations, q, s->id);
    if (st < 0) {
        session_close(&v);
        return st;
    }
    if (v.state == SESSION_ENDED)
        v.lasted_us = s->ended_at_us - s->started_at_us;
    else if (v.state == SESSION_LIVE)
        v.lasted_us = clock_wall_us() - s->started_at_us;
    else
        v.lasted_us = v.summary.last_t_us;
    if (v.lasted_us < 0)
        v.lasted_us = 0; /* the duration was negative, because the wall clock was set back */
    *ret = v;
    return 0;
}

void session_close(struct session_view *v)
{
    query_summary_close(&v->summary);
    operation_list_close(&v->operations);
}

const char *session_state_name(enum session_state state)
{
    static const char *const names[] = {"ended", "live", "died", "elsewhere"};
    return names[state];
}

const char *session_evidence_name(enum query_evidence e)
{
    static const char *const names[] = {
        [EVIDENCE_NONE] = "not covered",
        [EVIDENCE_OPEN] = "not sealed",
        [EVIDENCE_SEALED] = "sealed",
    };
    return names[e];
}

void session_append_end_reason(struct buf *b, const struct query_session *s,
                               enum session_state state)
{
    if (state == SESSION_ENDED && s->end_reason.p != NULL)
        buf_slice_add(b, s->end_reason);
    else
        buf_adds(b, session_state_name(state));
    if (s->has_exit_status && s->exit_status != 0)
        buf_printf(b, " %lld", (long long)s->exit_status);
}

int session_describe(struct query *q, const struct query_session *s, struct buf *b)
{
    int64_t messages = 0, event = 0;
    int st = query_read_last_seq_and_event(q, s->id, &messages, &event);
    if (st < 0)
        return st;
    buf_printf(b, "session %lld of %.*s (%s, %lld message%s)", (long long)s->number, (int)s->name.n,
               s->name.p, clock_format_local_time(s->started_at_us).s, (long long)messages,
               messages == 1 ? "" : "s");
    return b->failed ? MI_ENOMEM : 0;
}

int64_t session_count_errors(const int64_t by_status[CALL_UNKNOWN])
{
    int64_t n = 0;
    for (int i = 0; i < CALL_UNKNOWN; i++)
        n += call_status_failed((enum call_status)i) ? by_status[i] : 0;
    return n;
}

bool session_has_failed(const struct query_session *s, const struct session_view *v)
{
    return v->state == SESSION_DIED || (s->has_exit_status && s->exit_status != 0) ||
           session_count_errors(v->summary.ended_as) > 0 ||
           session_count_errors(v->summary.by_status) > 0;
}

bool session_message_is_answer(const struct query_message *m)
{
    return query_message_is_answer(m);
}

struct slice session_method_of_message(const struct query_message *m)
{
    return query_method_of_message(m);
}

struct slice session_target_of_message(const struct query_message *m)
{
    return query_target_of_message(m);
}

enum out_style session_status_style(enum call_status status)
{
    return status == CALL_OK ? OUT_GREEN : call_status_failed(status) ? OUT_RED : OUT_YELLOW;
}

enum call_status session_status_of_message(const struct query_message *m)
{
    return message_status(m->kind, m->action, m->origin, m->finding, m->request_action);
}
