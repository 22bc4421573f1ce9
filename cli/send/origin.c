#include "cli/send/origin.h"

#include "base/grow.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/frame/session.h"
#include "cli/send/sent_sessions.h"
#include "replay/source/marks.h"
#include "wire/json/text.h"

#include <stdlib.h>
#include <sys/stat.h>

#define NAME_THE_SERVER "name the server's command after --"

/* ---- the session ---- */

/* Finds the session that `ref` names, and appends its UID. ref: NULL: the newest session that
 * `send` did not record, if there is one. */
static int find_session(struct query *q, const char *ref, struct buf *uid)
{
    struct query_session session;
    struct buf title = {0};
    bool named = false;
    int64_t id = 0;
    int st = ref != NULL ? query_reference_is_server_name(q, ref, &named) : 0;
    if (st == 0 && ref == NULL)
        st = sent_sessions_find_not_by_send(q, &id);
    if (st == 0)
        st = id != 0 ? query_session_by_id(q, id, &session) : query_session(q, ref, &session);
    if (st == 0) {
        buf_slice_add(uid, session.uid);
        st = uid->failed ? MI_ENOMEM : 0;
    }
    if (st == 0 && (ref == NULL || named || strcmp(ref, "last") == 0)) {
        st = session_describe(q, &session, &title);
        if (st == 0)
            log_note("the recording is %s", buf_str(&title));
    }
    buf_close(&title);
    return st < 0 ? session_report_query_error(q, st) : EXIT_FINE;
}

int origin_open_recording(struct origin *o, const struct settings *s, const char *session)
{
    struct buf uid = {0};
    struct query *q;
    int status = EXIT_FINE;
    if (!recording_is_file(session)) {
        status = session_vault_open(s, &q);
        if (status != EXIT_FINE)
            return status;
        status = find_session(q, session, &uid);
        query_close(q);
        session = buf_str(&uid);
    }
    if (status == EXIT_FINE)
        status = recording_open(&o->recording, s, session, NULL);
    if (status == EXIT_FINE)
        buf_slice_add(&o->name, source_info(o->recording.source)->name);
    buf_close(&uid);
    return status;
}

/* ---- its server ---- */

static bool append_command_word(struct origin *o, struct slice raw)
{
    struct buf b = {0};
    bool good = GROW(o->command, o->command_n, o->command_cap);
    if (raw.p != NULL) {
        json_unescape(&b, raw);
        buf_addc(&b, '\0');
    }
    good = good && !b.failed;
    if (good)
        o->command[o->command_n++] = b.p; /* without a word, b.p is NULL and ends the list */
    else
        buf_close(&b);
    return good;
}

static int origin_copy_command(struct origin *o, const struct query_session *session)
{
    struct json_value command = {JSON_ARRAY, session->command}, word;
    struct slice key;
    struct json_scan scan;
    if (query_session_is_imported(session)) {
        log_error("the session was imported: its command is not run; " NAME_THE_SERVER);
        return EXIT_USAGE;
    }
    if (!session_is_of_this_host(session)) {
        log_error("the session was recorded on the machine %.*s: its command is not "
                  "run; " NAME_THE_SERVER,
                  (int)session->host.n, session->host.p);
        return EXIT_USAGE;
    }
    if (session->command.p == NULL || json_scan(session->command, NULL, NULL, &scan) < 0 ||
        scan.type != JSON_ARRAY) {
        log_error("the session has no command; " NAME_THE_SERVER);
        return EXIT_USAGE;
    }
    if (marks_find_in_text(session->command) != MARKS_NONE) {
        log_error("a secret in the recorded command was not recorded: %.*s; " NAME_THE_SERVER,
                  (int)size_min(session->command.n, 500), session->command.p);
        return EXIT_USAGE;
    }
    bool good = true;
    for (struct json_walk w = json_walk_begin(command); good && json_walk_next(&w, &key, &word);) {
        if (word.type != JSON_STRING) {
            log_error("the recorded command is not a list of strings; " NAME_THE_SERVER);
            return EXIT_USAGE;
        }
        good = append_command_word(o, json_string_raw(word));
    }
    if (!good || !append_command_word(o, (struct slice){0})) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    return EXIT_FINE;
}

static void origin_set_server_directory(struct origin *o, const struct query_session *session)
{
    struct stat st;
    if (session->cwd.p == NULL)
        return;
    buf_slice_add(&o->dir, session->cwd);
    if (stat(buf_str(&o->dir), &st) == 0 && S_ISDIR(st.st_mode))
        return;
    struct buf shown = {0};
    text_append_visible(&shown, session->cwd);
    log_note("the directory in which the server ran does not exist: %s; the server is started in "
             "the current directory",
             buf_str(&shown));
    buf_close(&shown);
    buf_clear(&o->dir);
}

int origin_read_server_command(struct origin *o, const struct settings *s)
{
    struct query_session session;
    struct buf uid = {0};
    if (o->recording.query == NULL)
        return settings_fail_usage(s, "a cassette has no command; " NAME_THE_SERVER);
    buf_slice_add(&uid, o->recording.name);
    int st = query_session(o->recording.query, buf_str(&uid), &session);
    int status = st < 0 ? session_report_query_error(o->recording.query, st)
                        : origin_copy_command(o, &session);
    if (status == EXIT_FINE)
        origin_set_server_directory(o, &session);
    if (status == EXIT_FINE && o->command[0] == NULL)
        status = settings_fail_usage(s, "the session has no command; " NAME_THE_SERVER);
    buf_close(&uid);
    return status;
}

/* ---- its request ---- */

int origin_find_request(const struct settings *s, const struct live_session *t, int64_t seq,
                        uint32_t *ret_item)
{
    uint32_t i = t->n;
    while (i > 0 && source_seq_in_session((uint64_t)t->items[i - 1].place) != (uint64_t)seq)
        i--;
    if (i == 0)
        return settings_fail_usage(s, "--seq: the recording has no message %lld", (long long)seq);
    const struct recorded_message *it = &t->items[i - 1];
    for (uint32_t k = 0; k < t->n; k++)
        if (t->items[k].answer == i - 1 && t->items[k].from_client)
            return settings_fail_usage(
                s, "--seq: message %lld is an answer; its request is %llu", (long long)seq,
                (unsigned long long)source_seq_in_session((uint64_t)t->items[k].place));
    if (!it->from_client || it->kind != RPC_REQUEST)
        return settings_fail_usage(s, "--seq: message %lld is not a request of the client",
                                   (long long)seq);
    if (it->lost)
        return settings_fail_usage(s, "--seq: the body of message %lld was not recorded",
                                   (long long)seq);
    *ret_item = i - 1;
    return EXIT_FINE;
}

void origin_close_recording(struct origin *o)
{
    for (size_t i = 0; i < o->command_n; i++)
        free(o->command[i]);
    free(o->command);
    buf_close(&o->name);
    buf_close(&o->dir);
    recording_close(&o->recording);
    *o = (struct origin){0};
}
